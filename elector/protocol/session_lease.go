// The lease of a session. It is counted from the sending of the heartbeat that a quorum has
// answered with its promise, and is shorter than the promises by the drift margin (D11).
//
// Once it has run out nothing extends it, even if a confirmation was under way: the driver may have
// acted on its end, for example by reporting it. So the term holds no other lease, and ends.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// lease is what a leader holds for its term, until a time of the driver's clock. It ends
// with the office.
type lease struct {
	until time.Duration // 0: there is none
	over  bool          // it has run out: nothing extends it any more
}

// attendLease extends the lease when a quorum has confirmed it, unless it has run out.
func (s *Session) attendLease(r *Rules, now time.Duration, fx Effects) {
	d := s.duty()
	if s.LeaseBeat() == 0 {
		s.dropLease(fx)
	}
	from, known := d.sent.LeaseFrom(&s.Machine, r, now)
	if !known {
		return
	}
	until := from + r.Timing.Detection() - r.Timing.DriftMargin
	if l := &d.lease; l.until == 0 || !l.over && now < l.until && l.until < until {
		l.until = max(until, 1) // zero means none
		fx.Hold(l.until)
	}
}

func (s *Session) dropLease(fx Effects) {
	if d := s.duties; d != nil && d.lease.until != 0 {
		d.lease = lease{}
		fx.Hold(0)
	}
}

// LeaseOver tells the session that the lease of a term has run out. The driver's word counts, even
// if this session still expected more.
func (s *Session) LeaseOver(term memberstate.Term) {
	if d := s.duties; d != nil && d.lease.until != 0 && s.Term == term {
		d.lease.over = true
	}
}

// LeaseLeft is how much longer this member's lease lasts; zero if it holds none.
func (s *Session) LeaseLeft(now time.Duration) time.Duration {
	if d := s.duties; d != nil && !d.lease.over && d.lease.until != 0 {
		return max(0, d.lease.until-now)
	}
	return 0
}
