// Leases: each leader has one, and leaders that leave their heartbeats to their node share one more.
//
// A lease lasts until its own end, or until the end of the shared lease, whichever is later. The loop of the node
// extends both; any goroutine may ask whether a lease is held, at any time, and waits for nothing. What must hold:
//
//   - Once Holds has returned false, the lease is never held again, because the caller may have acted on that. Holds
//     makes its own end zero then, by compare-and-swap, and nothing extends a lease whose end is zero. Before that it
//     makes the end of the shared lease zero in the same way, so that no lease that shares it goes on either. A lease
//     of its own that has run out is not extended by a shared one: Holds looks at its own end first.
//   - A lease that has left the shared one does not last longer than that lasted at that moment. Holds may be delayed
//     for any time between finding the shared lease and reading its end, and the end may have been extended since for
//     those that still share it. So it looks again whether the lease is still shared, and only then believes it.
//   - An end that somebody has seen is not taken back. A lease that leaves the shared one takes its end along, before
//     it leaves.
//   - Whoever finds first that a lease is over, wakes its timer. So its owner is told, even if the timer had stopped
//     before, because the lease was shared.

package office

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// end is a [protocol.Expiry] that any goroutine may read.
type end struct{ at atomic.Int64 }

func (e *end) load() protocol.Expiry { return protocol.Expiry(e.at.Load()) }

// become changes the end, and says false if somebody else has changed it since it was the old one.
func (e *end) become(old, later protocol.Expiry) bool {
	return old == later || e.at.CompareAndSwap(int64(old), int64(later))
}

// holds says whether the end is to come, and makes it zero if it is not.
func (e *end) holds(now time.Duration) (until time.Duration, held bool) {
	for {
		at := e.load()
		if at.Holds(now) {
			return time.Duration(at), true
		}
		if e.become(at, 0) {
			return 0, false
		}
	}
}

// extend moves the end, unless it is past.
func (e *end) extend(until, now time.Duration) {
	for {
		if old := e.load(); e.become(old, old.Extended(until, now)) {
			return
		}
	}
}

// mostLate is how late a timer may be set, because the clock was read before that.
const mostLate = time.Millisecond

// arm has a timer ring at the end, or at once if that is past. Once the timer is set it looks again at both, the end
// and the clock: whoever finds the end past arms the timer after that, so at least one of the two sees the other; and a
// process that is paused between the clock and the timer would have it ring late.
func (e *end) arm(timer *time.Timer, clock func() time.Duration) {
	for {
		at, now := e.load(), clock()
		timer.Reset(time.Duration(at) - now)
		if e.load() == at && clock()-now < mostLate {
			return
		}
	}
}

// Lease is a leader's lease until a time of its clock. The clock may count from any time.
type Lease struct {
	Term   memberstate.Term
	own    end
	shared atomic.Pointer[Shared] // whose end counts, too; nil: it shares none
	over   atomic.Bool            // it was ended, or its owner was told that it has run out
	timer  *time.Timer            // nil before Watch
	clock  func() time.Duration   // that of Watch
	lapsed func()

	closes func() // see Share; guarded by the shared lease's mu
	place  int    // among those that the shared lease closes, from 1; 0: it is not; guarded likewise
}

// NewLease makes a lease. After Watch, End must be called.
func NewLease(term memberstate.Term, until time.Duration) *Lease {
	l := &Lease{Term: term}
	l.own.at.Store(int64(until))
	return l
}

// Until is the lease's own end, or zero once Holds has returned false.
func (l *Lease) Until() time.Duration { return time.Duration(l.own.load()) }

// Holds says whether the lease is held, and until when. Once Holds has returned false, the
// lease cannot be extended, because the caller may have acted on that.
func (l *Lease) Holds(now time.Duration) (until time.Duration, held bool) {
	until, held, found := l.holds(now)
	if found && l.timer != nil {
		l.own.arm(l.timer, l.clock)
	}
	return until, held
}

// holds does what Holds does. Found says that this call has found first that the lease is over.
func (l *Lease) holds(now time.Duration) (until time.Duration, held, found bool) {
	for {
		own := l.own.load()
		if own == 0 {
			return 0, false, false
		}
		if s := l.shared.Load(); s != nil {
			until, held = s.end.holds(now)
			if l.shared.Load() != s {
				continue
			}
			if held {
				return time.Duration(own.With(protocol.Expiry(until))), true, false
			}
		}
		if own.Holds(now) {
			return time.Duration(own), true, false
		}
		if l.own.become(own, 0) {
			return 0, false, true
		}
	}
}

