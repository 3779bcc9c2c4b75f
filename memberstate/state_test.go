// Legal transitions change the state; illegal ones return an error and change nothing.

package memberstate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hustings/hustings/memberstate"
)

const self memberstate.Seat = 1

// candidate is a candidate of term 5 that may stand.
func candidate(t *testing.T) memberstate.State {
	t.Helper()
	s := memberstate.Restart(memberstate.HardState{Term: 4}, false)
	require.NoError(t, s.Raise(5, 0))
	return s
}

// leader is the leader of term 5.
func leader(t *testing.T) memberstate.State {
	t.Helper()
	s := candidate(t)
	require.NoError(t, s.VoteFor(self))
	require.NoError(t, s.Lead(self))
	return s
}

// follower follows 2 in term 5.
func follower(t *testing.T) memberstate.State {
	t.Helper()
	s := candidate(t)
	require.NoError(t, s.Follow(2))
	return s
}

func observer() memberstate.State {
	return memberstate.Restart(memberstate.HardState{Term: 5}, true)
}

func TestACandidateWinsAndStandsDown(t *testing.T) {
	s := candidate(t)
	assert.True(t, s.MayStand(self))
	require.NoError(t, s.VoteFor(self))
	require.NoError(t, s.VoteFor(self), "the same vote again")
	require.NoError(t, s.Lead(self))
	assert.Equal(t, memberstate.Leader, s.Role)
	assert.Equal(t, self, s.Leader)
	require.NoError(t, s.StandDown())
	assert.Equal(t, memberstate.Candidate, s.Role)
	assert.Equal(t, self, s.Vote, "the vote is kept")
	assert.False(t, s.MayStand(self), "the term is spent")
	require.NoError(t, s.Raise(6, time.Second))
	assert.Equal(t, memberstate.HardState{Term: 6, Promise: time.Second}, s.HardState)
	assert.True(t, s.MayStand(self))
}

func TestAFollowerDoesNotStandInTheTermOfItsLeader(t *testing.T) {
	s := follower(t)
	assert.Equal(t, memberstate.Follower, s.Role)
	require.NoError(t, s.Follow(2), "the same leader again")
	require.NoError(t, s.StandDown())
	assert.False(t, s.MayStand(self))
}

func TestAfterARestartTheTermIsSpent(t *testing.T) {
	s := memberstate.Restart(memberstate.HardState{Term: 5, Vote: self}, false)
	assert.False(t, s.MayStand(self))
	assert.Error(t, s.Lead(self))
}

func TestAnObserverFollowsAndNeverStands(t *testing.T) {
	s := observer()
	require.NoError(t, s.Follow(2))
	assert.Equal(t, memberstate.Observer, s.Role)
	require.NoError(t, s.StandDown())
	require.NoError(t, s.Raise(6, 0))
	assert.Equal(t, memberstate.Observer, s.Role)
	assert.False(t, s.MayStand(self))
}

func TestIllegalTransitionsChangeNothing(t *testing.T) {
	illegal := []struct {
		from  memberstate.State
		tried string
		try   func(*memberstate.State) error
	}{
		{candidate(t), "raise the term to 5", func(s *memberstate.State) error { return s.Raise(5, 0) }},
		{leader(t), "raise the term to 4", func(s *memberstate.State) error { return s.Raise(4, 0) }},
		{memberstate.State{}, "before any term", func(s *memberstate.State) error { return s.VoteFor(self) }},
		{memberstate.State{}, "before any term", func(s *memberstate.State) error { return s.Follow(2) }},
		{candidate(t), "vote for no one", func(s *memberstate.State) error { return s.VoteFor(memberstate.Nobody) }},
		{candidate(t), "vote for no one", func(s *memberstate.State) error { return s.VoteFor(memberstate.Stranger) }},
		{leader(t), "vote for 2 as well", func(s *memberstate.State) error { return s.VoteFor(2) }},
		{observer(), "as an observer", func(s *memberstate.State) error { return s.VoteFor(2) }},
		{candidate(t), "follow no one", func(s *memberstate.State) error { return s.Follow(memberstate.Nobody) }},
		{leader(t), "follow 2 while leading", func(s *memberstate.State) error { return s.Follow(2) }},
		{follower(t), "follow 3 as well", func(s *memberstate.State) error { return s.Follow(3) }},
		{candidate(t), "without its own vote", func(s *memberstate.State) error { return s.Lead(self) }},
		{follower(t), "lead as follower", func(s *memberstate.State) error { return s.Lead(self) }},
		{observer(), "lead as observer", func(s *memberstate.State) error { return s.Lead(self) }},
		{candidate(t), "stand down without a leader", (*memberstate.State).StandDown},
		{observer(), "promise 1s", func(s *memberstate.State) error { return s.PromiseFor(time.Second) }},
	}
	for _, i := range illegal {
		t.Run(i.tried, func(t *testing.T) {
			s := i.from
			err := i.try(&s)
			var transition *memberstate.TransitionError
			require.ErrorAs(t, err, &transition)
			assert.ErrorContains(t, err, i.tried)
			assert.Equal(t, i.from, transition.State)
			assert.Equal(t, i.from, s, "the state changed")
		})
	}
}

