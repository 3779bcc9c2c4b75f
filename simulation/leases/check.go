// What must hold after every event.

package leases

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/lease"
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
	LeadEnds
	ReleasedAfter
	FollowersRead
	Converges
	TakenOver

	invariants
)

var invariantNames = [invariants]string{
	"one lease", "terms grow", "one holder a term", "stays over", "lead ends", "released after lead", "followers read", "converges", "taken over",
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

	winners map[memberstate.Term]string // whom the database gave each term
	led     map[memberstate.Term]bool
}

func (c *checker) init() {
	c.winners, c.led = map[memberstate.Term]string{}, map[memberstate.Term]bool{}
}

// holds notes that an invariant was looked at, and ends the run if it does not hold.
func (w *world) holds(i Invariant, ok bool, format string, args ...any) {
	c := &w.check
	c.counts[i]++
	switch {
	case ok || c.over:
		return
	case c.excused:
		c.broken[i]++
		c.over = i == OneLease // what else was broken led to it, or will
	default:
		c.over = true
		c.violation = &Violation{i, time.Duration(w.now), fmt.Sprintf(format, args...)}
		w.tell("%v", c.violation)
	}
}

// leasesHold looks whether two leases are valid now.
func (w *world) leasesHold() {
	var first *candidate
	for _, n := range w.candidates {
		if n.alive && n.lease != nil {
			w.staysOver(n)
		}
		switch {
		case !n.valid():
		case first == nil:
			first = n
		default:
			w.holds(OneLease, false, "%s has term %d until %v of its clock, and %s has term %d until %v of its",
				first.id, first.lease.Term, first.lease.Until(), n.id, n.lease.Term, n.lease.Until())
		}
	}
	w.check.counts[OneLease]++
}

// staysOver looks whether a lease is valid that was not: it may have been acted upon.
func (w *world) staysOver(n *candidate) {
	switch {
	case !n.valid():
		n.over = n.lease
	case n.over == n.lease:
		w.holds(StaysOver, false, "%s has term %d until %v, and had it no more", n.id, n.lease.Term, n.lease.Until())
	}
	w.check.counts[StaysOver]++
}

// wrote looks at what a statement has made of the record.
func (w *world) wrote(before, after *lease.Record, what string) {
	switch acquired := after.Holder != "" && after.Holder != before.Holder || after.Term > before.Term && what == acquires; {
	case acquired:
		w.holds(TermsGrow, after.Term == before.Term+1, "%s was acquired after %d, by %s", termed(after.Term), before.Term, after.Holder)
		w.acquired(after)
	case what == forces:
		w.holds(TermsGrow, after.Term == before.Term+1, "%s was forced after %d", termed(after.Term), before.Term)
	default:
		w.holds(TermsGrow, after.Term == before.Term, "term %d became %d by a statement that %s", before.Term, after.Term, what)
	}
}

func termed(t memberstate.Term) string { return fmt.Sprintf("term %d", t) }

// acquired looks at those who had the lease before.
func (w *world) acquired(r *lease.Record) {
	w.holds(OneHolder, w.check.winners[r.Term] == "", "term %d was given to %s, and now to %s", r.Term, w.check.winners[r.Term], r.Holder)
	w.check.winners[r.Term] = r.Holder
	for _, n := range w.candidates {
		if n.alive && n.id != r.Holder && n.contextLives && n.awake() {
			w.holds(LeadEnds, false, "the context of %s in term %d lives, and %s has term %d", n.id, n.serves, r.Holder, r.Term)
		}
	}
	w.check.counts[LeadEnds]++
}

// opened looks at a candidate that takes office.
func (w *world) opened(n *candidate) {
	term := n.machine.Term
	w.holds(OneHolder, w.check.winners[term] == n.id && !w.check.led[term], "%s leads term %d, which was given to %q", n.id, term, w.check.winners[term])
	w.check.led[term] = true
}

// sending looks at a statement that writes.
func (w *world) sending(n *candidate, what string) {
	w.holds(FollowersRead, !n.retired || what == releases, "%s %s, and has left", n.id, what)
	switch what {
	case acquires:
		free := n.read.Left <= 0 || n.read.Released || n.read.Holder == n.id && n.read.Term != n.serves || n.options.strict && n.stoodStill >= n.read.TTL
		w.holds(FollowersRead, free && !n.options.observer, "%s claims what %q holds for another %v", n.id, n.read.Holder, n.read.Left)
	case renews:
		w.holds(FollowersRead, n.contextLives, "%s renews term %d without being in office", n.id, n.machine.Term)
	case releases:
		w.holds(ReleasedAfter, !n.leading, "%s releases term %d while its Lead runs", n.id, n.machine.Term)
	}
}
