// What can go wrong.

package shell

import "fmt"

// Fault is a kind of trouble.
type Fault uint8

// The faults.
const (
	// Weather: all links get other delays, losses, duplicates and disorder for a while.
	Weather Fault = iota
	// Partition: the nodes are split in two for a while.
	Partition
	// OneWay: a link delivers nothing for a while, and the one back does.
	OneWay
	// Isolate: nobody hears a node, and it hears nobody, for a while.
	Isolate
	// Echo: a message arrives once more, up to seconds later.
	Echo
	// Hint: a node is told that another one's process is gone, which is not so.
	Hint
	// Flood: a node hears a large number of messages at once that are not for it.
	Flood
	// Stall: the goroutine that works for all groups of a node stands still for a while.
	Stall
	// SlowDisk: each sync of a node's disk takes up to several detection times.
	SlowDisk
	// HangingDisk: a node's syncs do not return for a while.
	HangingDisk
	// FullDisk: a node's disk has no room for new files for a while.
	FullDisk
	// BrokenDisk: the next write or sync of a node fails.
	BrokenDisk
	// Kill: a process dies. What was written and not synced is there for the next one.
	Kill
	// PowerCut: a machine loses its power. What was not synced may be lost, or torn.
	PowerCut
	// PowerCutLater: a process dies, and its machine loses its power before the next one.
	PowerCutLater
	// Close: a process closes its host, and another one starts.
	Close
	// CloseNow: the same, with a context that has ended.
	CloseNow
	// Empty: all groups of a host are closed, and join it again.
	Empty
	// Rejoin: a group is stopped and joins its host again, perhaps otherwise configured.
	Rejoin
	// RejoinNow: the same, with a context that has ended.
	RejoinNow
	// TransferOrder, ResignOrder, StandOrder: an operator orders it, and may lose patience.
	TransferOrder
	ResignOrder
	StandOrder
	// LeadReturns: an engine's Lead returns by itself, or ends its goroutine.
	LeadReturns
	// PauseFails: an engine's Pause fails, ends its goroutine, or does not return until
	// its context has ended.
	PauseFails
	// SlowLedger: LedgerEnd takes up to a detection time.
	SlowLedger
	// Mistake: an engine configures a group wrongly, or asks for something out of turn.
	Mistake

	// Those of leases follow.

	// LostQuestion: a statement does not reach the database.
	LostQuestion
	// LostAnswer: a statement is carried out, and nobody is told.
	LostAnswer
	// Refused: the database refuses a statement with an error.
	Refused
	// SlowLink: a statement and its answer take up to a TTL each.
	SlowLink
	// Late: a statement is carried out when its sender may have given it up.
	Late
	// Twice: a statement is carried out again, up to two TTLs later.
	Twice
	// HangingDriver: a driver does not return when its time is up.
	HangingDriver
	// CutOff: candidates cannot reach the database for a while, or its answers do not
	// reach them.
	CutOff
	// StalledDatabase: for a while the database does nothing, and then everything.
	StalledDatabase
	// StaleRead: what is read is from a copy that is behind.
	StaleRead
	// LockedRecord: somebody else keeps a record locked for a while.
	LockedRecord
	// DatabaseStep: the database's clock jumps. In strict mode alone.
	DatabaseStep
	// Force: an operator ends the term, and may name an heir, who may not exist.
	Force
	// StandStill: what a process asks, is answered and calls takes until it goes on.
	StandStill
	// SlowLog: a line of the log takes up to a TTL.
	SlowLog

	faults
)

var faultNames = [faults]string{
	"weather", "partition", "one-way", "isolate", "echo", "hint", "flood", "stall", "slow disk", "hanging disk", "full disk", "broken disk",
	"kill", "power cut", "power cut later", "close", "close now", "empty", "rejoin", "rejoin now", "transfer", "resign", "stand",
	"lead returns", "pause fails", "slow ledger", "mistake",
	"lost question", "lost answer", "refused", "slow link", "late", "twice", "hanging driver", "cut off", "stalled database", "stale read",
	"locked record", "database step", "force", "stand still", "slow log",
}

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return faultNames[f]
	}
	return fmt.Sprintf("fault(%d)", uint8(f))
}

// Faults lists those that strike in worlds of a kind.
func (k Kind) Faults() []Fault {
	if k == Leases {
		return append(all(faults)[LostQuestion:], Kill, Close, Rejoin, ResignOrder, LeadReturns)
	}
	return all(LostQuestion)
}

// Condition is something that must come about in a campaign, or its worlds were too tame
// to show anything.
type Condition uint8

// The conditions.
const (
	// LeadServed: an engine's Lead was called.
	LeadServed Condition = iota
	// Committed: an entry was committed.
	Committed
	// LeaseHeld: a lease was seen.
	LeaseHeld
	// LeaseLapsed: a leader lost its office because its lease ran out.
	LeaseLapsed
	// HandedOver: a member took its leader for gone because it had handed over.
	HandedOver
	// NoQuorum: a leader stepped down because no quorum answered.
	NoQuorum
	// Resigned: a leader resigned and nobody had taken over.
	Resigned
	// WritesPaused: an engine was asked to pause its writes.
	WritesPaused
	// StoppedLeading: a group was stopped while its member led.
	StoppedLeading
	// Failed: a group ended with an error because its disk failed.
	Failed
	// VoteRead: a process found the vote of one that had died.
	VoteRead

	// Those of leases follow.

	// LeaseTaken: a renewal told that a lease was lost.
	LeaseTaken
	// ClaimUnanswered: whoever claimed a lease was not told what came of it.
	ClaimUnanswered
	// NotReleased: a lease could not be released at once.
	NotReleased

	conditions
)

var conditionNames = [conditions]string{
	"served", "committed", "lease held", "lease lapsed", "handed over", "no quorum", "resigned", "paused", "stopped leading", "failed", "vote read",
	"taken away", "claim unanswered", "not released",
}

// String names the condition.
func (c Condition) String() string {
	if c < conditions {
		return conditionNames[c]
	}
	return fmt.Sprintf("condition(%d)", uint8(c))
}

// Conditions lists those that come about in worlds of a kind.
func (k Kind) Conditions() []Condition {
	if k == Leases {
		return append(all(conditions)[LeaseTaken:], LeadServed, LeaseHeld, LeaseLapsed, Resigned, StoppedLeading)
	}
	return all(LeaseTaken)
}
