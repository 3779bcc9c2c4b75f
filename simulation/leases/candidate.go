// A candidate: a process with the keeper that ships, a clock, one alarm, and a service that
// leads.

package leases

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/protocol"
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

	// The keeper, and what drives it.
	id        string
	keeper    *protocol.Keeper
	next      time.Duration // when it wants to be called
	alarm     uint64        // counts the alarms that were set
	rings     time.Duration // when the latest rings; Never: it has
	listening uint64        // the number of the Listen under way; 0: there is none
	unheard   time.Duration // when the last one failed; 0: none has since it began to listen
	leaving   bool          // it ends when all its leases have
	seats     []seat        // by lease
	sent      [protocol.Listen + 1]uint64
}

// seat is what a candidate has to do with one lease.
type seat struct {
	in       bool          // it takes part
	retired  bool          // and is about to end
	lease    *office.Lease // nil: it holds none
	term     memberstate.Term
	leading  bool // Lead has not returned
	context  bool // the context of Lead lives
	claiming int  // claims under way
	tries    int  // releases that were sent since Lead returned

	// What the check needs.
	read       lease.Record  // last
	looked     time.Duration // when
	stoodStill time.Duration // of its clock, up to the last read
	still      time.Duration // since when
	found      bool          // it was free, and has not been claimed since
	shown      memberstate.Term
	over       *office.Lease // the last that has been seen to have run out
	asked      time.Duration // when the lease, or a renewal, was asked for last
	stands     time.Duration // it stands back until then
}

// manner is how a candidate is set up.
type manner struct {
	timing           lease.Timing
	strict, observer bool
	limits           protocol.Limits
}

// identity is that of an incarnation in the database.
func identity(index, number int) string { return fmt.Sprintf("n%d#%d", index, number) }

// self is its readable name.
func (n *candidate) self() string { return fmt.Sprintf("n%d", n.index) }

func (n *candidate) now() time.Duration {
	if n.asleep != 0 {
		return n.asleep
	}
	return n.clock.reading(n.world.now)
}

// valid says whether it holds a lease, as a service would be told.
func (n *candidate) valid(of int) bool {
	l := n.seats[of].lease
	return n.alive && l != nil && n.now() < l.Until()
}

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
	n.alive, n.leaving, n.id = true, false, identity(n.index, n.number)
	n.keeper = protocol.NewKeeper(protocol.Rules{
		ID: n.id, Self: n.self(), Strict: n.options.strict, Wakes: n.world.waking, Timing: n.options.timing, Limits: n.options.limits,
	})
	n.next, n.rings, n.listening, n.unheard, n.sent = protocol.Never, protocol.Never, 0, 0, [len(n.sent)]uint64{}
	clear(n.seats)
	n.world.tell("%s starts", n.id)
	for i := range n.seats {
		n.enter(i)
	}
}

// enter has it take part in the election of a lease, unless it does, or is about to end.
func (n *candidate) enter(of int) {
	if !n.seats[of].in && !n.leaving {
		n.seats[of] = seat{in: true, looked: n.now()}
		n.step(protocol.Enter{Name: names[of], Observer: n.options.observer})
	}
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
	n.alive, n.paused, n.asleep, n.listening = false, false, 0, 0
	clear(n.seats)
}

// step tells the keeper what has happened, and sets the alarm for when it wants to be called.
func (n *candidate) step(in protocol.Input) {
	n.next = n.keeper.Step(n.now(), in, n)
	if _, tick := in.(protocol.Tick); tick {
		n.world.often(Cadence, n.next > n.now(), func() string { return n.id + " wants to be called again at once, for ever" })
	}
	if !n.ends() {
		n.arm()
	}
}

// ends has a process end that leaves, when it has nothing more to do.
func (n *candidate) ends() bool {
	over := n.leaving && n.alive && n.ended()
	if over {
		n.die()
		n.comesBack()
	}
	return over
}

// arm sets the alarm, unless one that was set before rings early enough: then it is set anew.
func (n *candidate) arm() {
	if n.next >= n.rings {
		return
	}
	n.rings = n.next
	n.alarm++
	alarm := n.alarm
	n.after(n.next-n.now(), func() {
		if alarm != n.alarm {
			return
		}
		n.rings = protocol.Never
		if n.now() < n.next {
			n.arm()
			return
		}
		n.step(protocol.Tick{})
	})
}

// ended says that it takes no part in any election any more.
func (n *candidate) ended() bool {
	for i := range n.seats {
		if n.seats[i].in {
			return false
		}
	}
	return true
}

// leave has it end in good order.
func (n *candidate) leave() {
	n.leaving = true
	for i := range n.seats {
		n.retire(i)
	}
	n.ends()
}

// retire has it take no part any more in the election of a lease.
func (n *candidate) retire(of int) {
	s, number := &n.seats[of], n.number
	if !s.in || s.retired {
		return
	}
	s.retired = true
	if s.found && n.claiming() >= n.options.limits.Calls[protocol.Acquire] {
		n.world.met(LeftBefore)
	}
	n.step(protocol.Retire{Name: names[of]})
	if n.number == number {
		n.holdsNothing(of, "retires")
	}
}

// resign has it give up a lease.
func (n *candidate) resign(of int) {
	n.step(protocol.Resign{Name: names[of]})
	n.holdsNothing(of, "resigns")
}

// returns has Lead return.
func (n *candidate) returns(of int, term memberstate.Term) {
	s, number := &n.seats[of], n.number
	if !s.leading || s.term != term {
		return
	}
	s.leading = false
	n.step(protocol.Returned{Name: names[of]})
	if n.number == number {
		n.holdsNothing(of, "has returned from Lead")
	}
}

// holdsNothing looks whether it has left an office at once.
func (n *candidate) holdsNothing(of int, what string) {
	s := &n.seats[of]
	n.world.holds(LeadEnds, s.lease == nil && !s.context, "%s %s, and holds %s still", n.id, what, names[of])
}

// claiming counts its claims that are under way.
func (n *candidate) claiming() (all int) {
	for i := range n.seats {
		all += n.seats[i].claiming
	}
	return all
}

// leads is a lease that it leads with, or -1.
func (n *candidate) leads() int {
	first := n.world.draw(int64(len(n.seats)))
	for i := range n.seats {
		if of := (int(first) + i) % len(n.seats); n.seats[of].leading {
			return of
		}
	}
	return -1
}
