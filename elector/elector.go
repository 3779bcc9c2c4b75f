// The elector: one group at one node, as an engine sees it.

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
	group     protocol.Group               // owned by the loop once it has started
	view      atomic.Pointer[numberedView] // changed by the loop
	ledgerEnd func(term memberstate.Term) memberstate.Position
	extras    atomic.Pointer[extras] // nil until needed
}

// electorOf returns the Elector that a group belongs to.
func electorOf(g *protocol.Group) *Elector { return (*Elector)(g.Engine().(*engine)) }

// extras holds state that most groups do not need. It is apart because a host may have very
// many groups, and most of them only follow.
type extras struct {
	callbacks
	heardAt    atomic.Int64                   // when the loop was last notified of an append of the leader it follows
	heardTerm  atomic.Uint64                  // the largest term in which Heard has allowed an append
	rules      atomic.Pointer[protocol.Rules] // nil: the electorate's
	replaced   atomic.Pointer[chan struct{}]  // closed when the view is replaced; nil while nobody waits for that
	completion *completion                    // nil until someone asks for it; guarded by the host's mu
}

// ensureExtras returns the group's extras and makes them at the first call.
func (e *Elector) ensureExtras() *extras {
	if e.extras.Load() == nil {
		e.extras.CompareAndSwap(nil, new(extras))
	}
	return e.extras.Load()
}

// New makes a host with one group, the common case. Its error names every wrong field of
// either configuration.
func New(node HostConfig, group GroupConfig) (*Elector, error) {
	node.NoNodeBeats = true
	host, err := NewHost(node)
	if err != nil {
		_, inGroup := group.electorate(node.Self)
		return nil, errors.Join(err, inGroup)
	}
	return host.Join(group)
}

// Alive says that the engine has just done useful work, so it is able to lead. It is cheap enough to
// be called for every entry, and does nothing unless GroupConfig.Vouch is set.
func (e *Elector) Alive() {
	if x := e.extras.Load(); x != nil && !x.alive.Load() {
		x.alive.Store(true)
	}
}

// Host is the host that the group belongs to.
func (e *Elector) Host() *Host { return e.group.Owner.(*Host) }

func (e *engine) Host() *Host { return (*Elector)(e).Host() }

// Members lists the members of the group, as they were configured, the voters
// first.
func (e *Elector) Members() []memberstate.Member { return e.group.Members.List() }

// Run takes part in the group until the context ends, and then stops as Stop
// does. It returns once Lead and every goroutine have ended: nil if the context
// ended, or the error that stopped the member. If the context has ended and the store does not answer for a detection
// time, Run returns ErrStoreSilent; the member ends when the store answers.
func (e *Elector) Run(ctx context.Context) error {
	if err := e.markStarted(); err != nil {
		return err
	}
	started := e.Host().start(e)
	select {
	case <-started.done:
		if err := started.failed.err(); err != nil {
			return err
		}
	case <-ctx.Done():
	}
	select {
	case <-ctx.Done():
		e.beginStop()
	case <-e.Done():
	}
	if err := e.awaitEnd(e.Host().elapsed()); err != nil {
		return err
	}
	<-started.done
	return nil
}

// Start begins to take part in the group, once, and returns. Stop ends it. If the store does not answer for a detection time,
// Start returns ErrStoreSilent; the member takes part when the store answers, unless it was stopped before.
func (e *Elector) Start() error {
	if err := e.markStarted(); err != nil {
		return err
	}
	return e.Host().awaitStart(e.Host().start(e))
}

func (e *Elector) markStarted() error {
	h := e.Host()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.Start(&e.group)
}

// restore sets up the group from the store and the end of its ledger. If the store did not know the group, its
// record must be saved before it takes part.
func (e *Elector) restore() (known bool, err error) {
	g := &e.group
	r, known, err := e.Host().store.Load(g.Name())
	if err != nil {
		return false, fmt.Errorf("elector: group %q: loading its hard state: %w", g.Name(), err)
	}
	return known, g.Restore(r, known, e.ledgerEnd(r.Term))
}

// watchers is the number of goroutines that runHandlers starts.
func (e *Elector) watchers() int {
	if x := e.extras.Load(); x != nil {
		return len(x.handlers)
	}
	return 0
}

// runHandlers passes changes to the role handlers, to each in a goroutine of its own.
func (e *Elector) runHandlers() {
	x := e.extras.Load()
	if x == nil {
		return
	}
	for _, handler := range x.handlers {
		(*engine)(e).spawn(protocol.TellDone, func(*protocol.Request) { level.Tell(handler, e.Watch(context.Background())) })
	}
}

// Campaign makes this member stand for election now, if it does not lead and is
// bound by no promise. Members that still hear their leader refuse it.
func (e *Elector) Campaign() {
	e.Host().requestOnce(e.newRequest(protocol.AskStand))
}

// Lease returns the lease that this member holds: the term that it leads, and until
// when no other member can lead. ok is false if it holds none, as always without
// GroupConfig.Leases. Lease waits for nothing: it reads the lease and the clock.
//
// The clock is monotonic. On Linux it stands still while the machine is suspended (a laptop that sleeps, a virtual machine that is
// paused). A leader that wakes still shows itself as the leader, holds its lease, and goes on with its Lead, for what was left by its own
// clock: at most a detection time, and less if it hears another member before. By then others may have led for hours, so
// fence every write with the term. A follower that wakes does no harm: its promise has lasted longer, and it waits for its leader for
// what was left. A process that is only stopped (SIGSTOP) is not suspended: its clock goes on, and its lease has run out when it wakes.
func (e *Elector) Lease() (term memberstate.Term, until time.Time, ok bool) {
	if x := e.extras.Load(); x != nil {
		if l := x.lease.Load(); l != nil {
			if end, held := l.Holds(e.Host().elapsed()); held {
				return l.Term, e.Host().epoch.Add(end), true
			}
		}
	}
	return 0, time.Time{}, false
}
