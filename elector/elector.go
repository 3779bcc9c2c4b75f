// The elector: one group at one node, as an engine holds it.

package elector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/memberstate"
)

// Elector elects the leader of one group at one node.
type Elector struct{ group group }

// New is a host of one group, for the common case.
func New(config Config) (*Elector, error) {
	host, hostErr := NewHost(HostConfig{Self: config.Self, Store: config.Store, Transport: config.Transport, Logger: config.Logger, Metrics: config.Metrics})
	if hostErr != nil {
		_, _, groupErr := config.rules(config.Self)
		return nil, errors.Join(hostErr, groupErr)
	}
	config.Self, config.Store, config.Transport, config.Logger, config.Metrics = "", nil, nil, nil, nil
	return host.Join(config)
}

// Host is the host that the group belongs to.
func (e *Elector) Host() *Host { return e.group.host }

// Members lists the members of the group, as they were configured, the voters
// first.
func (e *Elector) Members() []memberstate.Member { return e.group.members.List() }

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
		e.group.host.awaitLoop()
		return e.Err()
	}
}

// Start begins to take part in the group, once, and returns. Stop ends it.
func (e *Elector) Start() error {
	g, h := &e.group, e.group.host
	h.mu.Lock()
	again := g.started
	g.started = true
	h.mu.Unlock()
	if again {
		return say(ErrStopped, "group %q has been started or stopped before, and runs once", g.name)
	}
	err := g.restore()
	if err == nil {
		err = h.enter()
	}
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		g.awaited().err = err
		h.conclude(g)
		return err
	}
	began := make(chan struct{})
	h.request(func() {
		defer close(began)
		g.running = true
		g.publish(0) // also what ends at once has a term, which it must not seem to have lost
		if g.isRetired() {
			h.end(g, nil)
			return
		}
		h.runHandlers(g)
		h.give(g, &Input{Kind: Start}, nil)
	})
	<-began
	return nil
}

// restore sets the machine up with what the store has kept, and holds it
// against the ledger.
func (g *group) restore() error {
	store := g.host.config.Store
	r, known, err := store.Load(g.name)
	if err != nil {
		return fmt.Errorf("elector: group %q: loading its hard state: %w", g.name, err)
	}
	if known && r.Voters != g.members.Digest() {
		return fmt.Errorf("%w: group %q: a quorum of the old ones may have elected someone", ErrOtherVoters, g.name)
	}
	if vote := g.members.Seat(r.Vote); vote != memberstate.Nobody && !g.rules.Voters.Has(vote) {
		return fmt.Errorf("%w: group %q: it voted for %q", ErrOtherVoters, g.name, r.Vote)
	}
	end := g.ledgerEnd(r.Term)
	if known && end.Term > r.Term {
		return fmt.Errorf("%w: group %q: the ledger ends in term %d, the store knows terms up to %d", ErrStoreBehindLedger, g.name, end.Term, r.Term)
	}
	hard := memberstate.HardState{Term: r.Term, Vote: g.members.Seat(r.Vote), Promise: r.Promise}
	g.ledgerLog = ledgerLog{end: end, asked: r.Term, known: end.Term}
	if !known && end.Term > 0 {
		// A new member beside an existing ledger: it has voted in no term that
		// the ledger has seen the end of.
		hard.Term = end.Term
	}
	g.machine = NewMachine(&g.rules, hard)
	if !known {
		if err := store.Save([]memberstate.Record{g.record()}); err != nil {
			return fmt.Errorf("elector: group %q: saving its first hard state: %w", g.name, err)
		}
	}
	return nil
}

// runHandlers tells the role handlers of changes, each in a goroutine of its own.
func (h *Host) runHandlers(g *group) {
	x := g.extra.Load()
	if x == nil {
		return
	}
	for _, handler := range x.handlers {
		h.beside(g, func() { level.Tell(handler, g.watch(context.Background())) }, func() {})
	}
	x.handlers = nil
}

// Campaign has this member stand for election now, if it does not lead and is
// bound by no promise. Members that still hear their leader refuse it.
func (e *Elector) Campaign() {
	g, h := &e.group, e.group.host
	h.requestOnce(errand{group: g, kind: Stand}, func() { h.give(g, &Input{Kind: Stand}, nil) })
}

// Lease is the lease that this member holds: the term that it leads, and until
// when no other member can lead. It is false if it holds none, which is always
// so without Config.Leases. It reads the clock and nothing else.
func (e *Elector) Lease() (term memberstate.Term, until time.Time, ok bool) {
	l := e.group.lease()
	if l == nil {
		return 0, time.Time{}, false
	}
	end, ok := l.Holds(e.group.host.elapsed())
	if !ok {
		return 0, time.Time{}, false
	}
	return l.Term, e.group.host.epoch.Add(end), true
}

// randomDuration draws from [0, below). The host draws from the process's own
// randomness: alarms need to differ, not to be secret or to be repeatable.
func randomDuration(below time.Duration) time.Duration { return rand.N(below) }
