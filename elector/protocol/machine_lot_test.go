package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

func TestWithoutALotVotersTakeTurnsAsTheyAreListed(t *testing.T) {
	for n := 1; n <= memberstate.MaxMembers; n++ {
		for v := 1; v <= n; v++ {
			assert.Equal(t, v%n, lot(0).place(memberstate.Seat(v), n))
		}
	}
}

// Every order must be as frequent as every other one. Otherwise the groups of a node that dies would not
// spread evenly over those that survive.
func TestLotsShuffleEvenly(t *testing.T) {
	for n, orders := range map[int]int{1: 1, 2: 2, 3: 6, 4: 24, 5: 120, 6: 720, 7: 5040} {
		seen := map[string]int{}
		for l := range 1 << 16 {
			var order []int
			for v := 1; v <= n; v++ {
				order = append(order, lot(l).place(memberstate.Seat(v), n))
			}
			seen[fmt.Sprint(order)]++
		}
		assert.Len(t, seen, orders, "%d voters", n)
		for order, times := range seen {
			assert.InDelta(t, 1<<16/orders, times, 1, order)
		}
	}
}

func TestALargeGroupIsShuffledToo(t *testing.T) {
	for _, l := range []lot{1, 1 << 8, 1<<16 - 1} {
		taken := map[int]bool{}
		for v := 1; v <= memberstate.MaxMembers; v++ {
			taken[l.place(memberstate.Seat(v), memberstate.MaxMembers)] = true
		}
		assert.Len(t, taken, memberstate.MaxMembers, "every place is taken")
	}
}

// The lot is a part of the protocol, because all members of a group must have the same.
func TestTheLotOfAGroupDoesNotChange(t *testing.T) {
	// The simulator calls a group range1876 because its lot is zero.
	for name, want := range map[string]lot{"": 0x811c ^ 0x9dc5, "g": 0xc40a, "orders": 0xa4b2, "range1876": 0} {
		assert.Equal(t, want, lotOf(name), "%q: %#x", name, lotOf(name))
	}
}

// When a node dies, its groups spread evenly over the others, and so they do when one of these dies, too.
func TestGroupsSpreadWhenANodeDies(t *testing.T) {
	const groups = 10_000
	for n := 3; n <= 5; n++ {
		leads := make([]memberstate.Seat, groups)
		r := &Rules{Self: 1, Ranks: true}
		for v := 1; v <= n; v++ {
			r.Voters = r.Voters.With(memberstate.Seat(v))
		}
		elect := func(term memberstate.Term, dead memberstate.Set) {
			led := map[memberstate.Seat]int{}
			for i := range leads {
				m := Machine{lot: lotOf(fmt.Sprint("group ", i))}
				m.Term = term
				if last := leads[i]; last == memberstate.Nobody || dead.Has(last) {
					leads[i] = firstOf(&m, r, last, dead)
				}
				led[leads[i]]++
			}
			mean := float64(groups) / float64(n-dead.Len())
			for v, count := range led {
				assert.False(t, dead.Has(v))
				assert.Less(t, float64(count), 1.1*mean, "%d voters, %d dead", n, dead.Len())
			}
		}
		elect(0, 0)
		for alive := n - 1; alive > n/2; alive-- {
			var dead memberstate.Set
			for v := alive + 1; v <= n; v++ {
				dead = dead.With(memberstate.Seat(v))
			}
			elect(memberstate.Term(n-alive), dead)
		}
	}
}

// firstOf is the voter that stands first, of those that are not dead.
func firstOf(m *Machine, r *Rules, last memberstate.Seat, dead memberstate.Set) (first memberstate.Seat) {
	for v := range r.Voters.Seats() {
		if !dead.Has(v) && (first == memberstate.Nobody || m.turn(r, v, last) < m.turn(r, first, last)) {
			first = v
		}
	}
	return first
}
