// What a member shows of itself: what it has saved, so that no restart can take anything of it
// back.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// View is a member as others may see it.
type View struct {
	Term         memberstate.Term
	Role         memberstate.Role
	Leader, Vote memberstate.Seat
	// Last is the leader that the member last took for gone, and Departure why.
	Last      memberstate.Seat
	Departure Departure
	// Inability is why the member is not able to lead.
	Inability Inability
	Stopped   bool
}

// Hearing is a member's judgement of an append before its engine accepts it.
type Hearing uint8

const (
	// HeardNews: the member has to take it in first, and then to judge again.
	HeardNews Hearing = iota
	// HeardLeader: it comes from the leader that the member follows.
	HeardLeader
	// HeardStale: its term is over.
	HeardStale
	// HeardOther: another leads its term.
	HeardOther
)

// Hears judges an append by what the member shows, which no restart takes back.
func (v *View) Hears(term memberstate.Term, leader memberstate.Seat) Hearing {
	switch {
	case term < v.Term:
		return HeardStale
	case term > v.Term || v.Leader == memberstate.Nobody:
		return HeardNews
	case v.Leader != leader:
		return HeardOther
	}
	return HeardLeader
}

// view is the machine's present view. It may be ahead of the disk.
func (s *Session) view() (v View) {
	s.look(&v)
	return v
}

func (s *Session) look(v *View) {
	v.Term, v.Role, v.Leader, v.Vote = s.Term, s.Role, s.Leader, s.Vote
	v.Last, v.Departure, v.Inability, v.Stopped = s.last, s.departure, s.inability, false
}

// show shows the present view and, if the machine took its leader for gone, why.
func (s *Session) show(r *Rules, x *Step, fx Effects) {
	s.departs(x.shown.Leader, s.whyGone(r, &x.Input, &x.shown))
	fx.Show(s.view())
}

// showEnd shows that this member has stopped, and leads nothing. If a step waits, the machine stays
// ahead of the disk for ever, and only what was shown before the step is known to be durable.
func (s *Session) showEnd(waiting *Step, fx Effects) {
	v := s.view()
	if waiting != nil {
		v = waiting.shown
	}
	if v.Role == memberstate.Leader {
		v.Last, v.Departure = v.Leader, DepartedResigned
		v = v.lost()
	}
	v.Stopped = true
	fx.Show(v)
}

// departs notes that a leader was taken for gone, if there is a reason.
func (s *Session) departs(leader memberstate.Seat, why Departure) {
	if why != 0 {
		s.last, s.departure = leader, why
	}
}

// lost is the view without the office.
func (v View) lost() View {
	if v.Role == memberstate.Leader {
		v.Role, v.Leader = memberstate.Candidate, memberstate.Nobody
	}
	return v
}

// beatSent is when a beat was sent, if that is still known.
func (s *Session) beatSent(beat uint32) (at time.Duration, known bool) {
	return s.duty().sent.beat(&s.Machine, beat)
}

// RoundTrip is how long ago the request of an answer was sent; zero if the message is no answer, or
// if the time is not known any more.
func (s *Session) RoundTrip(answer *rpc.Body, now time.Duration) time.Duration {
	if s.duties == nil {
		return 0
	}
	return s.duties.sent.RoundTrip(&s.Machine, answer, now)
}

// QuorumAge is, on a leader, how long ago it sent the newest heartbeat that a quorum has answered.
// It is a multiple of heartbeats if that time is not known: no beat of the term has been answered
// yet, or so many have not been that the time is not kept.
func (s *Session) QuorumAge(r *Rules, now time.Duration) time.Duration {
	if s.Role != memberstate.Leader {
		return 0
	}
	heard := s.HeardBeat()
	if sent, known := s.beatSent(heard); known && s.OfOffice(heard) {
		return now - sent
	}
	return time.Duration(s.Beat()-heard) * r.Timing.Heartbeat
}
