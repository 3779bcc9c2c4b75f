// The world does what a keeper asks for.

package leases

import (
	"time"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

var _ protocol.Effects = (*candidate)(nil)

// Call sends a statement, wakes others, or listens.
func (n *candidate) Call(c *protocol.Call) {
	w := n.world
	n.sent[c.Kind]++
	touches := touched(c)
	w.sending(n, c, touches)
	switch c.Kind {
	case protocol.Read:
		n.looking, n.lookOver = c.Number, n.now()+c.Timeout
		n.send(c, touches)
	case protocol.Wake:
		w.rouse(n, lookUp(c.Names[0]))
		n.in(int64(n.delay()), func() { n.step(&protocol.Answer{Number: c.Number, Err: n.unreachable()}) })
	case protocol.Listen:
		n.listening = c.Number
		n.listens()
		w.holds(Cadence, n.unheard == 0 || n.now() >= n.unheard+n.options.timing.Poll, "%s listens again only %v after it failed to", n.id, n.now()-n.unheard)
		if n.cut {
			n.deafen()
		}
	case protocol.Acquire:
		n.send(c, touches)
		if w.leavesNow() {
			n.in(w.draw(int64(time.Millisecond)), n.leave) // its claim may still win
		}
	default:
		n.send(c, touches)
	}
}

// unreachable is an error if the database cannot be reached.
func (n *candidate) unreachable() error {
	if n.cut || n.deaf {
		return errBroken
	}
	return nil
}

// deafen ends the Listen that is under way.
func (n *candidate) deafen() {
	if number := n.listening; n.alive && number != 0 {
		n.listening = 0
		n.in(int64(n.delay()), func() {
			n.unheard = n.now()
			if n.ended() {
				n.unheard = 0 // it had to end
			}
			n.deafened = n.unheard
			n.step(&protocol.Answer{Number: number, Err: errBroken})
		})
	}
}

// Hold holds a lease for the service.
func (n *candidate) Hold(name string, term memberstate.Term, until time.Duration) {
	s := &n.seats[lookUp(name)]
	if s.lease != nil && s.lease.Term == term {
		s.lease.Extend(until, n.now())
		return
	}
	s.lease, s.term = office.NewLease(term, until), term
}

// Withdraw ends the lease and Lead's context. Lead returns some time after that.
func (n *candidate) Withdraw(name string, term memberstate.Term) {
	w, of := n.world, lookUp(name)
	w.tell("%s leaves office of %s", n.id, name)
	n.seats[of].lease, n.seats[of].context = nil, false
	takes := w.draw(int64(10 * time.Millisecond))
	if w.chance(SlowLead) {
		takes = w.between(0, 2*ttl)
		n.service.fails++
	}
	n.in(takes, func() {
		if n.seats[of].term == term {
			n.leadReturns(of)
		}
	})
}

// Publish has the checks look at the state that is shown.
func (n *candidate) Publish(name string, v protocol.View) {
	w, s := n.world, &n.seats[lookUp(name)]
	w.holds(TermsGrow, v.Term >= s.shown, "%s knew of term %d of %s, but continues from term %d", n.id, s.shown, name, v.Term)
	s.shown = v.Term
	n.shows(lookUp(name), &v)
	if v.Role == memberstate.Leader {
		w.holds(StaysOver, n.valid(lookUp(name)) && s.lease.Term == v.Term, "%s is shown as the leader of %s in term %d without a lease", n.id, name, v.Term)
	}
}

// Lead has the service lead.
func (n *candidate) Lead(name string, term memberstate.Term) {
	w, of := n.world, lookUp(name)
	w.opened(n, of, term)
	s := &n.seats[of]
	s.leading, s.context, s.tries, s.inOffice = true, true, 0, true
	w.took(n, of)
}

// Vacate checks that the lease was released, or that the candidate tried for long enough.
func (n *candidate) Vacate(name string, term memberstate.Term, err error) {
	w, of := n.world, lookUp(name)
	s, t := &n.seats[of], n.options.timing
	w.holds(ReleasedAfter, !s.leading && s.lease == nil, "the office of %s in term %d ended while its Lead runs", n.id, term)
	if err != nil {
		w.met(NotReleased)
		end := s.asked + t.TTL - t.DriftMargin
		w.holds(GivesBack, n.now()+t.Renew/4 >= end, "%s gives up releasing %s in term %d, which it may hold for another %v", n.id, name, term, end-n.now())
	} else if s.tries > 1 {
		w.met(ReleasedLater)
		if s.tries > 2 {
			w.met(FailedTwice)
		}
	}
	n.vacates(of)
	s.tries, s.stands = 0, n.now()+2*t.Poll
}

// Tell counts reports.
func (n *candidate) Tell(note protocol.Note) {
	switch note.Topic {
	case protocol.RanOut:
		n.world.met(LeaseRanOut)
		n.world.lost(n, lookUp(note.Name), note.Topic)
	case protocol.TakenAway:
		n.world.met(LeaseTaken)
		n.world.lost(n, lookUp(note.Name), note.Topic)
	case protocol.Forgotten:
		n.world.met(Distrusted)
	case protocol.Fails, protocol.Works, protocol.ReturnedEarly, protocol.NotAble:
	}
}

// End checks that everything has ended. A candidate that has left one lease comes back to it.
func (n *candidate) End(name string) {
	w, of := n.world, lookUp(name)
	s := &n.seats[of]
	w.holds(ReleasedAfter, !s.leading && s.lease == nil && s.retired && !s.asking, "%s left %s while its Lead or Healthy runs", n.id, name)
	s.in, s.retired = false, false
	if n.ended() {
		n.deafen()
		n.unheard, n.deafened = 0, 0
	}
	if !n.leaving {
		n.in(w.absence(), func() { n.enter(of) })
	}
}

// Draw draws evenly.
func (n *candidate) Draw(least, most time.Duration) time.Duration {
	return time.Duration(n.world.between(int64(least), int64(most)))
}
