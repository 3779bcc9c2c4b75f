// The services of candidates: they vouch for their ability to lead, hang, or say that they are not well.

package leases

import (
	"errors"
	"time"

	"github.com/hustings/hustings/lease/protocol"
)

// service is what a candidate runs. It has one for all its leases.
type service struct {
	hung   bool          // it does not vouch for itself, and does not answer
	stuck  bool          // nor does Lead return while it hangs
	unwell bool          // it answers that it is not able to lead
	since  time.Duration // since when it has been hung
	bad    time.Duration // when it was last hung, unwell, or ordered not to lead
	before time.Duration // the same, when it was hung last
	fails  int           // how often it may have been found not able

	judging  bool // the function that judges it was called, and has not returned
	unjudged bool // and would have
	stops    int  // how often the process had stood still when a function was called
}

var errUnwell = errors.New("the service is not well")

// setUpServices has services vouch for themselves if any of them may fail to.
func (w *world) setUpServices() {
	if !w.enabled.Has(ServiceHangs) && !w.enabled.Has(ServiceUnwell) {
		return
	}
	least := time.Duration(0)
	for _, n := range w.candidates {
		least = max(least, 2*n.options.timing.Renew)
	}
	w.vouch = time.Duration(w.between(int64(least), int64(least)+2*ttl))
	w.asks = w.enabled.Has(ServiceUnwell) || w.draw(2) == 0
	if w.judges = w.draw(3) == 0; w.judges { // its silence counts after a TTL from the next question
		w.asks, w.vouch = false, 0
		for _, n := range w.candidates {
			w.vouch = max(w.vouch, n.options.timing.TTL+n.options.timing.Renew)
		}
	}
}

// mustVouch is how long the word of a service counts for its keeper; 0: the service need not vouch.
func (w *world) mustVouch() time.Duration {
	if w.judges {
		return 0
	}
	return w.vouch
}

// AskStalled asks the function that judges the service. It answers after a while, or when the service hangs no more.
func (n *candidate) AskStalled(time.Duration) bool {
	w := n.world
	w.holds(Cadence, !n.service.judging, "%s asks which services are stalled again before that was answered", n.id)
	n.service.judging = w.judges
	if w.judges {
		n.service.stops = n.stops
		n.in(w.draw(int64(n.options.timing.Renew/4)), n.judged)
	}
	return w.judges
}

// judged has that function return, unless the service hangs.
func (n *candidate) judged() {
	v := &n.service
	if v.unjudged = v.hung; v.unjudged {
		return
	}
	v.judging = false
	n.stillTwice()
	var in protocol.Stalled
	for of := range n.seats {
		if v.unwell && n.seats[of].in {
			in.Names = append(in.Names, names[of])
		}
	}
	n.step(in)
}

// Vouched says whether the service has vouched for itself since the last look. If it is asked, it does not
// do so of its own accord.
func (n *candidate) Vouched(name string) bool {
	s := &n.seats[lookUp(name)]
	vouched := !n.service.hung || s.vouched
	s.vouched = false
	return vouched && !n.world.asks
}

// AskHealth asks the service, which answers after a while, or when it hangs no more.
func (n *candidate) AskHealth(name string) bool {
	w, of := n.world, lookUp(name)
	s := &n.seats[of]
	w.holds(Cadence, s.in && !s.asking, "%s asks for the health of %s again before it was answered", n.id, name)
	s.asking = w.asks
	if w.asks {
		n.service.stops = n.stops
		n.in(w.draw(int64(n.options.timing.Renew/4)), func() { n.answers(of) })
	}
	return w.asks
}

// answers has the service say how it is, unless it hangs.
func (n *candidate) answers(of int) {
	s := &n.seats[of]
	if s.unanswered = n.service.hung; s.unanswered {
		return
	}
	s.asking = false
	n.stillTwice()
	in := protocol.Health{Name: names[of]}
	if n.service.unwell {
		in.Err = errUnwell
	}
	n.step(in)
}

// stillTwice counts the functions during whose last call the process stood still twice.
func (n *candidate) stillTwice() {
	if n.stops-n.service.stops > 1 {
		n.world.met(StillTwice)
	}
}

