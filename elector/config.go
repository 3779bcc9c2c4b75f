// The configuration of a node and of a group, which an engine passes in.

package elector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// HostConfig describes a node.
type HostConfig struct {
	// Self is the id of this node, as it appears among the members of groups.
	Self string
	// Store keeps the hard state of all groups of the node across crashes.
	Store memberstate.Store
	// Transport carries the messages of all groups of the node.
	Transport rpc.Transport
	// Logger receives role changes, warnings and errors. If it is nil, warnings
	// and errors go to [slog.Default], and role changes are not logged. To log
	// nothing, pass a logger over [slog.DiscardHandler]. Its handler is called in a goroutine of its own, and may block: the
	// node goes on, lines beyond 1,024 that wait are dropped, and a warning says how many these were.
	Logger *slog.Logger
	// Stalled names the groups of this node whose engines cannot work, for a process that knows that of
	// all its groups in one place. It is called about once a heartbeat, whatever the number of groups, and
	// never twice at a time; its context ends after a detection time. What is said of GroupConfig.Healthy holds for
	// every group that it names. If it does not return within a detection time, no member of this node
	// is able to lead. It must not ask by a request through a group. Nil if there is no such function.
	Stalled func(ctx context.Context) []string
	// NoNodeBeats has every group of this node beat by itself. Otherwise, if the Transport is an
	// [rpc.BeatTransport], a group in which nothing happens leaves its heartbeats to the node, and costs no
	// message. A node with one group gains nothing by that, so New sets NoNodeBeats.
	NoNodeBeats bool
	// Hold has the node begin without taking its share of leading, for an engine whose data is not complete when it
	// starts: its members follow and vote, and lead only if no other voter can. Host.Serve ends that, unless operators
	// keep the node drained, see Host.KeepDrained.
	Hold bool
	// Balance is how often this node compares how many groups it leads with other nodes, and hands some over to one that
	// leads much less; see Host.Balance. 0: never.
	Balance time.Duration
	// Capacity is how much this node should lead compared with a usual one, in hundredths: 200 is twice as much. Balance and drains
	// go by it; elections do not. Zero means 100.
	Capacity int
	// Metrics holds functions that are called when something happens. Nil: none.
	Metrics *Metrics
}

