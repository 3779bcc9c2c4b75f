// The lease of a session (D11). While a leader holds it no other member can win an election, so its
// engine may serve without asking the others.
//
// It is counted from when the leader sent the heartbeat that a quorum has answered with its promise,
// and is shorter than the promises by the drift margin. Why it is sound:
//
//   - A promise begins when the heartbeat arrives, so after it was sent. The margin is more than two
//     clocks can differ by in that time. So the lease ends before every promise that it rests on.
//   - Another candidate needs a quorum, and that has a voter in common with the promises. The voter
//     refuses it, even after a crash (machine_follow.go).
//   - A handover lets the target win at any moment. So the lease is dropped before the target is told
//     to stand, and the term holds no other one.
//   - The time of a heartbeat is looked up only while it is kept (sent.go).
//   - It lasts for as long as that heartbeat asked for, which may be shorter than this member's
//     detection time by now.
//   - A lease that has run out is not extended, even if a confirmation was under way: the driver may
//     have acted on its end, for example by reporting it. So the term ends with it.
//
// Counting from the answers instead looks right and is wrong: the promises may have begun a whole
// round trip before they arrive.

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
	promised, known := d.sent.LeaseUntil(&s.Machine, r, now)
	if !known {
		return
	}
	until := promised - r.Timing.DriftMargin
	if d.lease.until == 0 {
		d.lease.until = until
		fx.Hold(until)
	}
	s.prolong(until, now, fx)
}

// prolong extends a lease that has not run out.
func (s *Session) prolong(until, now time.Duration, fx Effects) {
	if l := &s.duty().lease; l.until != 0 && !l.over && now < l.until && l.until < until {
		l.until = until
		fx.Hold(until)
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
