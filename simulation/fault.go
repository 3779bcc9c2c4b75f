// What can go wrong.

package simulation

import (
	"fmt"

	"github.com/hustings/hustings/simulation/internal/faultlist"
)

// Fault is a kind of trouble.
type Fault uint8

// The faults. Each is explained where it is inflicted.
const (
	// Of the network; the first five are decided message by message.
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
	// Of processes.
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
	// Of disks.
	SaveFails
	SyncFails
	SaveHangs
	SlowDisk
	TornTail
	// Of clocks.
	ClockRate
	ClockBeyond
	WallJump
	// Of engines.
	SlowEngine
	PauseFails
	LeadReturns
	LedgerBreaks
	LateAnswer
	StrayAppend
	// Of operators.
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
	// Of what every election by votes assumes.
	Wiped
	RolledBack
	Twin
	OtherMembers

	faults
)

// Class is where a fault comes from.
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
	// who votes. They strike only if they are asked for.
	AssumptionFaults

	classes
)

var classNames = [classes]string{"network", "process", "disk", "clock", "engine", "operator", "assumptions"}

// String names the class.
func (c Class) String() string { return classNames[c] }

// about is what there is to know of a fault.
type about struct {
	name  string
	class Class
	// draw fills in a strike of it, and says whether there is one to be had. It is nil
	// for the faults that strike message by message.
	draw func(*world, *Strike) bool
	// inflict carries the strike out, and says whether it made a difference. Faults
	// that strike later, when something comes about, are counted then.
	inflict func(*world, *Strike) bool
}

// known describes all faults. It is filled in by init, for the functions in it refer to it.
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

// Class says where the fault comes from.
func (f Fault) Class() Class { return known[f].class }

// standing says whether a fault is there from the beginning, or not at all.
func (f Fault) standing() bool {
	switch f {
	case TornTail, ClockRate, ClockBeyond, WithoutPreVote, WithoutLeases, LongerLeases, OtherMembers:
		return true
	default:
		return false
	}
}

// ofGroup says whether a fault strikes single groups of a node, and not the node, its disk or
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

// Faults lists all kinds.
func Faults() []Fault { return allBelow[Fault](faults) }

// FaultSet is a set of faults. As an option the empty set stands for those of
// DefaultFaults; NoFaults has none.
type FaultSet uint64

// NoFaults is a set without any.
const NoFaults FaultSet = faultlist.None

// Has says whether a fault is in the set.
func (s FaultSet) Has(f Fault) bool { return s>>f&1 == 1 }

// catalogue has all that there are.
func catalogue() *faultlist.Catalogue[Fault, Class] {
	return &faultlist.Catalogue[Fault, Class]{Faults: faults, Classes: classes, Usual: []Class{
		NetworkFaults, ProcessFaults, DiskFaults, ClockFaults, EngineFaults, OperatorFaults,
	}}
}

// FaultsOf is the set of all faults of some classes.
func FaultsOf(all ...Class) FaultSet { return FaultSet(catalogue().Of(all...)) }

// DefaultFaults are all but those that break an assumption.
func DefaultFaults() FaultSet { return FaultsOf(catalogue().Usual...) }

// ParseFaults reads a list of faults and classes, separated by commas. The word "all"
// stands for DefaultFaults and "none" for no fault; what is written with a minus is
// taken out again.
func ParseFaults(list string) (FaultSet, error) {
	set, err := catalogue().Parse(list)
	return FaultSet(set), err
}

// String is a list that ParseFaults reads.
func (s FaultSet) String() string { return catalogue().Text(uint64(s)) }
