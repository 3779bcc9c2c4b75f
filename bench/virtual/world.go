// Package virtual is a world in virtual time, which jumps from one event to the next. It is the
// same for all libraries: messages have one delay and can be lost, saves have one duration, and
// each member has one alarm. It is not the world of package simulation, because that one drives this
// library's nodes and judges them by their inside; here etcd's members must live, too, in the same
// conditions.
package virtual

import (
	"math"
	"math/rand/v2"
	"time"
)

// Member is a member of the group, of one of the libraries. M is the library's message.
type Member[M any] interface {
	// Start starts the member; after a crash it only knows its durable state.
	Start()
	// Stand makes the member stand for election now.
	Stand()
	// Transfer makes a leader hand over to another member.
	Transfer(to int)
	// Resign makes a leader hand over to a member of its choice.
	Resign()
	// Lost says that the connection to another member has broken.
	Lost(peer int)
	// Receive handles a message, which is valid until Receive returns.
	Receive(from int, m *M)
	// Ring handles the member's alarm.
	Ring()
	// Saved says that a save has ended.
	Saved()
}

// Observer is called when members do certain things.
type Observer interface {
	// Beats says that a leader sends its heartbeat.
	Beats(member int)
	// Asks says that a member asks all others for their votes or pre-votes.
	Asks(member int, term uint64, preVote bool)
	// Knows says that a member knows another leader than before, or Nobody.
	Knows(member int, term uint64, leader int)
	// Pauses says that a leader takes no more writes, because it hands over.
	Pauses(member int)
}

// Nobody is no member.
const Nobody = -1

// never is the time of an alarm that is not set.
const never = time.Duration(math.MaxInt64)

// World holds the members of one group, and the messages in flight.
type World[M any] struct {
	// Delay is the delay of every message, Loss the share of messages that is lost, and
	// Save the duration of every save.
	Delay time.Duration
	Loss  float64
	Save  time.Duration
	// Random is the source of everything random.
	Random *rand.Rand
	// Observer must not be nil.
	Observer Observer
	// Err is set by a member that cannot go on. It ends the world.
	Err error
	// Events counts deliveries and rings, Messages the sent messages.
	Events, Messages int

	now     time.Duration
	members []Member[M]
	dead    []bool
	alarms  []time.Duration // the time of each member's alarm
	disks   []disk
	flying  queue[M]
	current M // the message being received
}

// Found sets the members, none of which has started yet.
func (w *World[M]) Found(members []Member[M]) {
	w.members = members
	w.dead = make([]bool, len(members))
	w.alarms = make([]time.Duration, len(members))
	w.disks = make([]disk, len(members))
	for i := range members {
		w.Kill(i)
	}
}

// Now returns the time since the world began.
func (w *World[M]) Now() time.Duration { return w.now }

// Dead reports whether a member is dead.
func (w *World[M]) Dead(member int) bool { return w.dead[member] }

// Kill kills a member silently. Messages that it has sent still arrive; a save under way is lost.
func (w *World[M]) Kill(member int) {
	w.dead[member], w.alarms[member], w.disks[member] = true, never, disk{}
}

// Break kills a member and breaks its connections: the living members learn that after a
// message's delay, and after all messages of the member.
func (w *World[M]) Break(member int) {
	w.Kill(member)
	for other, dead := range w.dead {
		if !dead {
			w.flying.put(w.now+w.Delay, member, other, nil)
		}
	}
}

// Start starts or restarts a member.
func (w *World[M]) Start(member int) {
	w.dead[member] = false
	w.members[member].Start()
}

// Stand makes a member stand for election now.
func (w *World[M]) Stand(member int) { w.when(member, w.members[member].Stand) }

// Transfer orders a leader to hand over to another member.
func (w *World[M]) Transfer(from, to int) { w.when(from, func() { w.members[from].Transfer(to) }) }

// Resign orders a leader to hand over to a member of its choice.
func (w *World[M]) Resign(member int) { w.when(member, w.members[member].Resign) }

// Send sends a message, unless it gets lost.
func (w *World[M]) Send(from, to int, m *M) {
	w.Messages++
	if w.Loss > 0 && w.Random.Float64() < w.Loss {
		return
	}
	w.flying.put(w.now+w.Delay, from, to, m)
}

// Arm sets the member's alarm, and replaces an earlier one.
func (w *World[M]) Arm(member int, after time.Duration) { w.alarms[member] = w.now + after }

// Step runs the next event. Arrivals come before alarms of the same time. It returns false when
// there are no more events.
func (w *World[M]) Step() bool { return w.step(never - 1) }

// Until runs all events up to a time.
func (w *World[M]) Until(then time.Duration) {
	for w.step(then) {
		continue
	}
	w.now = max(w.now, then)
}

// step runs the next event up to a time.
func (w *World[M]) step(until time.Duration) bool {
	who, due := w.first()
	p := w.flying.first()
	arrives := p != nil && p.at <= due
	if arrives {
		due = p.at
	}
	if due > until || w.Err != nil {
		return false
	}
	w.now = max(w.now, due) // an alarm may have had to wait for the disk
	switch {
	case arrives:
		w.arrive(p)
	case w.busy(who):
		w.saved(who)
	default:
		w.alarms[who] = never
		w.Events++
		w.members[who].Ring()
	}
	return true
}

// arrive delivers a message, or the end of a connection, to a living member.
func (w *World[M]) arrive(p *parcel[M]) {
	from, to, broken := p.from, p.to, p.broken
	w.current = p.message // a copy, because an answer may take its place in the queue
	w.flying.drop()
	if w.dead[to] {
		return
	}
	w.Events++
	switch {
	case broken:
		w.when(to, func() { w.members[to].Lost(from) })
	case w.busy(to):
		m := w.current
		w.when(to, func() { w.members[to].Receive(from, &m) })
	default:
		w.members[to].Receive(from, &w.current)
	}
}

// first returns the next alarm.
func (w *World[M]) first() (who int, due time.Duration) {
	due = never
	for i, at := range w.alarms {
		if at < due {
			who, due = i, at
		}
	}
	return who, due
}
