// Liveness: after all that was, a majority that is up and connected has a leader
// soon, and keeps it.

package simulation

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

const (
	// convergeWithin is how soon a healed majority has a leader that all follow,
	// endsWithin how soon what was begun before has come to its end, a handover for
	// one, and calmFor how long the leader must be kept then; all in detection times.
	convergeWithin = 20
	endsWithin     = 10
	calmFor        = 20
)

// converge heals a drawn majority, leaves the others as they are but for new troubles,
// and demands a leader. It is not asked of members that do not ask before they raise
// the term: as in DLedger, those with poor ledgers get in the way of the others, and
// nothing bounds for how long.
func (w *world) converge() (took time.Duration) {
	w.calm = true
	core := w.healCore()
	detection, began := w.options.Timing.Detection(), w.now
	limit := began + int64(convergeWithin*detection)
	for w.check.violation == nil && !w.settled(core) {
		if w.now >= limit {
			w.check.violated(Converges, &w.nodes[core[0]], "no leader of n%v within %d detection times: %s", core, convergeWithin, w.describe())
			return 0
		}
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/4)
	}
	took = time.Duration(w.now - began)
	w.run(time.Duration(w.now) + endsWithin*detection)
	term := w.nodes[core[0]].machine.Term
	w.run(time.Duration(w.now) + calmFor*detection)
	w.check.counts[Converges]++
	if w.check.violation == nil && (!w.settled(core) || w.nodes[core[0]].machine.Term != term) {
		w.check.violated(Converges, &w.nodes[core[0]], "the leader of term %d was lost while all was calm: %s", term, w.describe())
	}
	return took
}

// healCore draws a majority and heals it: its nodes run, its links and disks are good.
// The others are cut off for good, or dead.
func (w *world) healCore() []int {
	w.network.healAll()
	size := memberstate.Quorum(memberstate.Set(1<<len(w.nodes) - 1))
	core := w.random.Perm(len(w.nodes))[:size+w.random.IntN(len(w.nodes)-size+1)]
	in := make([]bool, len(w.nodes))
	for _, i := range core {
		in[i] = true
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		n.disk.slow, n.disk.failing, n.crashIn = false, false, 0
		switch {
		case in[i] && !n.alive:
			n.start()
		case in[i]:
			n.resume(n.incarnation)
		default:
			w.leaveOut(n)
		}
	}
	return core
}

// leaveOut makes the trouble of a node outside the core permanent.
func (w *world) leaveOut(n *node) {
	for i := range w.nodes {
		if i != n.index {
			w.network.cuts[n.index][i]++
			w.network.cuts[i][n.index]++
		}
	}
}

// settled says whether all of the core follow one of it.
func (w *world) settled(core []int) bool {
	first := &w.nodes[core[0]].machine
	if first.Leader == memberstate.Nobody || w.nodes[first.Leader-1].machine.Role != memberstate.Leader {
		return false
	}
	for _, i := range core {
		if m := &w.nodes[i].machine; !w.nodes[i].alive || m.Leader != first.Leader || m.Term != first.Term {
			return false
		}
	}
	return true
}
