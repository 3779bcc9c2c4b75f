// What must hold after every event.

package leases

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Invariant names what must hold. The package documentation explains each.
type Invariant uint8

// The invariants.
const (
	OneLease Invariant = iota
	TermsGrow
	OneHolder
	StaysOver
	Kept
	LeadEnds
	ReleasedAfter
	GivesBack
	StandsBack
	FollowersRead
	Cadence
	Converges
	TakenOver
	AbleLeads
	LedAnyway
	GivesUpRarely
	Recovers
	InTime
	GivenBack

	invariants
)

var invariantNames = [invariants]string{
	"one lease", "terms grow", "one holder a term", "stays over", "kept", "lead ends", "released after lead", "gives back", "stands back", "followers read", "cadence", "converges", "taken over",
	"able leads", "led all the same", "gives up rarely", "recovers", "in time", "given back",
}

// String names the invariant.
func (i Invariant) String() string {
	if i < invariants {
		return invariantNames[i]
	}
	return "unknown invariant"
}

// Invariants lists all there are.
func Invariants() []Invariant { return below[Invariant](invariants) }

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant Invariant
	At        time.Duration // true time
	What      string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%v violated at %v: %s", v.Invariant, v.At, v.What)
}

// checker remembers what the invariants need of the past.
type checker struct {
	counts    [invariants]uint64
	broken    [invariants]uint64
	excused   bool // an assumption was broken: nothing is demanded any more
	over      bool
	violation *Violation

	winners [maxLeases]map[memberstate.Term]string // the holder that the database gave each term
	led     [maxLeases]map[memberstate.Term]bool
}

func (c *checker) init() {
	for of := range c.winners {
		c.winners[of], c.led[of] = map[memberstate.Term]string{}, map[memberstate.Term]bool{}
	}
}

// holds notes that an invariant was checked, and ends the run if it does not hold.
func (w *world) holds(i Invariant, ok bool, format string, args ...any) {
	w.check.counts[i]++
	if !ok {
		w.broken(i, format, args...)
	}
}

// often is holds for frequent checks. The words are put together only if they are needed.
func (w *world) often(i Invariant, ok bool, words func() string) {
	w.check.counts[i]++
	if !ok {
		w.broken(i, "%s", words())
	}
}

// broken ends the run, because an invariant does not hold.
func (w *world) broken(i Invariant, format string, args ...any) {
	c := &w.check
	switch {
	case c.over:
		return
	case c.excused:
		c.broken[i]++
		c.over = i == OneLease // other broken invariants are its cause or its consequence
	default:
		c.over = true
		c.violation = &Violation{i, time.Duration(w.now), fmt.Sprintf(format, args...)}
		w.tell("%v", c.violation)
	}
}

// leasesHold checks that no two candidates have the same lease now.
func (w *world) leasesHold() {
	for of := range w.leases {
		var first *candidate
		for _, n := range w.candidates {
			if n.seats[of].lease == nil {
				continue
			}
			switch valid := w.staysOver(n, of); {
			case !valid:
			case first == nil:
				first = n
			default:
				a, b := first.seats[of].lease, n.seats[of].lease
				w.holds(OneLease, false, "%s has %s in term %d until %v of its clock, while %s has it in term %d until %v of its",
					first.id, names[of], a.Term, a.Until(), n.id, b.Term, b.Until())
			}
		}
	}
	w.check.counts[OneLease]++
}

// staysOver says whether a lease is valid. A lease that was seen to have run out must not become valid
// again, because somebody may have acted on that.
func (w *world) staysOver(n *candidate, of int) (valid bool) {
	s := &n.seats[of]
	valid = n.valid(of)
	switch {
	case !valid:
		s.over = s.lease
	case s.over == s.lease:
		w.holds(StaysOver, false, "%s has %s in term %d until %v although it had lost it", n.id, names[of], s.lease.Term, s.lease.Until())
	}
	w.check.counts[StaysOver]++
	return valid
}

// wrote checks what a statement has made of a record.
func (w *world) wrote(of int, before, after *lease.Record, what protocol.Kind) {
	switch acquired := after.Holder != "" && after.Holder != before.Holder || after.Term > before.Term && what == protocol.Acquire; {
	case acquired:
		w.holds(TermsGrow, after.Term == before.Term+1, "%s was acquired after %d, by %s", termed(after), before.Term, after.Holder)
		w.acquired(of, after)
	case what == forces:
		w.holds(TermsGrow, after.Term == before.Term+1, "%s was forced after %d", termed(after), before.Term)
	default:
		w.holds(TermsGrow, after.Term == before.Term, "%s was %d before a statement that %s", termed(after), before.Term, does[what])
	}
}

