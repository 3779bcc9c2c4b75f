// A candidate: a process with the shipped keeper, a clock, one alarm, and a service that leads.

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
	asleep    time.Duration // what its clock shows while the machine sleeps; 0: it is awake
	behind    int64         // until then it does what it has missed
	cut, deaf bool          // nothing reaches the database, or nothing comes back
	far       time.Duration // how much longer everything takes
	service   service

	stoodStill int64 // when the process last did
	again      afflicted
	cuts       int // how often it was cut off
	stops      int // how often it has begun to stand still

	// The keeper, and what drives it.
	id        string
	keeper    *protocol.Keeper
	next      time.Duration // when it is to be called
	alarm     uint64        // counts the alarms that were set
	rings     time.Duration // when the latest rings; Never: it has rung
	listening uint64        // the number of the Listen under way; 0: there is none
	unheard   time.Duration // when the last Listen failed; 0: none has since it began to listen
	deafened  time.Duration // the same, unless it stood still since
	looking   uint64        // the number of the last read
	lookOver  time.Duration // when it was answered, or is waited for no longer
	leaving   bool          // it ends once it has left all its leases
	seats     []seat        // by lease
	sent      [protocol.Listen + 1]uint64
}

// seat is the part of a candidate in the election of one lease.
type seat struct {
	in       bool          // it takes part
	retired  bool          // it is about to leave the election
	lease    *office.Lease // nil: it holds none
	term     memberstate.Term
	leading  bool // Lead has not returned
	context  bool // the context of Lead has not ended
	claiming int  // claims under way
	late     int  // claims that were answered too late, since one was not
	tries    int  // releases that were sent since Lead returned
	held     bool // Lead returns when the service hangs no more

	asking     bool // the service was asked for its health
	vouched    bool // it has vouched for itself before it hung
	unanswered bool // it answers when it hangs no more
	ordered    bool // an operator has ordered the candidate not to lead
	inability  protocol.Inability
	led        bool          // it is shown as the leader
	free       time.Duration // since when it has read the lease as free
	rarely     rarely
	failed     int           // how often it was shown as not able, without orders
	recovering time.Duration // since when it is not any more

	// For the checks.
	read       lease.Record  // the last that was read
	looked     time.Duration // when
	stoodStill time.Duration // by its clock, up to the last read
	still      time.Duration // since when it stands still
	found      bool          // the lease was free, and it has not claimed it since
	shown      memberstate.Term
	over       *office.Lease // the last lease that was seen to have run out
	asked      time.Duration // when it last asked for the lease, or a renewal
	stands     time.Duration // it stands back until then
	inOffice   bool          // Lead was called, and the office is not over
	awaited    awaited
}

// manner is the settings of a candidate.
type manner struct {
	timing           lease.Timing
	strict, observer bool
	limits           protocol.Limits
}

// identity is how the database names an incarnation.
func identity(index, number int) string { return fmt.Sprintf("n%d#%d", index, number) }

// self is its readable name.
func (n *candidate) self() string { return fmt.Sprintf("n%d", n.index) }

func (n *candidate) now() time.Duration {
	if n.asleep != 0 {
		return n.asleep
	}
	return n.clock.reading(n.world.now)
}

// valid says whether it holds a lease, as its service sees it.
func (n *candidate) valid(of int) bool {
	l := n.seats[of].lease
	return n.alive && l != nil && n.now() < l.Until()
}

// awake says that it neither stands still nor still does what it has missed.
func (n *candidate) awake() bool { return !n.paused && n.world.now > n.behind }

// in schedules something for the process after some true time.
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
	n.alive, n.leaving, n.id, n.service = true, false, identity(n.index, n.number), service{}
	n.keeper = protocol.NewKeeper(protocol.Rules{
		ID: n.id, Self: n.self(), Strict: n.options.strict, Wakes: n.world.waking, Timing: n.options.timing, Limits: n.options.limits,
	})
	n.next, n.rings, n.listening, n.sent = protocol.Never, protocol.Never, 0, [len(n.sent)]uint64{}
	n.unheard, n.deafened, n.looking, n.lookOver, n.again = 0, 0, 0, 0, afflicted{}
	clear(n.seats)
	n.world.tell("%s starts", n.id)
	for i := range n.seats {
		n.enter(i)
	}
}

// enter has it take part in the election of a lease, unless it already does, or is about to end.
func (n *candidate) enter(of int) {
	if !n.seats[of].in && !n.leaving {
		n.seats[of] = seat{in: true, looked: n.now()}
		n.step(protocol.Enter{Name: names[of], Observer: n.options.observer, Vouch: n.world.mustVouch()})
	}
}

// startIf begins an incarnation, unless it has begun, because healing starts candidates early.
func (n *candidate) startIf(number int) func() {
	return func() {
		if n.number == number {
			n.start()
		}
	}
}

// die ends the incarnation, with all that was scheduled for it.
func (n *candidate) die() {
	n.world.tell("%s dies", n.id)
	n.number++ // events of the old incarnation are dropped
	n.alive, n.paused, n.asleep, n.listening = false, false, 0, 0
	clear(n.seats)
}

// step tells the keeper what has happened, and sets the alarm for its next call.
func (n *candidate) step(in protocol.Input) {
	n.next = n.keeper.Step(n.now(), in, n)
	if _, tick := in.(protocol.Tick); tick {
		n.world.often(Cadence, n.next > n.now(), func() string { return n.id + " wants to be called again at once, for ever" })
	}
	if !n.ends() {
		n.arm()
	}
}

// ends ends a process that leaves, once it has nothing more to do.
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

// ended says that it takes part in no election any more.
func (n *candidate) ended() bool {
	for i := range n.seats {
		if n.seats[i].in {
			return false
		}
	}
	return true
}

// leave ends it in good order.
func (n *candidate) leave() {
	n.leaving = true
	for i := range n.seats {
		n.retire(i)
	}
	n.ends()
}

// retire has it leave the election of a lease.
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
	s.awaited.vacancy = n.now()
	n.step(protocol.Returned{Name: names[of]})
	if n.number == number {
		n.holdsNothing(of, "has returned from Lead")
	}
}

// holdsNothing checks that it has left an office at once.
func (n *candidate) holdsNothing(of int, what string) {
	s := &n.seats[of]
	n.world.holds(LeadEnds, s.lease == nil && !s.context, "%s %s while it still holds %s", n.id, what, names[of])
}

// claiming counts its claims under way.
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
