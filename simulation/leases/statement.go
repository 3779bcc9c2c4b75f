// The way of a statement to the database and back. It ends once for its sender: with an
// answer, with an error, or when its time is up; what comes later nobody looks at.

package leases

import (
	"context"
	"time"
)

// statement is one that is under way.
type statement struct {
	from   *candidate
	number int // of the incarnation that sent it
	what   string
	do     func(context.Context) error
	done   func(answered bool)
	ended  bool
}

// send sends a statement, and has done called once, unless the process ends before.
func (n *candidate) send(what string, do func(context.Context) error, done func(answered bool)) {
	w := n.world
	w.sending(n, what)
	s := &statement{n, n.number, what, do, done, false}
	n.after(n.options.timing.Timeout, func() { s.end(false) })
	if n.cut || w.chance(LostQuestion) {
		w.tell("%s %s: the question is lost", n.id, what)
		s.refused()
		return
	}
	if w.chance(Late) {
		s.executeIn(w.between(0, 2*ttl))
		s.refused()
		return
	}
	if w.chance(Twice) {
		s.executeIn(int64(n.delay()) + w.between(0, 2*ttl>>w.draw(12)))
	}
	s.executeIn(int64(n.delay()))
}

// refused has the sender told soon, or not at all.
func (s *statement) refused() {
	if s.from.world.draw(2) == 0 {
		s.from.in(int64(s.from.delay()), func() { s.end(false) })
	}
}

// end tells the sender what came of it.
func (s *statement) end(answered bool) {
	if !s.ended && s.number == s.from.number {
		s.ended = true
		if !answered {
			s.from.world.tell("%s %s: no answer", s.from.id, s.what)
		}
		s.done(answered)
	}
}

// executeIn has the statement arrive and be carried out. It goes on if its sender has
// died.
func (s *statement) executeIn(wait int64) {
	w := s.from.world
	w.at(w.now+wait, w.connected(func() {
		w.at(max(w.now, w.database.stalled), w.connected(s.arrived))
	}))
}

// connected has something done if no connection has broken by then.
func (w *world) connected(do func()) func() {
	generation := w.generation
	return func() {
		if generation == w.generation {
			do()
		}
	}
}

// arrived has a read answered, and a write take the record for itself when it is its
// turn, look at the clock, and commit some time later. A database that looks at the
// clock before lets a statement be overtaken by one that looks later.
func (s *statement) arrived() {
	w := s.from.world
	d := &w.database
	if s.what == reads {
		s.execute(w.now)
		return
	}
	early := w.enabled.Has(EarlyLook)
	if d.locked > w.now && !early {
		w.at(d.locked, w.connected(s.arrived))
		return
	}
	takes := w.draw(int64(time.Millisecond))
	if w.chance(SlowCommit) {
		takes = w.between(0, 2*ttl>>w.draw(24))
	}
	looked := w.now
	d.locked = looked + takes
	w.at(d.locked, w.connected(func() { s.execute(looked) }))
}

// execute carries the statement out, and sends the answer.
func (s *statement) execute(looked int64) {
	w, n := s.from.world, s.from
	if w.chance(Fails) {
		w.tell("%s %s: an error", n.id, s.what)
		s.answer(false)
		return
	}
	ok := w.execute(looked, s.what, s.do)
	if s.what != reads && w.options.Tell != nil {
		w.tell("%s %s: done; %s", n.id, s.what, w.database.describe())
	}
	if w.chance(LostAnswer) {
		w.tell("%s %s: the answer is lost", n.id, s.what)
		s.refused()
		return
	}
	s.answer(ok)
}

// answer has the sender told, if it lives and can be reached then.
func (s *statement) answer(ok bool) {
	n := s.from
	if n.number != s.number || n.deaf {
		return
	}
	n.in(int64(n.delay()), func() {
		if !n.deaf {
			s.end(ok)
		}
	})
}
