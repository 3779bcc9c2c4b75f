// The catalogue of faults: the name and the class of each, and the functions that draw and inflict it.

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
	SlowDisk
	TornTail
	// Faults of clocks.
	ClockRate
	ClockBeyond
	WallJump
	// Faults of engines.
	SlowEngine
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
	Prefer
	Observe
	WithoutPreVote
	WithoutLeases
	SwitchLeases
	LongerLeases
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

// about describes a fault.
type about struct {
	name  string
	class Class
	// draw fills in a strike of it, and says whether it can strike now. It is nil for the
	// faults that strike message by message.
	draw func(*world, *Strike) bool
	// inflict carries out the strike, and says whether it made a difference. A fault that
	// strikes later, when something happens, is counted then.
	inflict func(*world, *Strike) bool
}

// known describes all faults. init fills it in, because its functions refer to it.
var known [faults]about

func init() {
	known = [faults]about{
		Loss:         {"loss", NetworkFaults, nil, nil},
		Delay:        {"delay", NetworkFaults, nil, nil},
		HeavyTail:    {"heavy-tail", NetworkFaults, nil, nil},
		Duplicate:    {"duplicate", NetworkFaults, nil, nil},
		Reorder:      {"reorder", NetworkFaults, nil, nil},
		SlowLink:     {"slow-link", NetworkFaults, drawSlowLink, slowDown},
		StaleMessage: {"stale-message", NetworkFaults, drawStale, replay},
		Corrupt:      {"corrupt", NetworkFaults, drawCorrupt, corrupt},

		OneWayCut:      {"one-way-cut", NetworkFaults, drawCut, cut},
		Partition:      {"partition", NetworkFaults, drawCut, cut},
		Isolation:      {"isolation", NetworkFaults, drawCut, cut},
		LeaderMinority: {"leader-minority", NetworkFaults, drawCut, cut},
		LeaderMute:     {"leader-mute", NetworkFaults, drawCut, cut},
		NeighboursOnly: {"ring", NetworkFaults, drawCut, cut},
		Bridge:         {"bridge", NetworkFaults, drawCut, cut},
		Flap:           {"flap", NetworkFaults, drawFlap, cut},
		TrueHint:       {"true-hint", NetworkFaults, drawLeader, crashAndTell},
		LateHint:       {"late-hint", NetworkFaults, drawLeader, crashAndTell},
		FalseHint:      {"false-hint", NetworkFaults, drawFalseHint, hint},
		Forged:         {"forged", NetworkFaults, drawForged, forge},

		Crash:             {"crash", ProcessFaults, drawNode, crash},
		CrashBeforeSave:   {"crash-before-save", ProcessFaults, drawNode, doom},
		CrashInSave:       {"crash-in-save", ProcessFaults, drawNode, doom},
		KillInSave:        {"kill-in-save", ProcessFaults, drawKill, doom},
		PowerCut:          {"power-cut", ProcessFaults, drawNode, cutPower},
		CrashBeforeSend:   {"crash-before-send", ProcessFaults, drawNode, doom},
		CrashBetweenSends: {"crash-between-sends", ProcessFaults, drawNode, doom},
		CrashAll:          {"crash-all", ProcessFaults, drawNode, crashAll},
		RollingRestart:    {"rolling-restart", ProcessFaults, drawNode, rollingRestart},
		NeverBack:         {"never-back", ProcessFaults, drawMinority, crash},
		Pause:             {"pause", ProcessFaults, drawNode, pause},
		SlowNode:          {"slow-node", ProcessFaults, drawSlowNode, slowNode},

		SaveFails: {"save-fails", DiskFaults, drawNode, breakDisk},
		SyncFails: {"sync-fails", DiskFaults, drawNode, breakDisk},
		SaveHangs: {"save-hangs", DiskFaults, drawNode, breakDisk},
		SlowDisk:  {"slow-disk", DiskFaults, drawNode, slowDisk},
		TornTail:  {"torn-tail", DiskFaults, drawNode, useFiles},

		ClockRate:   {"clock-rate", ClockFaults, drawRate, setRate},
		ClockBeyond: {"clock-beyond", ClockFaults, drawRate, setRate},
		WallJump:    {"wall-jump", ClockFaults, drawWall, jump},

		SlowEngine:   {"slow-engine", EngineFaults, drawSlowEngine, slowEngine},
		PauseFails:   {"pause-fails", EngineFaults, drawLeaderOrNode, failPause},
		LeadReturns:  {"lead-returns", EngineFaults, drawLeader, returnFromLead},
		LedgerBreaks: {"ledger-breaks", EngineFaults, drawLedger, breakLedger},
		LateAnswer:   {"late-answer", EngineFaults, drawLeader, answerLate},
		StrayAppend:  {"stray-append", EngineFaults, drawAppend, strayAppend},

		TransferOrder:  {"transfer", OperatorFaults, drawTransfer, command},
		GivenUp:        {"given-up", OperatorFaults, drawGivenUp, giveUp},
		LateWord:       {"late-word", OperatorFaults, drawLateWord, holdWord},
		ResignOrder:    {"resign", OperatorFaults, drawLeaderOrNode, command},
		StandOrder:     {"stand", OperatorFaults, drawNode, command},
		Prefer:         {"prefer", OperatorFaults, drawPrefer, prefer},
		Observe:        {"observe", OperatorFaults, drawObserve, observe},
		WithoutPreVote: {"without-pre-vote", OperatorFaults, drawNode, without},
		WithoutLeases:  {"without-leases", OperatorFaults, drawNode, without},
		SwitchLeases:   {"switch-leases", OperatorFaults, drawSwitch, switchLeases},
		LongerLeases:   {"longer-leases", OperatorFaults, drawNode, longer},

		Wiped:        {"wiped", AssumptionFaults, drawWiped, wipe},
		RolledBack:   {"rolled-back", AssumptionFaults, drawNode, rollBack},
		Twin:         {"twin", AssumptionFaults, drawNode, addTwin},
		OtherMembers: {"other-members", AssumptionFaults, drawOthers, listOthers},
	}
}

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return known[f].name
	}
	return fmt.Sprintf("Fault(%d)", uint8(f))
}

