// Faults that break what every election by votes assumes. Some of them can be
// detected, and must be: a store that is missing, another list of voters. Where detection is
// impossible, safety is not demanded from the strike on.

package simulation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

func drawWiped(w *world, s *Strike) bool {
	s.Count = w.swarm.random.Int64N(2)
	return true
}

// wipe restarts a node with an empty disk. Opening the store of a node that is not new
// must fail because it is missing. If s.Count is 1, the operator insists that the node is new, and
// the node forgets its votes.
func wipe(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if n.Alive {
		n.crash()
	}
	if s.Count == 0 {
		_, err := memberstate.OpenFileOn(new(crashdisk.Disk), "wiped", fmt.Sprint(n.Seat))
		if errors.Is(err, memberstate.ErrNoStore) {
			w.tells(Wiped)
		} else {
			w.check.ViolatedBy(invariant.TermsRise, &n.Node, 0, "its disk was wiped, but opening its store does not report a missing store: %v", err)
		}
		return true
	}
	w.check.ExcuseAll()
	for place := range n.members {
		n.disk.Replace(place, memberstate.HardState{})
		n.members[place].Replaced(memberstate.HardState{})
	}
	n.comesBack(s.Lasts)
	return true
}

// rollBack restarts a node with the disk that it had when it was last started, as
// restoring a backup does. A ledger that has grown since can reveal that, or a peer that has seen a later process.
func rollBack(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if slices.Equal(n.disk.Durable, n.disk.AtStart) {
		return false
	}
	if n.Alive {
		n.crash()
	}
	w.check.ExcuseAll()
	n.disk.RollBack()
	for place, hard := range n.disk.AtStart {
		n.members[place].Replaced(hard)
	}
	n.comesBack(s.Lasts)
	return true
}

// addTwin starts a second process under a member's name, with a disk of its own. Messages
// to the member reach the two processes alternately. One of them finds out when a peer speaks of the other one's
// incarnation.
func addTwin(w *world, s *Strike) bool {
	if w.twin != nil || s.Node >= w.options.Members {
		return false
	}
	w.check.ExcuseAll()
	w.twin = w.addNode(w.nodes[s.Node].Seat)
	w.twin.start()
	return true
}

func drawOthers(w *world, _ *Strike) bool { return w.options.Members > 2 }

// listOthers has a member list only the first of the voters, from the beginning. Its list is so
// short that a quorum of it and a quorum of all voters may be disjoint. The digests of the lists
// differ, so nothing that this member says counts for the others.
func listOthers(w *world, s *Strike) bool {
	n := w.struckBy(s)
	listed := w.voters >> ((w.options.Members - 1) / 2)
	if listed == w.voters || !listed.Has(n.Seat) {
		return false
	}
	for _, m := range w.membersOf(s) {
		e := &m.electorate
		e.Members, e.Rules.Voters, e.Rules.All = w.first(listed.Len()), listed, listed
	}
	w.check.Excuse(invariant.Converges)
	return true
}