// GroupConfig describes one group at one node.
//
// A panic in one of its functions is not recovered: it ends the process, which
// is a crash to the other members. A function that ends its goroutine instead, by runtime.Goexit,
// which a test's t.FailNow calls, is treated as if it had failed:
//
//   - Lead has returned, so the member resigns if its context had not ended.
//   - Pause fails, so the handover is given up.
//   - LedgerEnd, or the Save of a store, stops the member with an error.
//   - A [RoleHandler] is not called any more.
//
// A Lead that never returns is waited for: its member does not stand again, because two
// Leads would run at once, and Stop does not return.
type GroupConfig struct {
	// Group names the group. Its members use the same name.
	Group string
	// Members lists the voters and observers of the group, this node included.
	Members []memberstate.Member
	// Timing holds the intervals; all members should have the same.
	Timing Timing

	// LedgerEnd returns where the engine's ledger ends, and promises that the engine
	// accepts no append of a lower term from then until the next call; Promise.End does
	// both. Safety depends on this promise: see the package documentation. A term is lower than
	// that of the call before only if the member was stopped before it had saved the larger one, and has
	// joined again. Then it is the lower one that counts. Calls for one group never overlap.
	// LedgerEnd must not call the elector.
	LedgerEnd func(term memberstate.Term) memberstate.Position
	// Lead serves while this member leads, for one term. Its context ends when
	// the member loses the term or, with leases, the lease. The term fences every
	// write. The Lead of an old term has returned before that of a new one is
	// called. With leases it is called only while the lease is held. If it returns
	// before its context ends, the member resigns; ending its goroutine
	// (runtime.Goexit) counts as returning, and a panic ends the process. Nil if
	// the engine watches Status instead.
	Lead func(ctx context.Context, term memberstate.Term) error
	// Pause stops the engine from accepting writes, for a handover, and returns
	// when no more are accepted. When its context ends, the handover is over; if
	// this member still leads the term, writes go on. Nil if there is nothing to pause.
	Pause func(ctx context.Context, term memberstate.Term) error
	// Vouch binds leading to the engine's ability to work. Heartbeats need neither the engine nor its
	// disk, so a leader whose engine hangs would lead on, and every client would wait for it. If Vouch
	// is positive, the engine vouches for itself: it calls Elector.Alive whenever it has done useful work,
	// or answers Healthy. Its word counts for this long. A leader whose engine does not vouch for
	// it hands over to a member whose engine does, and leads on only if there is none. Zero: the
	// engine need not. A process that knows in one place which of its engines cannot work sets
	// HostConfig.Stalled instead: one function for all groups.
	//
	//   - Vouch for what clients wait for: a write that has reached the disk, an entry that was applied.
	//     An idle engine must vouch, too, for example by writing something small now and then.
	//   - Never vouch by a request through the group itself. That needs a leader and a quorum, so all
	//     members would be taken for not able at the one moment when the group has to elect.
	//   - Vouch is at least two heartbeats. A detection time is a good value: then a leader that hangs is
	//     replaced about as fast as one that has died.
	//
	// The host sees some of it without being asked, even if Vouch is zero: a store that has been saving for
	// longer than a detection time, a Pause that does not return, and a Lead that does not return after its
	// context has ended.
	Vouch time.Duration
	// Healthy returns nil if the engine is able to lead, and why if it is not. It is
	// called about once a heartbeat, never twice at a time, and its context ends after
	// Vouch. It must not ask by a request through the group itself. It needs Vouch; nil if
	// the engine calls Alive, or need not vouch.
	Healthy func(ctx context.Context) error
	// Handlers receive every change. A slow one skips changes, but never the latest.
	Handlers []RoleHandler

	// Preferred are the ids of voters that should lead whenever they can.
	Preferred []string
	// Weight is how much work it is to lead this group compared with a usual one, from 1 to 255: 3 is as much as leading three. All members
	// should have the same. Balance and drains go by it, see HostConfig.Capacity; elections do not. Zero means 1. Elector.SetWeight changes it.
	Weight int
	// Leases gives this member a lease when it leads: until it runs out, or the
	// term ends, no other member can lead. See Elector.Lease. Voters promise the
	// lease whether they have Leases set or not, so members may differ for a while.
	Leases bool
	// NoPreVote lets candidates raise the term without asking first, as DLedger
	// does, so that a member that was cut off deposes the leader on its return.
	NoPreVote bool
	// NoRanks lets candidates wait for a random time before the first attempt, too.
	NoRanks bool
}

// RoleHandler receives the member's status. One goroutine calls its methods,
// outside any lock, so a slow handler delays only itself, and Stop, which waits for it.
type RoleHandler interface {
	// Startup is called once, before anything else.
	Startup()
	// Handle receives the latest role, term and leader. A slow handler skips
	// changes, but never the latest.
	Handle(s Status)
	// Shutdown is called once, last.
	Shutdown()
}

func (c *HostConfig) validate() error {
	var bad protocol.Complaints
	if c.Self == "" {
		bad.Add("Self", "is empty")
	}
	if c.Store == nil {
		bad.Add("Store", "is nil")
	}
	if c.Transport == nil {
		bad.Add("Transport", "is nil")
	}
	protocol.CheckBalance(&bad, c.Balance)
	protocol.CheckCapacity(&bad, c.Capacity)
	return errors.Join(bad...)
}

// electorate validates a group's configuration at a node.
func (c *GroupConfig) electorate(self string) (protocol.Electorate, error) {
	var bad protocol.Complaints
	setup := protocol.Setup{
		Group: c.Group, Members: c.Members, Timing: c.Timing, Preferred: c.Preferred,
		Leases: c.Leases, NoPreVote: c.NoPreVote, NoRanks: c.NoRanks, Vouch: c.Vouch,
	}
	e := setup.Electorate(self, &bad)
	protocol.CheckWeight(&bad, c.Weight)
	if c.LedgerEnd == nil {
		bad.Add("LedgerEnd", "is nil")
	}
	if c.Healthy != nil && c.Vouch == 0 {
		bad.Add("Vouch", "is zero, but Healthy is set: it says how long an answer counts")
	}
	for i, h := range c.Handlers {
		if h == nil {
			bad.Add("Handlers", "has nil at %d", i)
		}
	}
	return e, errors.Join(bad...)
}
