// The elector: one group at one node, as an engine holds it.

package elector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/memberstate"
)

// Elector elects the leader of one group at one node.
type Elector struct {
	group     protocol.Group     // the loop's, once it has started
	sight     level.Level[sight] // changed by the loop
	ledgerEnd func(term memberstate.Term) memberstate.Position
	more      atomic.Pointer[more] // nil while there is nothing of it
}

// electorOf is the Elector that a group belongs to.
func electorOf(g *protocol.Group) *Elector { return (*Elector)(g.Engine().(*engine)) }

// more is what not every group has: there may be very many, and most of them follow.
type more struct {
	callbacks
	heardAt   atomic.Int64  // when the engine last heard from the leader it follows; changed by the engine
	announced atomic.Uint64 // the largest term that the engine heard of; changed by the engine
	ending    *ending       // nil until someone asks for it; guarded by the host's mu
}

// needs is the group's more, made when it is first needed.
func (e *Elector) needs() *more {
	if e.more.Load() == nil {
		e.more.CompareAndSwap(nil, new(more))
	}
	return e.more.Load()
}

// New is a host of one group, for the common case. Its error names every field that is
// wrong in either configuration.
func New(node HostConfig, group GroupConfig) (*Elector, error) {
	host, err := NewHost(node)
	if err != nil {
		_, inGroup := group.electorate(node.Self)
		return nil, errors.Join(err, inGroup)
	}
	return host.Join(group)
}

// Host is the host that the group belongs to.
func (e *Elector) Host() *Host { return e.electorate().host }

// Members lists the members of the group, as they were configured, the voters
// first.
func (e *Elector) Members() []memberstate.Member { return e.group.Members.List() }

// Run takes part in the group until the context ends, and then stops as Stop
// does. It returns once Lead and every goroutine have ended: nil after the
// context, or the error for which the member had to stop.
func (e *Elector) Run(ctx context.Context) error {
	if err := e.Start(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return e.Stop(context.WithoutCancel(ctx))
	case <-e.Done():
		e.Host().awaitLoop()
		return e.Err()
	}
}

// Start begins to take part in the group, once, and returns. Stop ends it.
func (e *Elector) Start() error {
	h := e.Host()
	h.mu.Lock()
	err := h.intake.Start(&e.group)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	begun := make(chan struct{})
	if err = e.restore(); err == nil {
		err = h.enter(e, func() { close(begun) })
	}
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		e.conclude(err)
		return err
	}
	<-begun
	e.runHandlers()
	return nil
}

// restore sets the group up with what the store has kept, and with its ledger.
func (e *Elector) restore() error {
	store, g := e.Host().config.Store, &e.group
	r, known, err := store.Load(g.Name())
	if err != nil {
		return fmt.Errorf("elector: group %q: loading its hard state: %w", g.Name(), err)
	}
	if err := g.Restore(r, known, e.ledgerEnd(r.Term)); err != nil || known {
		return err
	}
	if err := store.Save([]memberstate.Record{g.Record()}); err != nil {
		return fmt.Errorf("elector: group %q: saving its first hard state: %w", g.Name(), err)
	}
	return nil
}

// watchers are the goroutines that runHandlers starts.
func (e *Elector) watchers() int {
	if x := e.more.Load(); x != nil {
		return len(x.handlers)
	}
	return 0
}

// runHandlers tells the role handlers of changes, each in a goroutine of its own.
func (e *Elector) runHandlers() {
	x := e.more.Load()
	if x == nil {
		return
	}
	for _, handler := range x.handlers {
		(*engine)(e).beside(protocol.TellDone, func(*protocol.Request) { level.Tell(handler, e.Watch(context.Background())) })
	}
	x.handlers = nil
}

// Campaign has this member stand for election now, if it does not lead and is
// bound by no promise. Members that still hear their leader refuse it.
func (e *Elector) Campaign() {
	e.Host().requestOnce(e.about(protocol.AskStand))
}

// Lease is the lease that this member holds: the term that it leads, and until
// when no other member can lead. It is false if it holds none, which is always
// so without GroupConfig.Leases. It reads the clock and nothing else.
func (e *Elector) Lease() (term memberstate.Term, until time.Time, ok bool) {
	if x := e.more.Load(); x != nil {
		if l := x.lease.Load(); l != nil {
			if end, held := l.Holds(e.Host().elapsed()); held {
				return l.Term, e.Host().epoch.Add(end), true
			}
		}
	}
	return 0, time.Time{}, false
}
