// A candidate: a process with a machine, and with what a keeper does for it: looking
// and renewing again and again, a timer for the end of the lease, a call of Lead.

package leases

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

type candidate struct {
	world   *world
	index   int
	options manner
	clock   clock

	// The process.
	alive     bool
	number    int // of the incarnation
	paused    bool
	asleep    time.Duration // what its clock shows while the machine sleeps; 0: it does not
	behind    int64         // until then it does what it could not do before
	cut, deaf bool          // nothing gets to the database, or back
	far       time.Duration // how much longer everything takes

	// The keeper.
	id         string
	machine    lease.Machine
	retired    bool
	looking    bool
	claiming   bool
	roused     bool          // while it was looking
	soon       bool          // it is about to look, for it was woken
	next       time.Duration // it does not look sooner than then because it was woken
	everything time.Duration // when all is to be renewed

	// The office.
	lease        *office.Lease // nil: it holds none
	serves       memberstate.Term
	leading      bool // Lead has not returned
	contextLives bool

	// What the check needs.
	read       lease.Record  // last
	stoodStill time.Duration // of its clock, up to the last read
	still      time.Duration // since when
	shown      memberstate.Term
	over       *office.Lease // the last that has been seen to have run out
}

// manner is how a candidate is set up.
type manner struct {
	timing           lease.Timing
	strict, observer bool
}

// self is its readable name.
func (n *candidate) self() string { return fmt.Sprintf("n%d", n.index) }

func (n *candidate) now() time.Duration {
	if n.asleep != 0 {
		return n.asleep
	}
	return n.clock.reading(n.world.now)
}

// valid says whether it holds a lease, as a service would be told.
func (n *candidate) valid() bool { return n.alive && n.lease != nil && n.now() < n.lease.Until() }

// awake says that it neither stands still nor has yet to do what it missed.
func (n *candidate) awake() bool { return !n.paused && n.world.now > n.behind }

// in has something happen to the process in some true time, after that of its clock.
func (n *candidate) in(wait int64, do func()) {
	n.world.queue.Push(n.world.now+wait, event{n, n.number, do})
}

func (n *candidate) after(wait time.Duration, do func()) {
	n.in(n.clock.when(n.now()+wait, n.world.now)-n.world.now, do)
}

func (n *candidate) delay() time.Duration {
	return n.far + time.Duration(n.world.between(n.world.link/4, n.world.link))
}

// start begins an incarnation.
func (n *candidate) start() {
	n.number++
	n.alive, n.id = true, fmt.Sprintf("%s#%d", n.self(), n.number)
	n.machine = lease.NewMachine(lease.Rules{
		Name: group, ID: n.id, Self: n.self(),
		Observer: n.options.observer, Strict: n.options.strict, Timing: n.options.timing,
	})
	n.retired, n.looking, n.claiming, n.roused, n.soon, n.shown = false, false, false, false, false, 0
	n.machine.Begin()
	n.world.tell("%s starts", n.id)
	n.after(n.within(n.options.timing.PollWithin()), n.polls)
	n.rouse()
	n.next = n.now()
	n.everything = n.now() + n.within(n.options.timing.RenewWithin(true))
	n.pauses()
}

// startIf begins an incarnation, unless it has begun: those who are healed are not
// waited for.
func (n *candidate) startIf(number int) func() {
	return func() {
		if n.number == number {
			n.start()
		}
	}
}

// die ends it, and all that it had to do.
func (n *candidate) die() {
	n.world.tell("%s dies", n.id)
	n.number++ // what was to happen to it does not
	n.alive, n.lease, n.leading, n.contextLives, n.paused, n.asleep = false, nil, false, false, false, 0
}

func (n *candidate) within(least, most time.Duration) time.Duration {
	return time.Duration(n.world.between(int64(least), int64(most)))
}

// sparsely draws a wait as a keeper does who was woken: the longest of three has the
// distribution of a cube root, and needs none.
func (n *candidate) sparsely(least, most time.Duration) time.Duration {
	return max(n.within(least, most), n.within(least, most), n.within(least, most))
}

// rouse has it look soon, if it is not about to.
func (n *candidate) rouse() {
	switch {
	case n.looking:
		n.roused = true
	case !n.soon:
		n.soon = true
		n.after(max(n.sparsely(n.options.timing.LookWithin()), n.next-n.now()), n.looksSoon)
	}
}

func (n *candidate) looksSoon() {
	if n.looking {
		n.after(time.Millisecond, n.looksSoon) // it is one goroutine that looks
		return
	}
	n.soon = false
	if n.machine.Watching() {
		n.next = n.now() + n.options.timing.LooksApart()
	}
	n.look(func() {})
}

// polls looks again and again.
func (n *candidate) polls() {
	if n.looking {
		n.after(time.Millisecond, n.polls)
		return
	}
	n.look(func() { n.after(n.within(n.options.timing.PollWithin()), n.polls) })
}

// look reads the lease, and claims it if it is free.
func (n *candidate) look(then func()) {
	if !n.machine.Watching() {
		then()
		return
	}
	n.looking = true
	done := func() {
		n.looking = false
		then()
		if n.roused {
			n.roused = false
			n.rouse()
		}
	}
	var found lease.Record
	n.send(reads, func(context.Context) error {
		found = n.world.find()
		return nil
	}, func(answered bool) {
		if !answered {
			done()
			return
		}
		n.reads(found)
		if next := n.machine.Look(found, n.now()); next == lease.MakeClaim {
			n.claiming = true
			n.in(n.world.draw(int64(time.Millisecond)), n.claim) // looking goes on
			if n.world.leavesNow() {
				n.retire()
			}
		} else {
			n.carry(next)
		}
		done()
	})
}

