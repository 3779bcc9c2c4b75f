// This file lists the faults, and the conditions that a campaign must meet.

package shell

import (
	"fmt"
	"slices"
)

// Fault is a kind of trouble.
type Fault uint8

// The faults.
const (
	// Weather: all links get other delays, losses, duplicates and disorder for a while.
	Weather Fault = iota
	// Partition: the nodes are split in two for a while.
	Partition
	// OneWay: a link delivers nothing for a while, in one of its directions.
	OneWay
	// Isolate: a node neither reaches other nodes nor hears them for a while.
	Isolate
	// Echo: a message arrives once more, up to seconds later.
	Echo
	// Hint: a node receives a hint that another process is gone, which may be false.
	Hint
	// Flood: a node receives a large number of messages at once, of a group that it does not have, or of beats and hints
	// of nodes that do not exist.
	Flood
	// Forged: a node receives messages and beats that no correct node sends to it. They must change nothing.
	Forged
	// Stall: the goroutine that works for all groups of a node stands still for a while.
	Stall
	// SlowDisk: each sync of a node's disk takes up to several detection times.
	SlowDisk
	// HangingDisk: a node's syncs do not return for a while.
	HangingDisk
	// FullDisk: a node's disk has no room for new files for a while.
	FullDisk
	// BrokenDisk: one of the next writes and syncs of a node fails.
	BrokenDisk
	// Kill: a process dies. The next one finds its writes, even those that were not synced.
	Kill
	// PowerCut: a machine loses its power. Writes that were not synced may be lost, or torn.
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
	// TransferOrder, ResignOrder, StandOrder: an operator gives the order, and may withdraw it.
	TransferOrder
	ResignOrder
	StandOrder
	// DrainOrder: a node is ordered to hand over all that it leads. The call's context may end before that.
	DrainOrder
	// ServeOrder: a node is ordered to serve, whether it drains or not.
	ServeOrder
	// KeepOrder: a node is to stay drained over restarts.
	KeepOrder
	// UndrainOrder: a node is ordered to serve, also after restarts, as soon as its engine is ready.
	UndrainOrder
	// ProtectOrder: a node is protected, or is so no more.
	ProtectOrder
	// BalanceOrder: a node balances from now on, or no more.
	BalanceOrder
	// Hold: a process begins without serving, and its engine has it serve later.
	Hold
	// WithoutBeats: a process exchanges no beats, although others do, as in an upgrade.
	WithoutBeats
	// Question: a node is asked what it knows of the others, and which groups it cannot hand over.
	Question
	// LeadReturns: an engine's Lead returns by itself, or ends its goroutine.
	LeadReturns
	// PauseFails: an engine's Pause fails, ends its goroutine, or does not return until
	// its context has ended.
	PauseFails
	// SlowLedger: LedgerEnd takes up to a detection time.
	SlowLedger
	// NotWell: an engine says that it is not well, does not answer whether it is, or falls silent.
	NotWell
	// JudgeFails: the function that judges the engines of all groups names some that are well, does
	// not return for a while, or ends its goroutine.
	JudgeFails
	// Mistake: an engine configures a group wrongly, or makes a call out of turn.
	Mistake

	// From here on, the faults strike in worlds of leases only.

	// LostQuestion: a statement does not reach the database.
	LostQuestion
	// LostAnswer: a statement is carried out, and its answer is lost.
	LostAnswer
	// Refused: the database refuses a statement with an error.
	Refused
	// SlowLink: a statement and its answer take up to a TTL each.
	SlowLink
	// Late: a statement is carried out after its sender may have given up.
	Late
	// Twice: a statement is carried out again, up to two TTLs later.
	Twice
	// HangingDriver: a driver does not return when its time is up.
	HangingDriver
	// CutOff: candidates cannot reach the database for a while, or its answers do not
	// reach them.
	CutOff
	// StalledDatabase: the database does nothing for a while, and then everything at once.
	StalledDatabase
	// StaleRead: a read is answered from a copy that is behind.
	StaleRead
	// LockedRecord: another client keeps a record locked for a while.
	LockedRecord
	// DatabaseStep: the database's clock jumps, which it does in strict mode alone.
	DatabaseStep
	// Force: an operator ends the term, and may name an heir, which may not exist.
	Force
	// StandStill: a process stands still: its statements, answers and callbacks wait meanwhile.
	StandStill
	// SlowLog: a line of the log takes up to a TTL.
	SlowLog

	faults
)

// kinds is a set of kinds of worlds.
type kinds uint8

const (
	ofVotes  kinds = 1 << Votes
	ofLeases kinds = 1 << Leases
)