func termed(r *lease.Record) string { return fmt.Sprintf("term %d of %s", r.Term, r.Name) }

// acquired checks the previous holders of a lease that was acquired.
func (w *world) acquired(of int, r *lease.Record) {
	winners := w.check.winners[of]
	w.holds(OneHolder, winners[r.Term] == "", "%s was given to %s, and is now given to %s", termed(r), winners[r.Term], r.Holder)
	winners[r.Term] = r.Holder
	for _, n := range w.candidates {
		if s := &n.seats[of]; n.alive && n.id != r.Holder && s.context && n.awake() {
			w.holds(LeadEnds, false, "the context of %s in term %d has not ended, although %s has %s", n.id, s.term, r.Holder, termed(r))
		}
	}
	w.check.counts[LeadEnds]++
}

// opened checks a candidate that takes office.
func (w *world) opened(n *candidate, of int, term memberstate.Term) {
	winner, led := w.check.winners[of][term], w.check.led[of]
	w.holds(OneHolder, winner == n.id && !led[term], "%s leads %s in term %d, which was given to %q", n.id, names[of], term, winner)
	w.holds(ReleasedAfter, !n.seats[of].leading, "%s leads %s in term %d while its last Lead runs", n.id, names[of], term)
	led[term] = true
}

// lost checks a lease that is given up: either the record names another holder, or the lease could not
// be renewed in time although the candidate tried again soon.
func (w *world) lost(n *candidate, of int, topic protocol.Topic) {
	s, t, l := &n.seats[of], n.options.timing, &n.options.limits
	if topic == protocol.TakenAway {
		r := w.database.now(of)
		w.holds(Kept, r.Holder != n.id || r.Term != s.term, "%s gives up %s, which it still holds", n.id, names[of])
	}
	if topic != protocol.RanOut || !n.awake() || w.enabled.Has(Hang) || l.Calls[protocol.Renew] < maxLeases {
		return // it had a reason to be late
	}
	within := t.Timeout + t.Renew/4 + time.Millisecond
	w.holds(Kept, n.now()-s.asked <= max(within, t.Renew), "%s let %s run out; it last tried to renew it %v ago", n.id, names[of], n.now()-s.asked)
}

// sending checks what a keeper sends.
func (w *world) sending(n *candidate, c *protocol.Call, touches []int) {
	for i, of := range touches {
		s := &n.seats[of]
		w.often(FollowersRead, s.in && (!s.retired || c.Kind == protocol.Release || c.Kind == protocol.Wake), func() string {
			return fmt.Sprintf("%s %s %s although it has left", n.id, does[c.Kind], names[of])
		})
		switch c.Kind {
		case protocol.Acquire:
			w.holds(FollowersRead, n.free(s) && !n.options.observer, "%s claims %s, which %q holds for another %v", n.id, names[of], s.read.Holder, s.read.Left)
			w.holds(StandsBack, n.now() >= s.stands, "%s claims %s although it must wait for another %v", n.id, names[of], s.stands-n.now())
			n.claimsLast(of)
			s.claiming++
			s.found, s.asked = false, n.now()
			s.awaited.look = 0
		case protocol.Renew:
			w.often(FollowersRead, s.context && s.term == c.Held[i].Term, func() string {
				return fmt.Sprintf("%s renews %s in term %d without being in office", n.id, names[of], c.Held[i].Term)
			})
			s.asked = n.now()
		case protocol.Release:
			w.holds(ReleasedAfter, !s.leading && s.lease == nil, "%s releases %s in term %d while its Lead runs", n.id, names[of], c.Held[i].Term)
			s.tries++
			end := s.asked + n.options.timing.TTL - n.options.timing.DriftMargin
			w.holds(GivesBack, s.tries == 1 || n.now() <= end || !n.awake(), "%s releases %s in term %d %v after the lease ran out", n.id, names[of], c.Held[i].Term, n.now()-end)
			n.releases(of)
		case protocol.Read:
			n.looks(of)
		case protocol.Wake, protocol.Listen:
		}
	}
}