// reads has the check know what was read, unless it is older than what was known.
func (n *candidate) reads(r lease.Record) {
	if r.Term < n.machine.Term {
		return
	}
	if r.Term != n.read.Term || r.Renewals != n.read.Renewals {
		n.still = n.now()
	}
	n.read, n.stoodStill = r, n.now()-n.still
}

// claim tries to take the lease, unless it has come to leave before it gets to it.
func (n *candidate) claim() {
	claim, ok := n.machine.Claim(n.now())
	if !ok {
		n.claiming = false
		n.world.met(LeftBefore)
		n.ends()
		return
	}
	won := false
	n.send(acquires, func(ctx context.Context) (err error) {
		won, err = n.world.database.store.Acquire(ctx, claim)
		return err
	}, func(answered bool) {
		n.claiming = false
		next := n.machine.Claimed(answered && won, n.now())
		n.world.claimed(n, answered, won, next)
		n.carry(next)
		if next != lease.GiveBack {
			n.ends()
		}
	})
}

// pauses waits until it renews again.
func (n *candidate) pauses() {
	n.after(min(n.everything-n.now(), n.within(n.options.timing.RenewWithin(false))), n.renews)
}

// renews renews again and again: when everything is due, and sooner if there was no answer.
func (n *candidate) renews() {
	all := n.now() >= n.everything
	if all {
		n.everything = n.now() + n.within(n.options.timing.RenewWithin(true))
	}
	n.pauses() // for no answer
	held, ok := n.machine.Renew(all, n.now())
	if !ok {
		return
	}
	l := n.lease
	var kept []string
	n.send(renews, func(ctx context.Context) (err error) {
		kept, err = n.world.database.store.Renew(ctx, n.id, []lease.Held{held})
		return err
	}, func(answered bool) {
		if !answered {
			n.world.met(Unanswered)
			n.machine.Unanswered(held.Term)
			return
		}
		next := n.machine.Renewed(held.Term, len(kept) > 0)
		if next == lease.ExtendLease {
			n.world.extends(n, l)
			l.Extend(n.machine.Until(), n.now())
		} else {
			n.world.met(TakenAway)
			n.carry(next)
		}
	})
}

// carry does what comes next.
func (n *candidate) carry(next lease.Next) {
	switch next {
	case lease.TakeOffice:
		n.open()
	case lease.LeaveOffice:
		n.leaves()
	case lease.GiveBack:
		n.release(0, func() {})
	case lease.Distrust:
		n.world.met(Distrusted)
	case lease.Nothing, lease.MakeClaim, lease.ExtendLease:
	}
}

// open takes office.
func (n *candidate) open() {
	w := n.world
	w.opened(n)
	n.lease, n.serves, n.leading, n.contextLives = office.NewLease(n.machine.Term, n.machine.Until()), n.machine.Term, true, true
	w.took(n)
	n.runsOut(n.lease)
}

// runsOut waits for the end of a lease, as office.Lease.RunsOut does.
func (n *candidate) runsOut(l *office.Lease) {
	n.after(l.Until()-n.now(), func() {
		switch {
		case n.lease != l:
		case n.now() < l.Until():
			n.runsOut(l)
		default:
			n.world.met(RanOut)
			n.carry(n.machine.Leave(l.Term))
		}
	})
}

// leaves closes the office; Lead returns some time after that.
func (n *candidate) leaves() {
	n.world.tell("%s leaves office", n.id)
	n.lease, n.contextLives = nil, false
	takes, number := n.world.draw(int64(10*time.Millisecond)), n.serves
	if n.world.chance(SlowLead) {
		takes = n.world.between(0, 2*ttl)
	}
	n.in(takes, func() { n.returns(number) })
}

// returns has Lead return, and gives the lease back.
func (n *candidate) returns(term memberstate.Term) {
	if !n.leading || n.serves != term {
		return
	}
	n.leading, n.contextLives = false, false
	if next := n.machine.Returned(); next == lease.GiveBack {
		n.release(0, func() { n.machine.Released(n.now()) })
	}
	n.lease = nil
}

// release gives the lease back, and wakes the others. It tries again until the lease has run
// out.
func (n *candidate) release(tries int, then func()) {
	held, until := n.machine.Held(), n.machine.Until()
	n.send(releases, func(ctx context.Context) error {
		return n.world.database.store.Release(ctx, n.id, held)
	}, func(answered bool) {
		wait := n.within(n.options.timing.ReleaseWithin(tries))
		if !answered && n.now()+wait < until {
			n.after(wait, func() { n.release(tries+1, then) })
			return
		}
		switch {
		case !answered:
			n.world.met(NotReleased)
		case tries > 0:
			n.world.met(ReleasedLater)
			fallthrough
		default:
			n.world.rouse(n)
		}
		then()
		n.ends()
	})
}

// ends has a process that leaves end when it has nothing more to do.
func (n *candidate) ends() {
	if n.machine.Idle() {
		n.die()
		n.comesBack()
	}
}
