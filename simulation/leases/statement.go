// The way of a statement to the database and back. For its sender it ends once: with an
// answer, with an error, or when its time is up and its driver returns.

package leases

import (
	"context"
	"errors"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/protocol"
)

// statement is one that is under way.
type statement struct {
	from     *candidate
	number   int // of the incarnation that sent it
	call     *protocol.Call
	touches  []int         // the leases that it concerns
	deadline time.Duration // by the clock of its sender
	cuts     int           // how often its sender had been cut off before
	ended    bool
}

var errBroken = errors.New("the connection is broken")

// send sends a statement. Its driver returns when its time is up, or hangs.
func (n *candidate) send(c *protocol.Call, touches []int) {
	w := n.world
	s := &statement{from: n, number: n.number, call: c, touches: touches, deadline: n.now() + c.Timeout, cuts: n.cuts}
	n.after(c.Timeout, func() {
		if !s.ended && s.chance(Hang) {
			w.hung = append(w.hung, s)
			n.in(w.between(0, 3*ttl), s.fails)
			return
		}
		s.fails()
	})
	if n.cut || s.chance(LostQuestion) {
		w.tell("%s %s: the question is lost", n.id, does[c.Kind])
		s.refused()
		return
	}
	if s.chance(Late) {
		s.executeIn(w.between(0, 2*ttl))
		s.refused()
		return
	}
	if s.chance(Twice) {
		s.executeIn(int64(n.delay()) + w.between(0, 2*ttl>>w.draw(12)))
	}
	s.executeIn(int64(n.delay()))
}

// touched are the leases that a call concerns.
func touched(c *protocol.Call) []int {
	switch c.Kind {
	case protocol.Read, protocol.Wake:
		return numbers(c.Names, func(name string) string { return name })
	case protocol.Acquire:
		return alone[lookUp(c.Claim.Name)]
	case protocol.Renew, protocol.Release:
		return numbers(c.Held, func(h lease.Held) string { return h.Name })
	case protocol.Listen:
	}
	return nil
}

// alone has each lease by itself.
var alone = [maxLeases][]int{{0}, {1}, {2}, {3}}

// numbers are the numbers of some leases.
func numbers[T any](of []T, name func(T) string) []int {
	if len(of) == 1 {
		return alone[lookUp(name(of[0]))]
	}
	all := make([]int, len(of))
	for i := range of {
		all[i] = lookUp(name(of[i]))
	}
	return all
}

// refused reports an error to the sender soon, or not at all.
func (s *statement) refused() {
	if s.from.world.draw(2) == 0 {
		s.from.in(int64(s.from.delay()), s.fails)
	}
}

func (s *statement) fails() { s.end(&protocol.Answer{Err: errBroken}) }

// end gives the sender the result. Its driver ignores a result that comes too late.
func (s *statement) end(a *protocol.Answer) {
	n := s.from
	if s.ended || s.number != n.number {
		return
	}
	s.ended = true
	if s.call.Kind == protocol.Read && n.now() >= s.deadline {
		a = &protocol.Answer{Err: errBroken}
	}
	if a.Err != nil {
		n.world.tell("%s %s: %v", n.id, does[s.call.Kind], a.Err)
	}
	a.Number = s.call.Number
	n.told(s, a)
}

// executeIn has the statement arrive and be carried out, even if its sender has died.
func (s *statement) executeIn(wait int64) {
	w := s.from.world
	w.at(w.now+wait, w.connected(func() {
		w.at(max(w.now, w.database.stalled), w.connected(s.arrived))
	}))
}

// connected does something later if no connection has broken by then.
func (w *world) connected(do func()) func() {
	generation := w.generation
	return func() {
		if generation == w.generation {
			do()
		}
	}
}

// arrived answers a read. A write locks the records when it is its turn, reads the clock, and commits
// some time later. In a database that reads the clock before it locks, another statement that reads
// the clock later may overtake this one. A renewal leaves out records that somebody else has locked;
// the other statements wait.
func (s *statement) arrived() {
	w := s.from.world
	d := &w.database
	if s.call.Kind == protocol.Read {
		s.execute(w.now, s.touches)
		return
	}
	free, wait := make([]int, 0, len(s.touches)), int64(0)
	for _, i := range s.touches {
		if s.call.Kind == protocol.Renew && d.kept[i] > w.now {
			continue
		}
		free, wait = append(free, i), max(wait, d.locked[i], d.kept[i])
	}
	early := w.enabled.Has(EarlyLook)
	if wait > w.now && !early {
		w.at(wait, w.connected(s.arrived))
		return
	}
	takes := w.draw(int64(time.Millisecond))
	if w.chance(SlowCommit) {
		takes = w.between(0, 2*ttl>>w.draw(24))
	}
	looked := w.now
	for _, i := range free {
		d.locked[i] = looked + takes
	}
	w.at(looked+takes, w.connected(func() { s.execute(looked, free) }))
}

// execute carries out the statement for some leases, and sends the answer.
func (s *statement) execute(looked int64, leases []int) {
	w, n := s.from.world, s.from
	if s.chance(StatementFails) {
		s.answer(&protocol.Answer{Err: errBroken})
		return
	}
	var a *protocol.Answer
	w.execute(looked, s.call.Kind, leases, func(ctx context.Context) { a = s.do(ctx, leases) })
	if s.call.Kind != protocol.Read && w.options.Tell != nil {
		w.tell("%s %s: done; %s", n.id, does[s.call.Kind], w.database.describe(s.touches))
	}
	if s.chance(LostAnswer) {
		w.tell("%s %s: the answer is lost", n.id, does[s.call.Kind])
		s.refused()
		return
	}
	s.answer(a)
}

// do is what the statement does in the store.
func (s *statement) do(ctx context.Context, leases []int) *protocol.Answer {
	w, c, a := s.from.world, s.call, new(protocol.Answer)
	store := &w.database.store
	switch c.Kind {
	case protocol.Read:
		a.Records = w.find(c.Names, leases)
	case protocol.Acquire:
		a.Won, a.Err = store.Acquire(ctx, c.Claim)
	case protocol.Renew:
		held := make([]lease.Held, 0, len(leases))
		var locked []string
		for i, of := range s.touches {
			if len(held) < len(leases) && leases[len(held)] == of {
				held = append(held, c.Held[i])
			} else {
				locked = append(locked, names[of])
			}
		}
		a.Kept, a.Err = store.Renew(ctx, s.holder(), held)
		if len(locked) > 0 {
			a.Err = &lease.LockedError{Names: locked}
		}
	case protocol.Release:
		a.Err = store.Release(ctx, s.holder(), c.Held[0])
	case protocol.Wake, protocol.Listen: // they do not reach the database
	}
	return a
}

// holder is the identity of its sender when it was sent.
func (s *statement) holder() string { return identity(s.from.index, s.number) }

// answer reports to the sender, if it lives and can be reached then.
func (s *statement) answer(a *protocol.Answer) {
	n := s.from
	if n.number != s.number || n.deaf {
		return
	}
	n.in(int64(n.delay()), func() {
		if !n.deaf {
			s.end(a)
		}
	})
}
