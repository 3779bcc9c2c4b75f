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
		"no voters":                                              {watcher("w")},
		`member "n0" is listed twice`:                            memberstate.Voters("n0", "n1", "n0"),
		"member 1 has an empty id":                               memberstate.Voters("n0", ""),
		"65 members, 64 is the most":                             crowd,
		"member 0 has an id of 256 byte":                         memberstate.Voters(strings.Repeat("n", 256)),
		"member 1 has an id that is not valid UTF-8: \"n\\xff\"": memberstate.Voters("n0", "n\xff"),
		`member "n1" is listed twice`:                            {{ID: "n0"}, watcher("n1"), {ID: "n1"}},
		`member "n2" is listed twice`:                            {{ID: "n0"}, {ID: "n2"}, watcher("n2")},
		`member "n3" is listed twice`:                            {{ID: "n0"}, watcher("n3"), watcher("n3")},
	}
	for problem, list := range wrong {
		m, err := memberstate.NewMembers(list)
		assert.ErrorContains(t, err, problem)
		assert.Equal(t, memberstate.Members{}, m)
	}
}

// Otherwise each start of a program would name the next one of several mistakes.
func TestAllProblemsOfAListAreNamed(t *testing.T) {
	list := append(make([]memberstate.Member, memberstate.MaxMembers), watcher("w"))
	_, err := memberstate.NewMembers(list)
	for _, problem := range []string{"member 0 has an empty id", "member 63 has an empty id", "65 members, 64 is the most", "no voters"} {
		assert.ErrorContains(t, err, problem)
	}
}

// Observers are members: the largest list may have one voter only.
func TestObserversCountAsMembers(t *testing.T) {
	list := []memberstate.Member{{ID: "n0"}}
	for i := range memberstate.MaxMembers - 1 {
		list = append(list, watcher(fmt.Sprint("w", i)))
	}
	m := members(t, list...)
	assert.Equal(t, memberstate.SetOf(1), m.Voters())
	assert.Equal(t, memberstate.MaxMembers, m.All().Len())
	_, err := memberstate.NewMembers(append(list, watcher("one more")))
	assert.ErrorContains(t, err, "65 members, 64 is the most")
}

func TestListsAreEqualIfTheirVotersAndTheirObserversAre(t *testing.T) {
	m := members(t, memberstate.Member{ID: "n0"}, memberstate.Member{ID: "n1"}, watcher("n2"))
	assert.True(t, m.Equal(members(t, watcher("n2"), memberstate.Member{ID: "n1"}, memberstate.Member{ID: "n0"})))
	for _, other := range []memberstate.Members{
		{},
		members(t, memberstate.Voters("n0", "n1", "n2")...),
		members(t, memberstate.Voters("n0", "n1")...),
		members(t, memberstate.Member{ID: "n0"}, memberstate.Member{ID: "n1"}, watcher("n3")),
		members(t, memberstate.Member{ID: "n0"}, watcher("n1"), watcher("n2")),
	} {
		assert.False(t, m.Equal(other), other)
		assert.False(t, other.Equal(m), other)
	}
}

// Taking a seat out that is not there changes nothing.
func TestWithoutTakesOut(t *testing.T) {
	set := memberstate.SetOf(1, 3)
	assert.Equal(t, memberstate.SetOf(1), set.Without(3))
	assert.Equal(t, set, set.Without(2))
	assert.Equal(t, set, set.Without(memberstate.Nobody))
	assert.Equal(t, set, set.Without(memberstate.Stranger))
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
	assert.Equal(t, uint64(0x986f1ce58234e51c), three, "stores and nodes of other versions have the same")
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
