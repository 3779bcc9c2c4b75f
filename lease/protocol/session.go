// One lease of a candidate: its state, and the way into office and out of it.

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
	view     View
	seen     sighting
	woken    bool             // it is read soon
	distrust bool             // the last record had a smaller term than was known
	patience time.Duration    // the lease is not claimed before this time
	left     memberstate.Term // the last term in office
	asked    time.Duration    // when the last claim or renewal was sent
	last     bool             // it is claimed as the last choice
	office   office
	giving   giving
	ability  ability
	pending  int // calls and queues that contain it; it ends only when there are none
}

// phase is the present activity of a session.
type phase uint8

const (
	// In idle it no longer takes part.
	idle phase = iota
	// In watching the lease is polled.
	watching
	// In claiming a claim is under way, or waits for its turn.
	claiming
	// In serving the lease is held and renewed.
	serving
	// In leaving Lead has not returned, or the lease has not been released.
	leaving
)

// office is the state of a held lease.
type office struct {
	until    time.Duration // when it expires without a renewal
	due      bool          // it must be renewed
	renewing bool          // a renewal is under way
	keep     time.Duration // it is not given up for want of ability before this time
}

func newSession(in *Enter, now time.Duration) *session {
	s := &session{name: in.Name, observer: in.Observer, phase: watching, giving: giving{at: Never}}
	s.ability = ability{vouch: in.Vouch, looked: now, heard: now}
	s.view.Role = s.standing()
	return s
}

// standing returns its role while there is no leader.
func (s *session) standing() memberstate.Role {
	if s.observer {
		return memberstate.Observer
	}
	return memberstate.Candidate
}

// due returns when the session needs a Tick.
func (s *session) due() time.Duration {
	if s.phase == serving {
		return min(s.office.until, s.giving.at)
	}
	return s.giving.at
}

// end returns the end of the lease by the last claim or renewal, counted from before that was
// sent, because the answer may have taken any time.
func (k *Keeper) end(s *session) time.Duration { return s.asked + k.rules.Timing.validity() }

// held returns the lease in its last term.
func (s *session) held() Held { return Held{s.name, s.view.Term} }

// publish publishes its view.
func (k *Keeper) publish(s *session) { k.fx.Publish(s.name, s.view) }

// show changes the view, and publishes it if it differs. gone is why the leader that was shown
// leads no more, if that is so. After Stopped no view is published.
func (k *Keeper) show(s *session, role memberstate.Role, term memberstate.Term, leader string, gone Departure) {
	v := s.view
	if v.Leader != "" && (leader != v.Leader || term != v.Term) {
		v.Last, v.Departure = v.Leader, gone
	}
	v.Role, v.Term, v.Leader = role, term, leader
	if changed := v != s.view; changed {
		s.view = v
		if !v.Stopped {
			k.publish(s)
		}
	}
}

// see notes a record that was read, and reports whether to claim the lease.
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
	k.show(s, role, r.Term, leader, s.whyGone(r))
	free = k.free(s)
	s.seen.stands(free, k.now)
	if k.leftBehind(s) && !free {
		k.standBack(s) // because the others have to wait, too
	}
	return free && !s.observer && k.now >= s.patience && k.hasTurn(s)
}

// doubts reports whether a record has a smaller term than is known. It tells people once, until
// a record has not.
func (k *Keeper) doubts(s *session, r *Record) bool {
	before := s.distrust
	s.distrust = r.Term < s.view.Term
	if s.distrust && !before {
		k.fx.Tell(Note{Topic: Forgotten, Name: s.name, Term: r.Term, Known: s.view.Term})
	}
	return s.distrust
}

// takeOffice begins to hold a lease that was won.
func (k *Keeper) takeOffice(s *session) {
	s.phase, s.office = serving, office{until: k.end(s)}
	term := s.view.Term + 1
	k.fx.Hold(s.name, term, s.office.until)
	k.show(s, memberstate.Leader, term, k.rules.ID, 0)
	k.fx.Lead(s.name, term)
	if s.last {
		k.stays(s)
	}
	k.wakeBy(s.office.until)
}

// lookAt leaves the office if the lease has expired, and then looks at the candidate's ability: no leader
// may be shown without a lease.
func (k *Keeper) lookAt(s *session) {
	if s.phase == serving && k.now >= s.office.until {
		k.leave(s, ranOut)
	}
	if !s.observer && !s.retiring {
		k.lookAtAbility(s)
	}
}

// leave leaves the office, if it is in one. From now on the lease is neither used nor renewed;
// it is released when Lead has returned.
func (k *Keeper) leave(s *session, why Departure) {
	if s.phase != serving {
		return
	}
	s.phase, s.ability.ending = leaving, max(k.now, 1)
	k.show(s, memberstate.Candidate, s.view.Term, "", why)
	k.fx.Withdraw(s.name, s.view.Term)
	switch why {
	case ranOut:
		k.fx.Tell(Note{Topic: RanOut, Name: s.name, Term: s.view.Term})
	case takenAway:
		k.fx.Tell(Note{Topic: TakenAway, Name: s.name, Term: s.view.Term})
	default: // of its own accord
	}
}

// retire makes it stop claiming, and leave its office.
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

// resume makes it watch again, unless it retires.
func (k *Keeper) resume(s *session) {
	s.phase = watching
	if s.retiring {
		s.phase = idle
	}
}

// standBack leaves the lease to others for as long as they need for a poll.
func (k *Keeper) standBack(s *session) { s.patience = k.now + 2*k.rules.Timing.Poll }
