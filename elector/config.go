// What an embedding tells an elector.

package elector

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// HostConfig describes a node.
type HostConfig struct {
	// Self is the id of this node, as it appears among the members of groups.
	Self string
	// Store keeps the hard state of all groups of the node, over crashes.
	Store memberstate.Store
	// Transport carries the messages of all groups of the node.
	Transport rpc.Transport
	// Logger is told of role changes, and of what goes wrong. If it is nil,
	// warnings and errors go to [slog.Default], and the rest nowhere. For silence,
	// hand in a logger over [slog.DiscardHandler].
	Logger *slog.Logger
	// Metrics is told what happens, for those who measure.
	// Nil: nobody does.
	Metrics *Metrics
}

// GroupConfig describes one group at one node.
type GroupConfig struct {
	// Group names the group. Its members use the same name.
	Group string
	// Members lists the voters and observers of the group, this node included.
	Members []memberstate.Member
	// Timing holds the intervals; all members should have the same.
	Timing Timing

	// LedgerEnd tells where the engine's ledger ends, and promises that from its
	// return on the engine accepts no append of a lower term; Promise.End does both.
	// See the package documentation: an embedding stands or falls with this promise. It
	// is never called twice at once for one group. It must not call the elector.
	LedgerEnd func(term memberstate.Term) memberstate.Position
	// Lead serves while this member leads, for one term. Its context ends when
	// the term is lost, or the lease if there are leases; the term fences every
	// write. The Lead of an old term has returned before that of a new one is
	// called. With leases it is called only while the lease is held. If it returns
	// while the context lives, the member resigns; to end its goroutine
	// (runtime.Goexit) is to return, and a panic ends the process. Nil if the engine
	// watches Status instead.
	Lead func(ctx context.Context, term memberstate.Term) error
	// Pause stops the engine from accepting writes, for a handover, and returns
	// when no more are accepted. When its context ends the handover is over: if
	// the term is still led, writes go on. Nil if there is nothing to pause.
	Pause func(ctx context.Context, term memberstate.Term) error
	// Handlers are told of every change that they have time for, and of the
	// latest in any case.
	Handlers []RoleHandler

	// Preferred are the ids of voters that should lead whenever they can.
	Preferred []string
	// Leases gives this member a lease when it leads: until it runs out, or the
	// term ends, no other member can lead. See Elector.Lease. The others promise
	// it whether they have leases or not, so members may differ for a while.
	Leases bool
	// NoPreVote has candidates raise the term without asking first, as DLedger
	// does, so that a member that was cut off deposes the leader on its return.
	NoPreVote bool
	// NoRanks has candidates draw lots for the first attempt, too.
	NoRanks bool
}

// RoleHandler is told what the member is. Its methods are called by one
// goroutine, outside any lock: a slow one holds up nothing but itself.
type RoleHandler interface {
	// Startup is called once, before anything else.
	Startup()
	// Handle is told the latest role, term and leader. A handler that is slower
	// than the changes skips some, but never the latest.
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
	return errors.Join(bad...)
}

// electorate checks a group's configuration at a node.
func (c *GroupConfig) electorate(self string) (protocol.Electorate, error) {
	var bad protocol.Complaints
	setup := protocol.Setup{
		Group: c.Group, Members: c.Members, Timing: c.Timing, Preferred: c.Preferred,
		Leases: c.Leases, NoPreVote: c.NoPreVote, NoRanks: c.NoRanks,
	}
	e := setup.Electorate(self, &bad)
	if c.LedgerEnd == nil {
		bad.Add("LedgerEnd", "is nil")
	}
	for i, h := range c.Handlers {
		if h == nil {
			bad.Add("Handlers", "has nil at %d", i)
		}
	}
	return e, errors.Join(bad...)
}
