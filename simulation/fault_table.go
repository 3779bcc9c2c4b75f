// The table of faults: one row for each, with everything that the simulator knows about it.

package simulation

import (
	"math"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
)

// faultRow describes a fault.
type faultRow struct {
	name  string
	class Class
	// draw fills in a strike of the fault, and says whether it can strike now. It is nil for the
	// faults that strike message by message.
	draw func(*world, *Strike) bool
	// inflict carries out the strike, and says whether it made a difference. A fault that
	// strikes later, when something happens, is counted then.
	inflict func(*world, *Strike) bool
	is      property
	// count is the limits of Strike.Count in a scenario, where groups have this timing; nil for
	// 0 to math.MaxUint32.
	count func(elector.Timing) (least, most int64)
}

// property is a set of properties of a fault.
type property uint16

const (
	// fromStart: it is present from the beginning of a world or never, at some of the nodes.
	fromStart property = 1 << iota
	// atOneNode: of those that are present from the beginning, it strikes one node only, which
	// then differs from all others.
	atOneNode
	// rare: few seeds enable it, because it makes a run slow.
	rare
	// perGroup: it strikes single groups of a node, instead of the node, its disk or its links.
	perGroup
	// notAllGroups: a seed never has it strike all groups of a node at once, because the world can
	// have it in one group at a time.
	notAllGroups
	// mixesSettings: the members of a group may have different settings from then on, with which
	// an election may take longer.
	mixesSettings
	// cutsLinks: it is about links only.
	cutsLinks
	// linksImplied: a scenario may leave its links out.
	linksImplied
	// nodeOptional: a scenario may leave its node out.
	nodeOptional
	// addsNode: it adds a node to the world.
	addsNode
	// countsTime: scenarios write its count as a time.
	countsTime
)

// faultTable describes all faults. init fills it in, because its functions refer to it.
var faultTable [faults]faultRow