func TestAPromiseOnlyGrowsWithinATerm(t *testing.T) {
	s := candidate(t)
	require.NoError(t, s.PromiseFor(2*time.Second))
	require.Error(t, s.PromiseFor(time.Second))
	assert.Equal(t, 2*time.Second, s.Promise)
}

func TestRolesPrintTheirNames(t *testing.T) {
	assert.Equal(t, "candidate", memberstate.State{}.Role.String())
	assert.Equal(t, "observer", memberstate.Observer.String())
	assert.Equal(t, "role(9)", memberstate.Role(9).String())
}

// The test tries random transitions in random order.
func TestTransitionsKeepTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memberstate.Restart(memberstate.HardState{}, rapid.Bool().Draw(t, "observer"))
		seat := rapid.Map(rapid.IntRange(0, 4), func(i int) memberstate.Seat { return memberstate.Seat(i) })
		term := rapid.Map(rapid.IntRange(0, 9), func(i int) memberstate.Term { return memberstate.Term(i) })
		led := map[memberstate.Term]bool{}
		var before memberstate.State
		t.Repeat(map[string]func(*rapid.T){
			"raise":      func(t *rapid.T) { _ = s.Raise(term.Draw(t, "term"), 0) },
			"vote":       func(t *rapid.T) { _ = s.VoteFor(seat.Draw(t, "seat")) },
			"follow":     func(t *rapid.T) { _ = s.Follow(2 + seat.Draw(t, "seat")%3) },
			"stand down": func(*rapid.T) { _ = s.StandDown() },
			"lead": func(t *rapid.T) {
				if s.Lead(self) == nil {
					if led[s.Term] {
						t.Fatalf("it leads term %d again", s.Term)
					}
					led[s.Term] = true
				}
			},
			"": func(t *rapid.T) {
				holds(t, &s, &before)
				before = s
			},
		})
	})
}

// holds checks the invariants of a state, and of its change since before.
func holds(t *rapid.T, s, before *memberstate.State) {
	switch {
	case s.Term < before.Term:
		t.Fatalf("the term fell from %d to %d", before.Term, s.Term)
	case s.Term == before.Term && before.Vote != memberstate.Nobody && s.Vote != before.Vote:
		t.Fatalf("the vote changed from %d to %d", before.Vote, s.Vote)
	case s.Role == memberstate.Follower && (s.Leader == memberstate.Nobody || s.Leader == self):
		t.Fatalf("a follower without a leader: %+v", s)
	case s.Role == memberstate.Candidate && s.Leader != memberstate.Nobody:
		t.Fatalf("a candidate with a leader: %+v", s)
	case s.Role == memberstate.Leader && (s.Leader != self || s.Vote != self || s.Spent):
		t.Fatalf("a leader that did not win: %+v", s)
	case s.Role == memberstate.Observer && s.Vote != memberstate.Nobody:
		t.Fatalf("an observer that voted: %+v", s)
	case s.Term == 0 && (s.Vote != memberstate.Nobody || s.Leader != memberstate.Nobody):
		t.Fatalf("something happened in term 0: %+v", s)
	}
}

// It has one vote in a term, and whoever stands votes for itself.
func TestACandidateThatHasVotedForAnotherDoesNotStand(t *testing.T) {
	s := candidate(t)
	require.NoError(t, s.VoteFor(2))
	require.Equal(t, memberstate.Candidate, s.Role)
	assert.False(t, s.MayStand(self))
	assert.True(t, s.MayStand(2), "as far as its vote is concerned")
	require.NoError(t, s.Raise(6, 0))
	assert.True(t, s.MayStand(self))
}

// Whoever reads the error of a defect needs the whole state.
func TestTheErrorOfATransitionNamesTheState(t *testing.T) {
	s := candidate(t)
	require.NoError(t, s.VoteFor(2))
	require.NoError(t, s.Follow(3))
	assert.EqualError(t, s.Follow(4), "memberstate: cannot follow 4 as well: follower in term 5, vote 2, leader 3, spent true")
}