// Extend extends the lease by itself, unless it has run out.
func (l *Lease) Extend(until, now time.Duration) { l.own.extend(until, now) }

// Share has the lease last as long as the shared one, too, until Leave. When the shared lease has run out, and this
// one with it, it calls closes, if that is not nil. It has no timer of its own then.
func (l *Lease) Share(s *Shared, closes func()) {
	if closes != nil {
		s.add(l, closes)
	}
	l.shared.Store(s)
}

// Leave has the lease last by itself again, until the time until which the shared one lasts now.
func (l *Lease) Leave() {
	s := l.shared.Load()
	if s == nil {
		return
	}
	for { // its own end comes first: at no time neither counts
		if own := l.own.load(); l.own.become(own, own.With(s.end.load())) {
			break
		}
	}
	l.shared.Store(nil)
	s.remove(l)
	if l.timer != nil {
		l.own.arm(l.timer, l.clock)
	}
}

// Watch calls lapsed once when the lease runs out, unless End is called before. While the lease is held because it is
// shared, no timer runs: the shared lease has one.
func (l *Lease) Watch(clock func() time.Duration, lapsed func()) {
	l.clock, l.lapsed = clock, lapsed
	l.timer = time.AfterFunc(time.Hour, func() {
		now := clock()
		switch _, held, _ := l.holds(now); {
		case l.over.Load():
		case !held:
			l.tell()
		case l.own.load().Holds(now):
			l.own.arm(l.timer, clock)
		}
	})
	l.own.arm(l.timer, clock)
}

// tell tells the owner once that the lease is over, unless it was ended.
func (l *Lease) tell() {
	if l.over.CompareAndSwap(false, true) {
		l.lapsed()
	}
}

// End ends the lease before its time.
func (l *Lease) End() {
	l.over.Store(true)
	l.timer.Stop()
	if s := l.shared.Swap(nil); s != nil {
		s.remove(l)
	}
}

// Shared is a lease that leases share.
type Shared struct {
	end   end
	over  atomic.Bool
	timer *time.Timer

	mu     sync.Mutex
	leases []*Lease // that are to be closed
}

// NewShared makes a shared lease. When it runs out, it closes the leases that share it and that are over with it; then
// it calls lapsed once. End must be called.
func NewShared(until time.Duration, clock func() time.Duration, lapsed func()) *Shared {
	s := new(Shared)
	s.end.at.Store(int64(until))
	s.timer = time.AfterFunc(time.Hour, func() {
		now := clock()
		switch _, held := s.end.holds(now); {
		case s.over.Load():
		case held:
			s.end.arm(s.timer, clock)
		case s.over.CompareAndSwap(false, true):
			s.close(now)
			lapsed()
		}
	})
	s.end.arm(s.timer, clock)
	return s
}

// Until is the end of the shared lease, or zero once it was found to be past.
func (s *Shared) Until() time.Duration { return time.Duration(s.end.load()) }

// Extend extends the lease of all that share it, unless it has run out.
func (s *Shared) Extend(until, now time.Duration) { s.end.extend(until, now) }

// End ends it, when nobody shares it any more.
func (s *Shared) End() {
	s.over.Store(true)
	s.timer.Stop()
}

// close closes the leases that are over.
func (s *Shared) close(now time.Duration) {
	s.mu.Lock()
	var closes []func()
	for _, l := range s.leases {
		if _, held, _ := l.holds(now); !held { // it has not left, and its own end is past, too
			closes = append(closes, l.closes)
		}
	}
	s.mu.Unlock()
	for _, one := range closes {
		one()
	}
}

func (s *Shared) add(l *Lease, closes func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases = append(s.leases, l)
	l.closes, l.place = closes, len(s.leases)
}

// remove takes a lease out; the last one takes its place.
func (s *Shared) remove(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.place == 0 {
		return
	}
	last := len(s.leases) - 1
	s.leases[l.place-1] = s.leases[last]
	s.leases[last].place = l.place
	s.leases[last] = nil
	s.leases, l.closes, l.place = s.leases[:last], nil, 0
}
