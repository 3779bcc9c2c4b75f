// Lists of members: which are refused, and the order of seats.

package memberstate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/memberstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func members(t *testing.T, list ...memberstate.Member) memberstate.Members {
	t.Helper()
	m, err := memberstate.NewMembers(list)
	require.NoError(t, err)
	return m
}

func watcher(id string) memberstate.Member { return memberstate.Member{ID: id, Observer: true} }

func TestWrongListsAreRefused(t *testing.T) {
	crowd := make([]memberstate.Member, memberstate.MaxMembers+1)
	for i := range crowd {
		crowd[i].ID = fmt.Sprint("n", i)
	}
	wrong := map[string][]memberstate.Member{
		"no voters":                      {watcher("w")},
		`member "n0" is listed twice`:    memberstate.Voters("n0", "n1", "n0"),
		"member 1 has an empty id":       memberstate.Voters("n0", ""),
		"65 members, 64 is the most":     crowd,
		"member 0 has an id of 256 byte": memberstate.Voters(strings.Repeat("n", 256)),
	}
	for problem, list := range wrong {
		_, err := memberstate.NewMembers(list)
		assert.ErrorContains(t, err, problem)
	}
}

func TestVotersSitBeforeObserversEachInOrder(t *testing.T) {
	m := members(t, watcher("a"), memberstate.Member{ID: "n2"}, memberstate.Member{ID: "n1"}, watcher("0"))
	assert.Equal(t, "n1 n2 [0] [a]", m.String())
	assert.EqualValues(t, 1, m.Seat("n1"))
	assert.Equal(t, "a", m.ID(4))
	assert.Equal(t, memberstate.SetOf(1, 2), m.Voters())
	assert.Equal(t, memberstate.SetOf(1, 2, 3, 4), m.All())
	assert.Equal(t, 4, m.Len())
}

func TestIDsThatEndAlikeHaveSeatsOfTheirOwn(t *testing.T) {
	ids := []string{"a0", "b0", "c0", "c1", "cP"} // 0 and P have the same hash
	m, err := memberstate.NewMembers(memberstate.Voters(ids...))
	require.NoError(t, err)
	for i, id := range ids {
		assert.EqualValues(t, i+1, m.Seat(id), id)
	}
	assert.Equal(t, memberstate.Stranger, m.Seat("d0"))
	assert.Equal(t, memberstate.Stranger, memberstate.Members{}.Seat("a0"))
}

func TestNobodyAndStrangersHaveNoSeat(t *testing.T) {
	m := members(t, memberstate.Voters("n0", "n1")...)
	assert.Equal(t, memberstate.Nobody, m.Seat(""))
	assert.Equal(t, memberstate.Stranger, m.Seat("n9"))
	assert.Empty(t, m.ID(memberstate.Nobody))
	assert.Empty(t, m.ID(memberstate.Stranger))
	assert.Empty(t, m.ID(3))
	for _, none := range []memberstate.Seat{memberstate.Nobody, memberstate.Stranger} {
		assert.Zero(t, memberstate.SetOf(none))
		assert.False(t, m.All().Has(none))
	}
}

func TestSetsHoldAllSeats(t *testing.T) {
	var set memberstate.Set
	var seats []memberstate.Seat
	for s := memberstate.Seat(1); s <= memberstate.MaxMembers; s++ {
		assert.False(t, set.Has(s))
		set = set.With(s)
		seats = append(seats, s)
		assert.True(t, set.Has(s))
		assert.Equal(t, int(s), set.Len())
	}
	assert.Equal(t, seats, slices.Collect(set.Seats()))
	assert.Equal(t, 63, set.Without(64).Len())
	for first := range set.Seats() {
		assert.EqualValues(t, 1, first)
		break
	}
}

func TestAQuorumIsAMajority(t *testing.T) {
	var voters memberstate.Set
	for n, quorum := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 64: 33} {
		voters = 0
		for s := range n {
			voters = voters.With(memberstate.Seat(s + 1))
		}
		assert.Equal(t, quorum, memberstate.Quorum(voters), "%d voters", n)
	}
}

func TestTheDigestIsThatOfTheVoters(t *testing.T) {
	three := members(t, memberstate.Voters("n0", "n1", "n2")...).Digest()
	assert.Equal(t, three, members(t, memberstate.Voters("n2", "n0", "n1")...).Digest(), "order does not matter")
	assert.Equal(t, three, members(t, append(memberstate.Voters("n0", "n1", "n2"), watcher("w"))...).Digest(), "observers do not matter")
	assert.NotEqual(t, three, members(t, memberstate.Voters("n0", "n1")...).Digest())
	assert.NotEqual(t, three, members(t, memberstate.Voters("n0", "n1", "n3")...).Digest())
	assert.NotEqual(t, members(t, memberstate.Voters("ab", "c")...).Digest(), members(t, memberstate.Voters("a", "bc")...).Digest())
}

func TestPositionsAreOrderedByTermThenIndex(t *testing.T) {
	order := []memberstate.Position{{}, {Index: 1}, {Term: 1}, {Term: 1, Index: 5}, {Term: 2, Index: 1}}
	for i, p := range order {
		for j, q := range order {
			assert.Equal(t, sign(i-j), p.Compare(q), "%v against %v", p, q)
		}
	}
	assert.Equal(t, "7:42", memberstate.Position{Term: 7, Index: 42}.String())
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestTheLargestListWithTheLongestIDsIsAccepted(t *testing.T) {
	list := make([]memberstate.Member, memberstate.MaxMembers)
	for i := range list {
		list[i].ID = fmt.Sprintf("%0*d", memberstate.MaxIDLength, i)
	}
	m, err := memberstate.NewMembers(list)
	require.NoError(t, err)
	assert.Len(t, m.List(), memberstate.MaxMembers)
	_, err = memberstate.NewMembers(memberstate.Voters(strings.Repeat("n", memberstate.MaxIDLength+1)))
	require.Error(t, err)
}
