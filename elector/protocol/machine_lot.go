// In which order the voters of a group take turns (D18).
//
// Turns rotate with the term. If all groups of a node had the same order, then all groups of one term
// would have the same first candidate: when a node with 10,000 leaders dies, a single survivor would
// win 10,000 elections, and lead everything. So each group has a lot, which its name decides, and the
// lot shuffles its voters. It is not enough that the lot shifts the order, because then the groups that
// one node leads would again have one successor: the next in the cycle.

package protocol

import (
	"hash/fnv"

	"github.com/hustings/hustings/memberstate"
)

// lot decides the order of a group's voters. All of its members must have the same. With the zero lot they take
// turns as they are listed.
type lot uint16

// lotOf is the lot of a group.
func lotOf(name string) lot {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	sum := h.Sum32()
	return lot(sum>>16 ^ sum)
}

// place is the place of a voter, one of n, in the order of its group: from 1 to n, and 0 for n.
func (l lot) place(v memberstate.Seat, n int) int {
	// A Fisher-Yates shuffle, of which only this voter's way is followed.
	place, rest := int(v)%n, int(l)
	for last := n - 1; last > 0; last-- {
		with := last - rest%(last+1)
		rest /= last + 1
		switch place {
		case with:
			return last
		case last:
			place = with
		}
	}
	return place
}
