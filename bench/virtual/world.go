// Package virtual is a world in which no time passes but from one event to the next.
// It is the same for every library that runs in it: a message takes as long as it
// does, or gets lost, a save takes as long as it does, and each member has one alarm.
package virtual

import (
	"math"
	"math/rand/v2"
	"time"
)

// Member is a member of the group, with whatever library inside. M is its library's
// message.
type Member[M any] interface {
	// Start begins, after a crash too: only what is durable is known then.
	Start()
	// Stand has the member stand for election now.
	Stand()
	// Transfer has a leader hand over to another member.
	Transfer(to int)
	// Resign has a leader hand over to whom it thinks best.
	Resign()
	// Lost: the connection to another member has broken.
	Lost(peer int)
	// Receive takes a message, which is good until Receive returns.
	Receive(from int, m *M)
	// Ring is the member's alarm.
	Ring()
	// Saved is the end of a save that the world was told of.
	Saved()
}

// Observer is told what members do, so that something can be counted.
type Observer interface {
	// Beats: a leader sends its heartbeat.
	Beats(member int)
	// Asks: a member asks all others for their votes, or only whether it would
	// get them.
	Asks(member int, term uint64, preVote bool)
	// Knows: a member knows another leader than before, Nobody if none.
	Knows(member int, term uint64, leader int)
	// Pauses: a leader takes no more writes, for it hands over.
	Pauses(member int)
}

// Nobody is no member.
const Nobody = -1

// never is when an alarm rings that is not set.
const never = time.Duration(math.MaxInt64)

// World holds the members of one group, and what is on its way between them.
type World[M any] struct {
	// Delay is what every message takes, Loss the share of them that is lost, and
	// Save what every save takes.
	Delay time.Duration
	Loss  float64
	Save  time.Duration
	// Random is where everything comes from that is drawn.
	Random *rand.Rand
	// Observer is told.
	Observer Observer
	// Err is set by a member that cannot go on. Nothing happens any more then.
	Err error
	// Events counts deliveries and rings, Messages what was sent.
	Events, Messages int

	now     time.Duration
	members []Member[M]
	dead    []bool
	alarms  []time.Duration // when each member's alarm rings
	disks   []disk
	flying  queue[M]
	current M // what is being received
}

// Found puts the members in place. Nobody has started yet.
func (w *World[M]) Found(members []Member[M]) {
	w.members = members
	w.dead = make([]bool, len(members))
	w.alarms = make([]time.Duration, len(members))
	w.disks = make([]disk, len(members))
	for i := range members {
		w.Kill(i)
	}
}

// Now is the time since the world began.
func (w *World[M]) Now() time.Duration { return w.now }

// Dead says whether a member is dead.
func (w *World[M]) Dead(member int) bool { return w.dead[member] }

// Kill silences a member: it hears, says and does nothing any more. What it has sent
// arrives; what it was saving is lost.
func (w *World[M]) Kill(member int) {
	w.dead[member], w.alarms[member], w.disks[member] = true, never, disk{}
}

// Break kills a member whose connections break with it: who is alive is told so, a
// message's delay later, and after all that the member has sent.
func (w *World[M]) Break(member int) {
	w.Kill(member)
	for other, dead := range w.dead {
		if !dead {
			w.flying.put(w.now+w.Delay, member, other, nil)
		}
	}
}

// Start begins a member's life, or another one.
func (w *World[M]) Start(member int) {
	w.dead[member] = false
	w.members[member].Start()
}

// Stand has a member stand now.
func (w *World[M]) Stand(member int) { w.when(member, w.members[member].Stand) }

// Transfer has a leader hand over to another member, from now on.
func (w *World[M]) Transfer(from, to int) { w.when(from, func() { w.members[from].Transfer(to) }) }

// Resign has a leader hand over to whom it thinks best, from now on.
func (w *World[M]) Resign(member int) { w.when(member, w.members[member].Resign) }

// Send puts a message on its way, unless it gets lost.
func (w *World[M]) Send(from, to int, m *M) {
	w.Messages++
	if w.Loss > 0 && w.Random.Float64() < w.Loss {
		return
	}
	w.flying.put(w.now+w.Delay, from, to, m)
}

// Arm sets the member's alarm, in place of the one that was set.
func (w *World[M]) Arm(member int, after time.Duration) { w.alarms[member] = w.now + after }

// Step lets the next thing happen. What arrives comes before what rings at the same
// time. It is false when nothing will ever happen again.
func (w *World[M]) Step() bool { return w.step(never - 1) }

// Until lets everything happen that does until then.
func (w *World[M]) Until(then time.Duration) {
	for w.step(then) {
		continue
	}
	w.now = max(w.now, then)
}

// step lets the next thing happen that does until a time.
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

// arrive delivers a message, or that there will be no more, to who is there to hear it.
func (w *World[M]) arrive(p *parcel[M]) {
	from, to, broken := p.from, p.to, p.broken
	w.current = p.message // what is sent in answer may take its place
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

// first is the alarm that rings first.
func (w *World[M]) first() (who int, due time.Duration) {
	due = never
	for i, at := range w.alarms {
		if at < due {
			who, due = i, at
		}
	}
	return who, due
}
