// The state of a member, and its legal transitions.

package memberstate

import (
	"fmt"
	"time"
)

// Role is what a member does in its term.
type Role uint8

const (
	// Candidate knows no leader and may stand. A voter starts as one.
	Candidate Role = iota
	// Follower follows the leader of its term.
	Follower
	// Leader leads its term.
	Leader
	// Observer follows the leader and does not vote.
	Observer
)

// String returns the role in lower case, as in logs and metrics.
func (r Role) String() string {
	switch r {
	case Candidate:
		return "candidate"
	case Follower:
		return "follower"
	case Leader:
		return "leader"
	case Observer:
		return "observer"
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// HardState is the part of the state that must survive a crash; otherwise a member
// could vote twice in one term, or break a promise. Only the transitions of [State]
// change it, and it must be durable before the member answers any other.
type HardState struct {
	// Term is the largest term that the member has adopted. It never falls.
	Term Term
	// Vote is the candidate that the member voted for in Term, Nobody if it has not
	// voted.
	Vote Seat
	// Promise is the longest lease that the member may have promised to a leader of
	// Term or of an earlier one. A restarted member knows that it may have promised,
	// but not when, so it waits this long before it votes. Zero means that no promise
	// can be in force.
	Promise time.Duration
}

// State is the state of a member. The zero State is that of a voter that has never
// taken part. Any code may read its fields, but only the transitions below change
// them. An illegal transition changes nothing and returns a [TransitionError].
type State struct {
	HardState
	// Role changes by every transition except VoteFor and PromiseFor.
	Role Role
	// Leader leads Term as far as the member knows: itself if Role is Leader,
	// another one if Role is Follower, Nobody if it is Candidate.
	Leader Seat
	// Spent says that this member must not stand in Term (any more): it has
	// just started, or it led Term and stopped, or it followed a leader in it.
	// Because of this, and because a member may only stand if it voted for itself, a
	// term is led at most once, by one incarnation of one member (D1, D2). Raise
	// clears it.
	Spent bool
}

// Restart is the state of a member that starts with this hard state from its store.
func Restart(hard HardState, observer bool) State {
	s := State{HardState: hard, Spent: true}
	if observer {
		s.Role = Observer
	}
	return s
}

// Raise moves to a larger term, without vote and leader.
func (s *State) Raise(term Term, promise time.Duration) error {
	if term <= s.Term {
		return s.illegal("raise the term to %d", term)
	}
	s.HardState = HardState{Term: term, Promise: promise}
	s.Leader, s.Spent = Nobody, false
	if s.Role != Observer {
		s.Role = Candidate
	}
	return nil
}

// VoteFor gives the vote of the term to a voter. Giving it to the same voter again is
// legal and changes nothing.
func (s *State) VoteFor(candidate Seat) error {
	switch {
	case candidate == Nobody || candidate == Stranger:
		return s.illegal("vote for no one (%d)", candidate)
	case s.Term == 0:
		return s.illegal("vote for %d before any term", candidate)
	case s.Role == Observer:
		return s.illegal("vote for %d as an observer", candidate)
	case s.Vote != Nobody && s.Vote != candidate:
		return s.illegal("vote for %d as well", candidate)
	}
	s.Vote = candidate
	return nil
}

// Follow accepts another member as the leader of the term.
func (s *State) Follow(leader Seat) error {
	switch {
	case leader == Nobody || leader == Stranger:
		return s.illegal("follow no one (%d)", leader)
	case s.Term == 0:
		return s.illegal("follow %d before any term", leader)
	case s.Role == Leader:
		return s.illegal("follow %d while leading", leader)
	case s.Leader != Nobody && s.Leader != leader:
		return s.illegal("follow %d as well", leader)
	}
	s.Leader, s.Spent = leader, true
	if s.Role != Observer {
		s.Role = Follower
	}
	return nil
}

// Lead makes the member the leader of the term.
func (s *State) Lead(self Seat) error {
	switch {
	case s.Role != Candidate:
		return s.illegal("lead as %v", s.Role)
	case s.Term == 0 || s.Vote != self:
		return s.illegal("lead without its own vote (seat %d)", self)
	case s.Spent:
		return s.illegal("lead a term that is spent")
	}
	s.Role, s.Leader = Leader, self
	return nil
}

// StandDown forgets the leader of the term, itself or another. The vote stays, because
// otherwise the member could vote twice.
func (s *State) StandDown() error {
	if s.Leader == Nobody {
		return s.illegal("stand down without a leader")
	}
	s.Leader, s.Spent = Nobody, true
	if s.Role != Observer {
		s.Role = Candidate
	}
	return nil
}

// PromiseFor records that leases up to this length may have been promised.
func (s *State) PromiseFor(lease time.Duration) error {
	if lease < s.Promise || s.Role == Observer {
		return s.illegal("promise %v", lease)
	}
	s.Promise = lease
	return nil
}

// MayStand says whether the member may ask for votes in its term.
func (s *State) MayStand(self Seat) bool {
	return s.Role == Candidate && !s.Spent && (s.Vote == Nobody || s.Vote == self)
}

func (s *State) illegal(format string, args ...any) error {
	return &TransitionError{State: *s, Tried: fmt.Sprintf(format, args...)}
}

// TransitionError is an illegal transition, which is a defect in the calling code.
type TransitionError struct {
	State State
	Tried string
}

func (e *TransitionError) Error() string {
	s := e.State
	return fmt.Sprintf("memberstate: cannot %s: %v in term %d, vote %d, leader %d, spent %t", e.Tried, s.Role, s.Term, s.Vote, s.Leader, s.Spent)
}
