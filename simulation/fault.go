// The faults, their classes, and sets of them. The table in fault_table.go says what each fault is like.

package simulation

import (
	"fmt"

	"github.com/hustings/hustings/simulation/internal/faultlist"
)

// Fault is something that can go wrong.
type Fault uint8

// The faults. The function that inflicts a fault explains it.
const (
	// Faults of the network. The first five are decided message by message.
	Loss Fault = iota
	Delay
	HeavyTail
	Duplicate
	Reorder
	SlowLink
	StaleMessage
	Corrupt
	OneWayCut
	Partition
	Isolation
	LeaderMinority
	LeaderMute
	NeighboursOnly
	Bridge
	Flap
	TrueHint
	LateHint
	FalseHint
	Forged
	// Faults of processes.
	Crash
	CrashBeforeSave
	CrashInSave
	KillInSave
	PowerCut
	CrashBeforeSend
	CrashBetweenSends
	CrashAll
	RollingRestart
	NeverBack
	Pause
	SlowNode
	// Faults of disks.
	SaveFails
	SyncFails
	SaveHangs
	DiskHangs
	SlowDisk
	TornTail
	// Faults of clocks.
	ClockRate
	ClockBeyond
	WallJump
	// Faults of engines.
	EngineSlow
	EngineHangs
	EngineSilent
	LedgerEndHangs
	PauseHangs
	LeadHangs
	StalledHangs
	AbilityFlaps
	PauseFails
	LeadReturns
	LedgerBreaks
	LateAnswer
	StrayAppend
	// What operators do.
	TransferOrder
	GivenUp
	LateWord
	ResignOrder
	StandOrder
	NotElectable
	DrainOrder
	ProtectOrder
	BalanceOrder
	Prefer
	Retime
	Observe
	WithoutPreVote
	WithoutLeases
	SwitchLeases
	LongerLeases
	WithoutBeats
	SwitchBeats
	// Broken assumptions of every election by votes.
	Wiped
	RolledBack
	Twin
	OtherMembers

	faults
)

// Class is the origin of a fault.
type Class uint8

// The classes of faults.
const (
	NetworkFaults Class = iota
	ProcessFaults
	DiskFaults
	ClockFaults
	EngineFaults
	OperatorFaults
	// AssumptionFaults break what every election by votes assumes: that a member keeps
	// what it has acknowledged, is alone under its name, and agrees with the others on
	// who votes. They strike only on demand.
	AssumptionFaults

	classes
)

var classNames = [classes]string{"network", "process", "disk", "clock", "engine", "operator", "assumptions"}

// String names the class.
func (c Class) String() string { return classNames[c] }

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return faultTable[f].name
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Class is the origin of the fault.
func (f Fault) Class() Class { return faultTable[f].class }

// is says whether a fault has a property.
func (f Fault) is(p property) bool { return faultTable[f].is&p != 0 }

// Faults lists all faults.
func Faults() []Fault { return allBelow[Fault](faults) }

// FaultSet is a set of faults. As an option the zero set stands for those of
// DefaultFaults; NoFaults has none.
type FaultSet faultlist.Set

// NoFaults is the empty set.
func NoFaults() FaultSet { return FaultSet(faultlist.None()) }

// Has says whether a fault is in the set.
func (s FaultSet) Has(f Fault) bool { return faultlist.Set(s).Has(uint8(f)) }

// With is the set and one fault more.
func (s FaultSet) With(f Fault) FaultSet { return FaultSet(faultlist.Set(s).With(uint8(f))) }

// catalogue is that of the faults of this world.
func catalogue() *faultlist.Catalogue[Fault, Class] {
	return &faultlist.Catalogue[Fault, Class]{Faults: faults, Classes: classes, Usual: []Class{
		NetworkFaults, ProcessFaults, DiskFaults, ClockFaults, EngineFaults, OperatorFaults,
	}}
}

// FaultsOf is the set of all faults of some classes.
func FaultsOf(all ...Class) FaultSet { return FaultSet(catalogue().Of(all...)) }

// DefaultFaults are all except AssumptionFaults.
func DefaultFaults() FaultSet { return FaultsOf(catalogue().Usual...) }

// ParseFaults reads a list of faults and classes, separated by commas. The word "all"
// stands for DefaultFaults and "none" for no fault. A word with a minus removes its faults
// from the list.
func ParseFaults(list string) (FaultSet, error) {
	set, err := catalogue().Parse(list)
	return FaultSet(set), err
}

// String is a list that ParseFaults reads.
func (s FaultSet) String() string { return catalogue().Text(faultlist.Set(s)) }