// leadReturns has Lead return, unless the service is stuck.
func (n *candidate) leadReturns(of int) {
	if s := &n.seats[of]; n.service.stuck {
		s.held = true
	} else {
		n.returns(of, s.term)
	}
}

// hangs has the service hang.
func (n *candidate) hangs(stuck bool) {
	v := &n.service
	if !v.hung {
		v.since, v.before = n.now(), v.bad
		for of := range n.seats {
			n.seats[of].vouched = true
		}
	}
	v.hung, v.stuck = true, v.stuck || stuck
	v.fails += 2 // a Lead that does not return is another failure
	n.world.tell("the service of %s hangs", n.id)
}

// works has the service work again: everything that was called meanwhile returns.
func (n *candidate) works() {
	v := &n.service
	n.notesBad()
	v.hung, v.stuck, v.unwell = false, false, false
	if v.unjudged {
		v.unjudged = false
		n.in(0, n.judged)
	}
	for of := range n.seats {
		s := &n.seats[of]
		if s.unanswered {
			s.unanswered = false
			n.in(0, func() { n.answers(of) })
		}
		if s.held {
			s.held = false
			n.in(0, func() { n.leadReturns(of) })
		}
	}
	n.world.tell("the service of %s works", n.id)
}

// notesBad remembers that the service was not able to work until now, if that is so.
func (n *candidate) notesBad() {
	if v := &n.service; v.hung || v.unwell {
		v.bad = n.now()
	}
}

// orders has an operator say whether a candidate is to lead.
func (n *candidate) orders(of int, may bool) {
	if s := &n.seats[of]; s.in && !s.retired && s.ordered == may {
		n.service.bad = n.now()
		s.ordered, s.rarely = !may, rarely{}
		n.step(protocol.Electable{Name: names[of], May: may})
		n.world.holds(AbleLeads, may || n.options.observer || s.inability != 0, "%s is ordered not to lead %s, and shows that it is able", n.id, names[of])
	}
}

// mayGiveUp says whether a candidate has a reason to give up a lease for want of ability. What was wrong
// may have ended after it was last asked.
func (n *candidate) mayGiveUp(of int) bool {
	v, t := &n.service, n.options.timing
	n.notesBad()
	recently := func(bad time.Duration) bool { return bad != 0 && n.now()-bad <= 2*t.Renew }
	switch {
	case n.seats[of].ordered, n.world.now < n.stoodStill+int64(n.world.vouch):
		return true
	case v.hung && n.now()-v.since < n.world.vouch/8 && !v.unwell:
		return recently(v.before) // it may not have noticed that the service worked in between
	}
	return recently(v.bad)
}

// isAble says whether a candidate shows that it is able to lead with all its leases.
func (n *candidate) isAble() bool {
	for i := range n.seats {
		if n.seats[i].inability != 0 {
			return false
		}
	}
	return n.alive && !n.options.observer
}

func (w *world) serviceHangs() bool {
	n := w.someone()
	all := w.draw(4) == 0
	stuck, lasts := w.draw(2) == 0, w.span()+w.draw(2)*int64(w.vouch)
	hung := false
	for _, other := range w.candidates {
		if other.alive && (all || other == n) {
			hung = true
			other.hangs(stuck)
			other.worksIn(lasts)
		}
	}
	return hung
}

// worksIn ends the trouble of a service after a while.
func (n *candidate) worksIn(lasts int64) {
	number := n.number
	n.world.at(n.world.now+lasts, func() {
		if n.number == number {
			n.works()
		}
	})
}

func (w *world) serviceUnwell() bool {
	n := w.someone()
	if !n.alive {
		return false
	}
	n.service.unwell = true
	n.service.fails++
	w.tell("the service of %s is not well", n.id)
	n.worksIn(w.span())
	return true
}

func (w *world) notToLead() bool {
	n, of := w.someone(), int(w.draw(int64(w.leases)))
	if !n.alive || n.paused || !n.seats[of].in {
		return false
	}
	n.orders(of, false)
	number := n.number
	w.lasts(func() {
		if n.number == number {
			n.in(0, func() { n.orders(of, true) })
		}
	})
	return true
}
