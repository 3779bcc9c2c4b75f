// The elector: one lease, as the service uses it.

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
	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Elector elects the leader of one group by a lease.
type Elector struct {
	keeper  *Keeper
	config  GroupConfig
	shown   level.Level[shown]
	alive   atomic.Bool   // the service has vouched for itself since the last look
	ended   chan struct{} // closed when it no longer takes part
	working sync.WaitGroup

	// The fields below are guarded by the keeper's mu.
	life    life
	held    *office.Lease  // nil: it holds none
	tenure  *office.Office // its office, until the lease is released
	vacated *vacancy       // the end of that office
}

// shown is what readers see: the status and, of a leader, the lease. Both change in one step, because a
// leader without its lease would be taken for one whose lease has lapsed.
type shown struct {
	elector.Status
	lease *office.Lease // nil: it does not lead
}

// life is the stage of an elector's life.
type life uint8

const (
	joined life = iota // Run was not called yet
	running
	retiring
)

var _ elector.Election = (*Elector)(nil)

// New makes a keeper with one lease, for the common case.
func New(candidate KeeperConfig, group GroupConfig) (*Elector, error) {
	if err := errors.Join(candidate.validate(), group.validate(candidate.Timing)); err != nil {
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
	e.shown.Set(shown{Status: elector.Status{Group: config.Name, Self: k.id, Role: role}})
	return e
}

// Alive says that the service has just done useful work, so it is able to lead. It is
// cheap enough to be called for every write, and does nothing unless GroupConfig.Vouch
// is set.
func (e *Elector) Alive() {
	if !e.alive.Load() {
		e.alive.Store(true)
	}
}

// Electable says whether this candidate is to lead whenever it can, which is so from the
// start. With false it releases the lease if it leads, and claims it only after all others
// have had time to. It is the last choice and not forbidden: if no other candidate leads,
// it does. A restart forgets it. It returns ErrStopped if the candidate does not run.
func (e *Elector) Electable(may bool) error {
	e.keeper.mu.Lock()
	defer e.keeper.unlock()
	if e.life != running {
		return elector.ErrStopped
	}
	e.keeper.stepped(protocol.Electable{Name: e.config.Name, May: may})
	return nil
}

// Run takes part until the context ends; call it once. It returns when Lead, Healthy, the
// handlers and every goroutine have ended, and the lease is released or, if it could
// not be released, has expired by this candidate's clock. It returns nil, or
// ErrStopped if it has run before. Failures of the database do not end it, because it
// retries.
func (e *Elector) Run(ctx context.Context) error {
	if !e.enter() {
		return elector.ErrStopped
	}
	var handlers sync.WaitGroup
	for _, h := range e.config.Handlers {
		handlers.Go(func() { level.Tell(h, e.Watch(context.Background())) })
	}
	<-ctx.Done()
	e.retire()
	<-e.ended
	e.working.Wait()
	handlers.Wait()
	e.keeper.exit(e)
	return nil
}

// enter begins to take part, unless it has begun before.
func (e *Elector) enter() bool {
	e.keeper.mu.Lock()
	defer e.keeper.unlock()
	if e.life != joined {
		return false
	}
	e.life = running
	e.keeper.enter()
	e.keeper.stepped(protocol.Enter{Name: e.config.Name, Observer: e.config.Observer, Vouch: e.config.Vouch})
	return true
}

// retire begins to end the part that it takes.
func (e *Elector) retire() {
	e.keeper.mu.Lock()
	defer e.keeper.unlock()
	e.life = retiring
	e.keeper.stepped(protocol.Retire{Name: e.config.Name})
}

// errExited is the error of a function of the service that called runtime.Goexit, as t.FailNow does.
var errExited = errors.New("its goroutine has ended (runtime.Goexit)")

// calls calls a function of the service for this lease, see Keeper.calls.
func (e *Elector) calls(function func() error, returned func(error) protocol.Input) {
	e.keeper.calls(&e.working, function, returned)
}

// calls calls a function of the service, in a goroutine of its own, and steps with what follows from
// its error. A function that ends its goroutine counts as returned. One that panics ends the process;
// the lease is not released then, because other goroutines of Lead may work on until the process has
// ended.
func (k *Keeper) calls(working *sync.WaitGroup, function func() error, returned func(error) protocol.Input) {
	working.Go(func() {
		err := errExited
		defer func() {
			if cause := recover(); cause != nil {
				panic(cause)
			}
			k.step(returned(err))
		}()
		err = function()
	})
}

// serve calls Lead once.
func (e *Elector) serve(o *office.Office) {
	e.calls(func() error {
		_, err := o.Serve(e.config.Lead)
		return err
	}, func(err error) protocol.Input { return protocol.Returned{Name: e.config.Name, Err: err} })
}

// askHealth calls Healthy. Its context ends after Vouch, because a later answer counts for nothing.
func (e *Elector) askHealth() {
	e.calls(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), e.config.Vouch)
		defer cancel()
		return e.config.Healthy(ctx)
	}, func(err error) protocol.Input { return protocol.Health{Name: e.config.Name, Err: err} })
}

