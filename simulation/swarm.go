// Swarm testing: each seed enables some of the faults, so that rare combinations occur and no
// frequent fault hides another.

package simulation

import (
	"math/rand/v2"
	"time"
)

// swarm is the faults of a run, and how often they strike.
type swarm struct {
	random   *rand.Rand
	enabled  FaultSet
	striking []Fault // of these, the ones that strike at a time
	every    time.Duration
	again    *Strike // that strikes a second time, soon after it is over; nil: none does
	struck   [faults]uint64
}

// enable draws the faults of a run.
func (s *swarm) enable(o *Options) {
	s.enabled = NoFaults()
	for _, f := range Faults() {
		rarity := 3
		if f.is(rare) {
			rarity = 20
		}
		if drawn := s.random.IntN(rarity) == 0; !drawn || !o.Faults.Has(f) {
			continue
		}
		s.enabled = s.enabled.With(f)
		if faultTable[f].draw != nil && !f.is(fromStart) {
			s.striking = append(s.striking, f)
		}
	}
	d := o.Timing.Detection()
	s.every = d/4 + s.span(4*d)
}

// stand draws the faults that are present from the beginning, each at some nodes. Some strike a
// single node, which then differs from all others.
func (s *swarm) stand(w *world) {
	for _, f := range Faults() {
		if !f.is(fromStart) || !s.enabled.Has(f) {
			continue
		}
		one := s.random.IntN(len(w.nodes))
		for i := range w.nodes {
			strike, ok := s.draw(w, f)
			strike.Node, strike.Lasts = i, 0
			if ok && (f.is(atOneNode) && i == one || !f.is(atOneNode) && s.random.IntN(2) == 0) {
				w.inflict(&strike)
			}
		}
	}
}

// schedule draws when the next fault strikes. Some follow each other
// closely, because an election often breaks by a second fault before the first one is over.
func (s *swarm) schedule(w *world) {
	if len(s.striking) == 0 {
		return
	}
	wait := s.span(2 * s.every)
	if s.random.IntN(4) == 0 {
		wait = s.span(w.options.Timing.Heartbeat)
	}
	w.events.Push(w.now+1+int64(wait), newEvent(faultStrikes, 0, 0))
}

// strike draws a fault that strikes now.
func (s *swarm) strike(w *world) {
	if w.calm {
		return
	}
	if strike, ok := s.draw(w, s.striking[s.random.IntN(len(s.striking))]); ok {
		w.inflict(&strike)
		s.repeat(w, strike)
	}
	s.schedule(w)
}

// repeat has one strike in eight come again soon after it is over, to the same nodes. An operation that has come through trouble may have
// kept something of it, or forgotten too much, which does harm when the same trouble comes a second time.
func (s *swarm) repeat(w *world, strike Strike) {
	if s.random.IntN(8) != 0 || s.again != nil {
		return
	}
	s.again = &strike
	w.events.Push(w.now+1+int64(strike.Lasts+s.span(w.options.Timing.Detection())), newEvent(faultStrikesAgain, 0, 0))
}

// strikeAgain does what repeat has scheduled.
func (s *swarm) strikeAgain(w *world) {
	strike := s.again
	if s.again = nil; !w.calm {
		strike.At = time.Duration(w.now)
		w.inflict(strike)
	}
}
