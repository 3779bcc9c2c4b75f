// From seeing a lease to holding it, and to giving it back: the machine decides, and
// this carries it out.

package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// sees takes note of what was read, and says whether a claim is to be made.
func (e *Elector) sees(r Record, now time.Duration) bool {
	k := e.keeper
	k.mu.Lock()
	defer k.unlock()
	next := e.machine.Look(r, now)
	e.believe(next != Distrust, r)
	if next == MakeClaim {
		e.working.Add(1)
	}
	return next == MakeClaim
}

// What is told of a database in which terms have fallen, and what to do.
const (
	forgotten = "the database has forgotten terms of this lease, or this is an old copy; the lease is left alone"
	remedy    = "if it stays so, set the term in its record to the known one; or restart all candidates, if no write is fenced by terms"
)

// believe shows what was read if it is believed. If not, that is told once, until something
// is read that is.
func (e *Elector) believe(believed bool, r Record) {
	if believed {
		e.showMachine()
	} else if !e.distrusts {
		e.keeper.say(slog.LevelError, forgotten, "group", r.Name, "term", uint64(r.Term), "known", uint64(e.machine.Term), "do", remedy)
	}
	e.distrusts = !believed
}

// claim tries to take the lease, and takes office if it could. What it won too late it
// gives back.
func (e *Elector) claim() {
	defer e.working.Done()
	if next, held, until := e.take(); next == GiveBack && e.release(held, until) == nil {
		e.wake()
	}
}

// take makes a claim, when it is its turn.
func (e *Elector) take() (next Next, held Held, until time.Duration) {
	k := e.keeper
	k.claims <- struct{}{}
	defer func() { <-k.claims }()
	k.mu.Lock()
	c, ok := e.machine.Claim(k.now())
	k.mu.Unlock()
	if !ok {
		return Nothing, Held{}, 0
	}
	won, err := call(k, k.lanes[claiming], k.config.Timing.Timeout, func(ctx context.Context) (bool, error) { return k.config.Store.Acquire(ctx, c) })
	defer k.came(claiming, err, "group", c.Name, "term", uint64(c.Term))
	k.mu.Lock()
	defer k.unlock()
	next, held, until = e.machine.Claimed(won && err == nil, k.now()), e.machine.Held(), e.machine.Until()
	if next == TakeOffice {
		e.open(held.Term, until)
	}
	return next, held, until
}

// open takes office.
func (e *Elector) open(term memberstate.Term, until time.Duration) {
	l, o := office.NewLease(term, until), office.Open(term)
	e.office, e.vacated = o, &vacancy{over: make(chan struct{})}
	e.lease.Store(l)
	e.showMachine()
	e.working.Go(func() {
		if l.RunsOut(e.keeper.now) {
			e.runOut(l)
			o.Close() // before any lock is waited for
			e.keeper.mu.Lock()
			defer e.keeper.unlock()
			e.lost(e.machine.Leave(term), "it has run out")
		}
	})
	e.working.Go(func() { e.serve(o, l) })
}

// lost tells why an office is left, if that is what comes next.
func (e *Elector) lost(next Next, why string) {
	if next == LeaveOffice {
		e.leave(next)
		e.keeper.say(slog.LevelWarn, "lost the lease", "group", e.config.Name, "term", uint64(e.office.Term), "why", why)
	}
}

// leave closes the office, if that is what comes next: the lease is not used and not
// renewed from now on. The rest is done when Lead has returned.
func (e *Elector) leave(next Next) {
	if next == LeaveOffice {
		e.lease.Store(nil)
		e.office.Close()
		e.showMachine()
	}
}

// errExited: Lead called runtime.Goexit, as t.FailNow does.
var errExited = errors.New("its goroutine has ended (runtime.Goexit)")

// serve is one term in office, from the call of Lead to the release. A Lead that ends its
// goroutine has returned, too. One that panics ends the process; the lease is not released
// then, because other goroutines of that Lead may be at work until the process has ended.
func (e *Elector) serve(o *office.Office, l *office.Lease) {
	early, err := true, errExited
	defer func() {
		o.Close()
		if cause := recover(); cause != nil {
			panic(cause)
		}
		e.returned(o, l, early, err)
	}()
	early, err = o.Serve(e.config.Lead)
}

// returned gives the lease back, for Lead has returned.
func (e *Elector) returned(o *office.Office, l *office.Lease, early bool, err error) {
	k := e.keeper
	l.End()
	k.mu.Lock()
	next, held, until := e.machine.Returned(), e.machine.Held(), e.machine.Until()
	e.lease.Store(nil)
	e.showMachine()
	if early {
		k.say(slog.LevelWarn, "lead returned early, resigning", "group", held.Name, "term", uint64(o.Term), "error", err)
	}
	k.unlock()
	var kept error
	if next == GiveBack {
		kept = e.release(held, until)
	}
	e.vacate(kept)
	if kept == nil {
		e.wake()
	}
}

// vacate ends the office: its lease was released, or could not be.
func (e *Elector) vacate(err error) {
	e.keeper.mu.Lock()
	defer e.keeper.mu.Unlock()
	e.machine.Released(e.keeper.now())
	e.vacated.err = err
	close(e.vacated.over)
}

// release gives the lease back. It tries again until the lease has run out, because nobody
// else can have it before.
func (e *Elector) release(held Held, until time.Duration) error {
	k := e.keeper
	for tries := 0; ; tries++ {
		_, err := call(k, k.lanes[releasing], until-k.now(), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, k.config.Store.Release(ctx, k.id, held)
		})
		k.came(releasing, err, "group", held.Name, "term", uint64(held.Term))
		if err == nil {
			return nil
		}
		wait := within(k.config.Timing.ReleaseWithin(tries))
		if k.now()+wait >= until {
			return fmt.Errorf("lease: %q could not be released, and others wait until it has run out: %w", held.Name, err)
		}
		pause(context.Background(), wait)
	}
}

// wake tells those who wait for the lease that it was released. After a poll they have
// looked by themselves.
func (e *Elector) wake() {
	k := e.keeper
	if k.waker == nil {
		return
	}
	_, err := call(k, k.lanes[waking], k.config.Timing.Poll, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.waker.Wake(ctx, e.config.Name)
	})
	k.came(waking, err, "group", e.config.Name)
}

// showMachine shows others what the machine has come to.
func (e *Elector) showMachine() {
	e.show(func(s *elector.Status) { s.Role, s.Term, s.Leader = e.machine.Role, e.machine.Term, e.machine.Leader })
}