// Status returns the present state of this candidate, without a call and without
// waiting. Its Leader is an identity, see [Keeper.Self]; that candidate may have lost
// the lease since the last poll.
func (e *Elector) Status() elector.Status {
	s := e.shown.Load()
	if s.lease != nil {
		if _, held := s.lease.Holds(e.keeper.now()); !held { // its timer has not run yet
			e.showLoss(s.Term)
			s = e.shown.Load()
		}
	}
	return s.Status
}

// Watch yields the status, now and after every change, until the context ends or this
// candidate has stopped. A slow reader skips changes, but never the latest one.
func (e *Elector) Watch(ctx context.Context) iter.Seq[elector.Status] {
	return func(yield func(elector.Status) bool) {
		for s := range e.shown.Watch(ctx, func(s shown) bool { return s.Stopped }) {
			if !yield(s.Status) {
				return
			}
		}
	}
}

// Lease returns the lease that this candidate holds: its term, and until when no other
// candidate can hold it; false if it holds none. It only reads the clock.
func (e *Elector) Lease() (term memberstate.Term, until time.Time, ok bool) {
	l := e.shown.Load().lease
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
	over chan struct{} // closed when the lease was released, or has expired unreleased
	err  error         // why it was not released; read it when over is closed
}

// Resign gives up the lease: Lead's context ends, and when Lead has returned the lease
// is released. This candidate stands back for a while, so that another one gets it.
// Resign returns nil when the lease is released or was lost. If the store fails to
// release it, that is repeated until the lease has expired, and Resign returns the
// store's error: this candidate no longer leads, but others had to wait.
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

// show changes the status, and with it the lease that is shown, and logs the change. Its caller holds the keeper's lock.
func (e *Elector) show(change func(*elector.Status)) {
	l, changed := e.change(func(s *shown) {
		change(&s.Status)
		s.lease = nil
		if s.Role == memberstate.Leader {
			s.lease = e.held
		}
	})
	if changed {
		e.keeper.say(l.level, l.text, l.args...)
	}
}

// change changes what is shown, if the status differs and the elector has not stopped. It returns the
// line to log.
func (e *Elector) change(change func(*shown)) (l line, changed bool) {
	s, changed := e.shown.Update(func(old shown) (shown, bool) {
		s := old
		change(&s)
		changed := s.Status != old.Status || s.Revision == 0
		s.Revision++
		return s, changed && !old.Stopped
	})
	return line{slog.LevelInfo, "role", []any{
		"group", s.Group, "term", uint64(s.Term), "role", s.Role.String(), "leader", s.Leader,
		"last_leader", s.LastLeader, "departure", s.Departure.String(), "ability", s.Inability.String(),
	}}, changed
}

// showLoss changes the status of a candidate that no longer leads the term. It takes no lock.
func (e *Elector) showLoss(term memberstate.Term) {
	l, changed := e.change(func(s *shown) {
		if s.Role == memberstate.Leader && s.Term == term {
			s.Role, s.Leader, s.lease = memberstate.Candidate, "", nil
			s.LastLeader, s.Departure = s.Self, voting.DepartedLeaseLapsed
		}
	})
	if changed {
		e.keeper.tell(l)
	}
}