// Class is the origin of the fault.
func (f Fault) Class() Class { return known[f].class }

// standing says whether a fault is present from the beginning or never.
func (f Fault) standing() bool {
	switch f {
	case TornTail, ClockRate, ClockBeyond, WithoutPreVote, WithoutLeases, LongerLeases, OtherMembers:
		return true
	default:
		return false
	}
}

// ofGroup says whether a fault strikes single groups of a node, instead of the node, its disk or
// its links.
func (f Fault) ofGroup() bool {
	switch f {
	case Forged, SlowEngine, PauseFails, LeadReturns, LedgerBreaks, LateAnswer, StrayAppend, TransferOrder, GivenUp, LateWord, ResignOrder, StandOrder, Prefer,
		WithoutPreVote, WithoutLeases, SwitchLeases, LongerLeases, OtherMembers:
		return true
	default:
		return false
	}
}

// Faults lists all faults.
func Faults() []Fault { return allBelow[Fault](faults) }

// FaultSet is a set of faults. As an option the empty set stands for those of
// DefaultFaults; NoFaults has none.
type FaultSet uint64

// NoFaults is the empty set.
const NoFaults FaultSet = faultlist.None

// Has says whether a fault is in the set.
func (s FaultSet) Has(f Fault) bool { return s>>f&1 == 1 }

// catalogue is that of the faults of this world.
func catalogue() *faultlist.Catalogue[Fault, Class] {
	return &faultlist.Catalogue[Fault, Class]{Faults: faults, Classes: classes, Usual: []Class{
		NetworkFaults, ProcessFaults, DiskFaults, ClockFaults, EngineFaults, OperatorFaults,
	}}
}

// FaultsOf is the set of all faults of some classes.
func FaultsOf(all ...Class) FaultSet { return FaultSet(catalogue().Of(all...)) }

// DefaultFaults are all except those that break an assumption.
func DefaultFaults() FaultSet { return FaultsOf(catalogue().Usual...) }

// ParseFaults reads a list of faults and classes, separated by commas. The word "all"
// stands for DefaultFaults and "none" for no fault. A word with a minus removes its faults
// from the list.
func ParseFaults(list string) (FaultSet, error) {
	set, err := catalogue().Parse(list)
	return FaultSet(set), err
}

// String is a list that ParseFaults reads.
func (s FaultSet) String() string { return catalogue().Text(uint64(s)) }