// faultTable has the name of each fault, and the worlds in which it strikes.
var faultTable = [faults]struct {
	name   string
	worlds kinds
}{
	Weather:         {"weather", ofVotes},
	Partition:       {"partition", ofVotes},
	OneWay:          {"one-way", ofVotes},
	Isolate:         {"isolate", ofVotes},
	Echo:            {"echo", ofVotes},
	Hint:            {"hint", ofVotes},
	Flood:           {"flood", ofVotes},
	Forged:          {"forged", ofVotes},
	Stall:           {"stall", ofVotes},
	SlowDisk:        {"slow disk", ofVotes},
	HangingDisk:     {"hanging disk", ofVotes},
	FullDisk:        {"full disk", ofVotes},
	BrokenDisk:      {"broken disk", ofVotes},
	Kill:            {"kill", ofVotes | ofLeases},
	PowerCut:        {"power cut", ofVotes},
	PowerCutLater:   {"power cut later", ofVotes},
	Close:           {"close", ofVotes | ofLeases},
	CloseNow:        {"close now", ofVotes},
	Empty:           {"empty", ofVotes},
	Rejoin:          {"rejoin", ofVotes | ofLeases},
	RejoinNow:       {"rejoin now", ofVotes},
	TransferOrder:   {"transfer", ofVotes},
	ResignOrder:     {"resign", ofVotes | ofLeases},
	StandOrder:      {"stand", ofVotes},
	DrainOrder:      {"drain", ofVotes},
	ServeOrder:      {"serve", ofVotes},
	KeepOrder:       {"keep", ofVotes},
	UndrainOrder:    {"undrain", ofVotes},
	ProtectOrder:    {"protect", ofVotes},
	BalanceOrder:    {"balance", ofVotes},
	Hold:            {"hold", ofVotes},
	WithoutBeats:    {"without beats", ofVotes},
	Question:        {"question", ofVotes},
	LeadReturns:     {"lead returns", ofVotes | ofLeases},
	PauseFails:      {"pause fails", ofVotes},
	SlowLedger:      {"slow ledger", ofVotes},
	NotWell:         {"not well", ofVotes},
	JudgeFails:      {"judge fails", ofVotes},
	Mistake:         {"mistake", ofVotes},
	LostQuestion:    {"lost question", ofLeases},
	LostAnswer:      {"lost answer", ofLeases},
	Refused:         {"refused", ofLeases},
	SlowLink:        {"slow link", ofLeases},
	Late:            {"late", ofLeases},
	Twice:           {"twice", ofLeases},
	HangingDriver:   {"hanging driver", ofLeases},
	CutOff:          {"cut off", ofLeases},
	StalledDatabase: {"stalled database", ofLeases},
	StaleRead:       {"stale read", ofLeases},
	LockedRecord:    {"locked record", ofLeases},
	DatabaseStep:    {"database step", ofLeases},
	Force:           {"force", ofLeases},
	StandStill:      {"stand still", ofLeases},
	SlowLog:         {"slow log", ofLeases},
}

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return faultTable[f].name
	}
	return fmt.Sprintf("fault(%d)", uint8(f))
}

// Faults lists the faults that strike in worlds of a kind.
func (k Kind) Faults() []Fault {
	return slices.DeleteFunc(all(faults), func(f Fault) bool { return faultTable[f].worlds>>k&1 == 0 })
}

// Condition is an event that must occur in a campaign, because without it the worlds are too
// quiet to show anything.
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
	// HandedOver: a member took its leader for gone because the leader had handed over.
	HandedOver
	// NoQuorum: a leader stepped down because no quorum answered.
	NoQuorum
	// Resigned: a leader resigned and no member had taken over.
	Resigned
	// GaveUp: a leader gave up its office because it was not able to lead.
	GaveUp
	// WritesPaused: an engine was asked to pause its writes.
	WritesPaused
	// StoppedLeading: a group was stopped while its member led.
	StoppedLeading
	// Failed: a group ended with an error because its disk failed.
	Failed
	// VoteRead: a process found the vote of one that had died.
	VoteRead
	// Rested: a leader left its heartbeats to its node.
	Rested
	// Drained: a node was drained, and led nothing.
	Drained
	// Stuck: a node was drained, and still led something.
	Stuck
	// BegunDrained: a process began drained, because its node stays so over restarts.
	BegunDrained

	// From here on, the conditions are for worlds of leases only.

	// LeaseTaken: a renewal showed that a lease was lost.
	LeaseTaken
	// ClaimUnanswered: a candidate that claimed a lease did not learn the outcome.
	ClaimUnanswered
	// NotReleased: a lease could not be released at once.
	NotReleased

	conditions
)

// conditionTable has the name of each condition, and the worlds that must meet it.
var conditionTable = [conditions]struct {
	name   string
	worlds kinds
}{
	LeadServed:      {"served", ofVotes | ofLeases},
	Committed:       {"committed", ofVotes},
	LeaseHeld:       {"lease held", ofVotes | ofLeases},
	LeaseLapsed:     {"lease lapsed", ofVotes | ofLeases},
	HandedOver:      {"handed over", ofVotes},
	NoQuorum:        {"no quorum", ofVotes},
	Resigned:        {"resigned", ofVotes | ofLeases},
	GaveUp:          {"gave up", ofVotes},
	WritesPaused:    {"paused", ofVotes},
	StoppedLeading:  {"stopped leading", ofVotes | ofLeases},
	Failed:          {"failed", ofVotes},
	VoteRead:        {"vote read", ofVotes},
	Rested:          {"rested", ofVotes},
	Drained:         {"drained", ofVotes},
	Stuck:           {"stuck", ofVotes},
	BegunDrained:    {"begun drained", ofVotes},
	LeaseTaken:      {"taken away", ofLeases},
	ClaimUnanswered: {"claim unanswered", ofLeases},
	NotReleased:     {"not released", ofLeases},
}

// String names the condition.
func (c Condition) String() string {
	if c < conditions {
		return conditionTable[c].name
	}
	return fmt.Sprintf("condition(%d)", uint8(c))
}

// Conditions lists the conditions that worlds of a kind must meet.
func (k Kind) Conditions() []Condition {
	return slices.DeleteFunc(all(conditions), func(c Condition) bool { return conditionTable[c].worlds>>k&1 == 0 })
}
