// One lease at one candidate: what is known of it, and the way into office and out of it.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// session is one lease.
type session struct {
	name     string
	observer bool
	phase    phase
	retiring bool
	view     View // what others see
	seen     sighting
	woken    bool             // it is to be looked at soon
	distrust bool             // what was read last was older than what was known
	patience time.Duration    // it is not claimed before
	left     memberstate.Term // the term that was left last
	asked    time.Duration    // when the lease, or a renewal, was asked for last
	office   office
	giving   giving
	pending  int // calls and queues that it is in, and must come out of before it ends
}

// phase is what a session is busy with.
type phase uint8

const (
	// idle: it takes no part any more.
	idle phase = iota
	// watching: the lease is looked at from time to time.
	watching
	// claiming: a claim is under way, or waits for its turn.
	claiming
	// serving: the lease is held, and renewed.
	serving
	// leaving: Lead has not returned, or the lease has not been released.
	leaving
)

// office is what there is to know of a lease that is held.
type office struct {
	until    time.Duration // when it runs out, if it is not renewed
	due      bool          // it is to be renewed
	renewing bool          // a renewal is under way
}

func newSession(name string, observer bool) *session {
	s := &session{name: name, observer: observer, phase: watching, giving: giving{at: Never}}
	s.view.Role = s.standing()
	return s
}

// standing is the role without a leader.
func (s *session) standing() memberstate.Role {
	if s.observer {
		return memberstate.Observer
	}
	return memberstate.Candidate
}

// due is when something is to be done for it.
func (s *session) due() time.Duration {
	if s.phase == serving {
		return min(s.office.until, s.giving.at)
	}
	return s.giving.at
}

// end is how long the lease may be used that was asked for last: counted from before the
// question was sent, whenever the answer comes.
func (k *Keeper) end(s *session) time.Duration { return s.asked + k.rules.Timing.validity() }

// held is the lease in its last term.
func (s *session) held() Held { return Held{s.name, s.view.Term} }

// publish makes known what it is now.
func (k *Keeper) publish(s *session) { k.fx.Publish(s.name, s.view) }

// show changes what others see, if that is a change. After Stopped there is none.
func (k *Keeper) show(s *session, role memberstate.Role, term memberstate.Term, leader string) {
	v := View{Role: role, Term: term, Leader: leader, Stopped: s.view.Stopped}
	if changed := v != s.view; changed {
		s.view = v
		if !v.Stopped {
			k.publish(s)
		}
	}
}

// see takes note of what was read, and says whether the lease is to be claimed.
func (k *Keeper) see(s *session, r *Record) (free bool) {
	if s.phase != watching || k.doubts(s, r) {
		return false
	}
	s.seen.see(r, k.now)
	role, leader := s.standing(), ""
	if r.Holder != k.rules.ID && k.led(s) {
		leader = r.Holder
		if role == memberstate.Candidate {
			role = memberstate.Follower
		}
	}
	k.show(s, role, r.Term, leader)
	free = k.free(s)
	if k.leftBehind(s) && !free {
		k.standBack(s) // the others have to wait, too
	}
	return free && !s.observer && k.now >= s.patience
}

// doubts says whether what was read is older than what is known. That is told once, until
// something is read that is not.
func (k *Keeper) doubts(s *session, r *Record) bool {
	before := s.distrust
	s.distrust = r.Term < s.view.Term
	if s.distrust && !before {
		k.fx.Tell(Note{Topic: Forgotten, Name: s.name, Term: r.Term, Known: s.view.Term})
	}
	return s.distrust
}

// takeOffice begins to hold the lease that was won.
func (k *Keeper) takeOffice(s *session) {
	s.phase, s.office = serving, office{until: k.end(s)}
	term := s.view.Term + 1
	k.fx.Hold(s.name, term, s.office.until)
	k.show(s, memberstate.Leader, term, k.rules.ID)
	k.fx.Lead(s.name, term)
	k.wakeBy(s.office.until)
}

// why is why an office is left.
type why uint8

const (
	resigned why = iota // or Lead has returned, or it retires
	ranOut
	takenAway
)

// leave leaves the office, if it is in it. The lease is not used and not renewed from now on;
// it is released when Lead has returned.
func (k *Keeper) leave(s *session, why why) {
	if s.phase != serving {
		return
	}
	s.phase = leaving
	k.fx.Withdraw(s.name, s.view.Term)
	k.show(s, memberstate.Candidate, s.view.Term, "")
	switch why {
	case resigned:
	case ranOut:
		k.fx.Tell(Note{Topic: RanOut, Name: s.name, Term: s.view.Term})
	case takenAway:
		k.fx.Tell(Note{Topic: TakenAway, Name: s.name, Term: s.view.Term})
	}
}

// retire has it claim nothing any more, and leave its office.
func (k *Keeper) retire(s *session) {
	if s.retiring {
		return
	}
	s.retiring = true
	k.leave(s, resigned)
	s.view.Stopped = true
	k.publish(s)
	if s.phase == watching {
		s.phase = idle
	}
	k.settle(s)
}

// resume has it watch again, unless it retires.
func (k *Keeper) resume(s *session) {
	s.phase = watching
	if s.retiring {
		s.phase = idle
	}
}

// standBack has the lease left to others for as long as it takes them to look.
func (k *Keeper) standBack(s *session) { s.patience = k.now + 2*k.rules.Timing.Poll }