func init() {
	faultTable = [faults]faultRow{
		Loss:         {"loss", NetworkFaults, nil, nil, 0, nil},
		Delay:        {"delay", NetworkFaults, nil, nil, 0, nil},
		HeavyTail:    {"heavy-tail", NetworkFaults, nil, nil, 0, nil},
		Duplicate:    {"duplicate", NetworkFaults, nil, nil, 0, nil},
		Reorder:      {"reorder", NetworkFaults, nil, nil, 0, nil},
		SlowLink:     {"slow-link", NetworkFaults, drawSlowLink, slowDown, countsTime, upToADay},
		StaleMessage: {"stale-message", NetworkFaults, drawStale, replay, 0, nil},
		Corrupt:      {"corrupt", NetworkFaults, drawCorrupt, corrupt, 0, nil},

		OneWayCut:      {"one-way-cut", NetworkFaults, drawCut, cut, cutsLinks, nil},
		Partition:      {"partition", NetworkFaults, drawCut, cut, cutsLinks, nil},
		Isolation:      {"isolation", NetworkFaults, drawCut, cut, cutsLinks | linksImplied, nil},
		LeaderMinority: {"leader-minority", NetworkFaults, drawCut, cut, cutsLinks, nil},
		LeaderMute:     {"leader-mute", NetworkFaults, drawCut, cut, cutsLinks, nil},
		NeighboursOnly: {"ring", NetworkFaults, drawCut, cut, cutsLinks, nil},
		Bridge:         {"bridge", NetworkFaults, drawCut, cut, cutsLinks, nil},
		Flap:           {"flap", NetworkFaults, drawFlap, cut, cutsLinks, upTo(1000)},
		TrueHint:       {"true-hint", NetworkFaults, drawLeader, crashAndTell, 0, nil},
		LateHint:       {"late-hint", NetworkFaults, drawLeader, crashAndTell, 0, nil},
		FalseHint:      {"false-hint", NetworkFaults, drawFalseHint, hint, 0, nil},
		Forged:         {"forged", NetworkFaults, drawForged, forge, perGroup, nil},

		Crash:             {"crash", ProcessFaults, drawNode, crash, 0, nil},
		CrashBeforeSave:   {"crash-before-save", ProcessFaults, drawNode, doom, 0, nil},
		CrashInSave:       {"crash-in-save", ProcessFaults, drawNode, doom, 0, nil},
		KillInSave:        {"kill-in-save", ProcessFaults, drawKill, doom, 0, upToADay},
		PowerCut:          {"power-cut", ProcessFaults, drawNode, cutPower, 0, nil},
		CrashBeforeSend:   {"crash-before-send", ProcessFaults, drawNode, doom, 0, nil},
		CrashBetweenSends: {"crash-between-sends", ProcessFaults, drawNode, doom, 0, nil},
		CrashAll:          {"crash-all", ProcessFaults, drawNode, crashAll, 0, nil},
		RollingRestart:    {"rolling-restart", ProcessFaults, drawNode, rollingRestart, 0, nil},
		NeverBack:         {"never-back", ProcessFaults, drawMinority, crash, 0, nil},
		Pause:             {"pause", ProcessFaults, drawNode, pause, 0, nil},
		SlowNode:          {"slow-node", ProcessFaults, drawSlowNode, slowNode, countsTime, upToADay},

		SaveFails: {"save-fails", DiskFaults, drawNode, breakDisk, 0, nil},
		SyncFails: {"sync-fails", DiskFaults, drawNode, breakDisk, 0, nil},
		SaveHangs: {"save-hangs", DiskFaults, drawNode, breakDisk, 0, nil},
		DiskHangs: {"disk-hangs", DiskFaults, drawDiskHang, hangDisk, nodeOptional, nil},
		SlowDisk:  {"slow-disk", DiskFaults, drawNode, slowDisk, 0, nil},
		TornTail:  {"torn-tail", DiskFaults, drawNode, useFiles, fromStart | atOneNode | rare, nil},

		ClockRate:   {"clock-rate", ClockFaults, drawRate, setRate, fromStart, driftWithin},
		ClockBeyond: {"clock-beyond", ClockFaults, drawRate, setRate, fromStart, driftBeyond},
		WallJump:    {"wall-jump", ClockFaults, drawWall, jump, 0, anyNumber},

		EngineSlow:     {"engine-slow", EngineFaults, drawSlowEngine, slowEngine, perGroup | countsTime, upToADay},
		EngineHangs:    {"engine-hangs", EngineFaults, drawLeaderOrNode, hangEngine, perGroup, nil},
		EngineSilent:   {"engine-silent", EngineFaults, drawLeaderOrNode, hangEngine, perGroup, nil},
		LedgerEndHangs: {"ledger-end-hangs", EngineFaults, drawLeaderOrNode, hangEngine, perGroup, nil},
		PauseHangs:     {"pause-hangs", EngineFaults, drawLeaderOrNode, hangEngine, perGroup, nil},
		LeadHangs:      {"lead-hangs", EngineFaults, drawLeaderOrNode, hangEngine, perGroup, nil},
		StalledHangs:   {"stalled-hangs", EngineFaults, drawLeaderOrNode, hangJudge, 0, nil},
		AbilityFlaps:   {"ability-flaps", EngineFaults, drawFlaps, flap, perGroup | countsTime, upToADay},

		PauseFails:   {"pause-fails", EngineFaults, drawLeaderOrNode, failPause, perGroup, nil},
		LeadReturns:  {"lead-returns", EngineFaults, drawLeader, returnFromLead, perGroup, nil},
		LedgerBreaks: {"ledger-breaks", EngineFaults, drawLedger, breakLedger, perGroup, nil},
		LateAnswer:   {"late-answer", EngineFaults, drawLeader, answerLate, perGroup, nil},
		StrayAppend:  {"stray-append", EngineFaults, drawAppend, strayAppend, perGroup, nil},

		TransferOrder:  {"transfer", OperatorFaults, drawTransfer, command, perGroup, nil},
		GivenUp:        {"given-up", OperatorFaults, drawGivenUp, giveUp, perGroup | countsTime, upToADay},
		LateWord:       {"late-word", OperatorFaults, drawLateWord, holdWord, perGroup | notAllGroups | countsTime, upToADay},
		ResignOrder:    {"resign", OperatorFaults, drawLeaderOrNode, command, perGroup, nil},
		StandOrder:     {"stand", OperatorFaults, drawNode, command, perGroup, nil},
		NotElectable:   {"not-electable", OperatorFaults, drawLeaderOrNode, bar, perGroup, nil},
		DrainOrder:     {"drain", OperatorFaults, drawDrain, drainNode, 0, upTo(protocol.UsualMoves)},
		ProtectOrder:   {"protect", OperatorFaults, drawProtect, protectNode, 0, nil},
		BalanceOrder:   {"balance", OperatorFaults, drawBalance, balanceNode, countsTime, upToADay},
		Prefer:         {"prefer", OperatorFaults, drawPrefer, prefer, perGroup | nodeOptional, anyNumber},
		Retime:         {"retime", OperatorFaults, drawRetime, retime, perGroup | nodeOptional | mixesSettings, inPerMille},
		Observe:        {"observe", OperatorFaults, drawObserve, observe, nodeOptional | addsNode, nil},
		WithoutPreVote: {"without-pre-vote", OperatorFaults, drawNode, without, fromStart | perGroup | mixesSettings, nil},
		WithoutLeases:  {"without-leases", OperatorFaults, drawNode, without, fromStart | perGroup | mixesSettings, nil},
		SwitchLeases:   {"switch-leases", OperatorFaults, drawSwitch, switchLeases, perGroup | mixesSettings, upTo(maxNodes)},
		LongerLeases:   {"longer-leases", OperatorFaults, drawNode, longer, fromStart | atOneNode | perGroup | mixesSettings, nil},
		WithoutBeats:   {"without-beats", OperatorFaults, drawBeats, withoutBeats, fromStart, nil},
		SwitchBeats:    {"switch-beats", OperatorFaults, drawBeatsSwitch, switchBeats, 0, upTo(maxNodes)},

		Wiped:        {"wiped", AssumptionFaults, drawWiped, wipe, 0, nil},
		RolledBack:   {"rolled-back", AssumptionFaults, drawNode, rollBack, 0, nil},
		Twin:         {"twin", AssumptionFaults, drawNode, addTwin, addsNode, nil},
		OtherMembers: {"other-members", AssumptionFaults, drawOthers, listOthers, fromStart | atOneNode | perGroup, nil},
	}
}

// upTo limits a count to values from 0 to most.
func upTo(most int64) func(elector.Timing) (int64, int64) {
	return func(elector.Timing) (int64, int64) { return 0, most }
}

// upToADay limits a count of nanoseconds.
func upToADay(elector.Timing) (least, most int64) { return 0, int64(24 * time.Hour) }

func anyNumber(elector.Timing) (least, most int64) { return math.MinInt64, math.MaxInt64 }

// driftWithin is parts in a million by which a clock may be fast without breaking a lease.
func driftWithin(t elector.Timing) (least, most int64) { return -mostDrift(t), mostDrift(t) }

func driftBeyond(elector.Timing) (least, most int64) { return -anyDrift, anyDrift }

// inPerMille is a factor from a tenth to ten.
func inPerMille(elector.Timing) (least, most int64) { return 100, 10_000 }

// countLimits are the limits of Strike.Count, where groups have this timing.
func (f Fault) countLimits(t elector.Timing) (least, most int64) {
	if limits := faultTable[f].count; limits != nil {
		return limits(t)
	}
	return 0, math.MaxUint32
}
