// The elector: one lease, as a service holds it.

package lease

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Elector elects the leader of one group by a lease.
type Elector struct {
	keeper  *Keeper
	config  GroupConfig
	status  level.Level[elector.Status]
	lease   atomic.Pointer[office.Lease] // nil: it holds none
	ended   chan struct{}                // closed when it takes no part any more
	working sync.WaitGroup

	// What follows is guarded by the keeper's mu.
	life    life
	tenure  *office.Office // the office that it is in, or whose lease it gives back
	vacated *vacancy       // and the end of that
}

// life is how far an elector has come.
type life uint8

const (
	joined life = iota // Run was not called
	running
	retiring
)

var _ elector.Election = (*Elector)(nil)

// New is a keeper of one lease, for the common case.
func New(candidate KeeperConfig, group GroupConfig) (*Elector, error) {
	if err := errors.Join(candidate.validate(), group.validate()); err != nil {
		return nil, err
	}
	k, err := NewKeeper(candidate)
	if err != nil {
		return nil, err
	}
	return k.Join(group)
}

func newElector(k *Keeper, config GroupConfig) *Elector {
	if config.Lead == nil {
		config.Lead = func(ctx context.Context, _ memberstate.Term) error {
			<-ctx.Done()
			return nil
		}
	}
	e := &Elector{keeper: k, config: config, ended: make(chan struct{})}
	role := memberstate.Candidate
	if config.Observer {
		role = memberstate.Observer
	}
	e.status.Set(elector.Status{Group: config.Name, Self: k.id, Role: role})
	return e
}

// Run takes part until the context ends, once. It returns when Lead, the handlers
// and every goroutine have ended, and the lease is released, or has run out by this
// candidate's clock because it could not be released: nil, or ErrStopped if it has run
// before. Failures of the database do not end it: it tries again.
func (e *Elector) Run(ctx context.Context) error {
	if !e.live(joined, running) {
		return elector.ErrStopped
	}
	var handlers sync.WaitGroup
	for _, h := range e.config.Handlers {
		handlers.Go(func() { level.Tell(h, e.Watch(context.Background())) })
	}
	e.keeper.enter()
	e.keeper.step(protocol.Enter{Name: e.config.Name, Observer: e.config.Observer})
	<-ctx.Done()
	e.live(running, retiring)
	e.keeper.step(protocol.Retire{Name: e.config.Name})
	<-e.ended
	e.working.Wait()
	handlers.Wait()
	e.keeper.exit(e)
	return nil
}

// live goes on from one part of its life to another, and says whether it was in the first.
func (e *Elector) live(from, to life) bool {
	e.keeper.mu.Lock()
	defer e.keeper.mu.Unlock()
	was := e.life == from
	if was {
		e.life = to
	}
	return was
}

// errExited: Lead called runtime.Goexit, as t.FailNow does.
var errExited = errors.New("its goroutine has ended (runtime.Goexit)")

// serve is one call of Lead. A Lead that ends its goroutine has returned, too. One that panics
// ends the process; the lease is not released then, because other goroutines of that Lead may
// be at work until the process has ended.
func (e *Elector) serve(o *office.Office) {
	err := errExited
	defer func() {
		o.Close()
		if cause := recover(); cause != nil {
			panic(cause)
		}
		e.keeper.step(protocol.Returned{Name: e.config.Name, Err: err})
	}()
	_, err = o.Serve(e.config.Lead)
}

// Status is what this candidate is now. It asks nobody and waits for nobody.
// Its Leader is an identity, see [Keeper.Self]; whom it names may have lost the
// lease since this candidate looked.
func (e *Elector) Status() elector.Status {
	s := e.status.Load()
	if s.Role == memberstate.Leader {
		if _, _, ok := e.Lease(); !ok { // and the timer has not come to say so yet
			e.showLoss(s.Term)
			return e.status.Load()
		}
	}
	return s
}

// Watch yields what this candidate is, now and after every change, until the
// context ends or it has stopped. Between two yields changes may be skipped; the
// latest never is.
func (e *Elector) Watch(ctx context.Context) iter.Seq[elector.Status] {
	return e.status.Watch(ctx, func(s elector.Status) bool { return s.Stopped })
}

// Lease is the lease that this candidate holds: its term, and until when nobody
// else can hold it. It is false if it holds none. It reads the clock and nothing
// else.
func (e *Elector) Lease() (term memberstate.Term, until time.Time, ok bool) {
	l := e.lease.Load()
	if l == nil {
		return 0, time.Time{}, false
	}
	end, held := l.Holds(e.keeper.now())
	if !held {
		return 0, time.Time{}, false
	}
	return l.Term, e.keeper.epoch.Add(end), true
}

// vacancy is the end of an office.
type vacancy struct {
	over chan struct{} // closed when the lease was released, or could not be until it ran out
	err  error         // why it could not; to be looked at when it is over
}

// Resign gives the lease up: Lead's context ends, and when Lead has returned the
// lease is released. This candidate stands back for a while, so that another one
// gets it. It returns nil when the lease is released, or was lost. If the store
// refuses to release it, that is tried again until the lease has run out, and Resign
// returns the store's error: this candidate leads no more, but others had to wait.
func (e *Elector) Resign(ctx context.Context) error {
	vacated, err := e.resign()
	if err != nil {
		return err
	}
	select {
	case <-vacated.over:
		return vacated.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Elector) resign() (vacated *vacancy, err error) {
	e.keeper.mu.Lock()
	defer e.keeper.unlock()
	switch {
	case e.vacated != nil:
		vacated = e.vacated
		e.keeper.stepped(protocol.Resign{Name: e.config.Name})
		return vacated, nil
	case e.life == running:
		return nil, elector.ErrNotLeader
	}
	return nil, elector.ErrStopped
}

// show changes what others see, and has the change logged. Its caller holds the keeper's
// lock.
func (e *Elector) show(change func(*elector.Status)) {
	if l, changed := e.change(change); changed {
		e.keeper.say(l.level, l.text, l.args...)
	}
}

// change changes what others see, if there is a change, and nothing after the last. It
// returns what is to be logged of it.
func (e *Elector) change(change func(*elector.Status)) (l line, changed bool) {
	s, changed := e.status.Update(func(old elector.Status) (elector.Status, bool) {
		s := old
		change(&s)
		changed := s != old || s.Revision == 0
		s.Revision++
		return s, changed && !old.Stopped
	})
	return line{slog.LevelInfo, "role", []any{"group", s.Group, "term", uint64(s.Term), "role", s.Role.String(), "leader", s.Leader}}, changed
}

// showLoss shows that this candidate leads the term no more. It waits for no lock.
func (e *Elector) showLoss(term memberstate.Term) {
	l, changed := e.change(func(s *elector.Status) {
		if s.Role == memberstate.Leader && s.Term == term {
			s.Role, s.Leader = memberstate.Candidate, ""
		}
	})
	if changed {
		e.keeper.tell(l)
	}
}
