// Liveness: after all that was, a majority that is up and connected has a leader
// soon, and keeps it.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// All in detection times.
const (
	// convergeWithin is how soon a healed majority has a leader that all follow; where a
	// member is set up differently, and raises terms that it cannot win or makes the
	// others wait for a longer lease, it is convergeMixed.
	convergeWithin = 12
	convergeMixed  = 20
	// endsWithin is how soon what was begun before has come to its end, a handover for
	// one, and calmFor how long the leader must be kept then.
	endsWithin = 10
	calmFor    = 20
	// preferWithin is how soon a preferred leader leads. Who has declined often is
	// asked rarely, at last every 128 detection times.
	preferWithin = 150
	// awayFor is how long a member is cut off that must come back quietly.
	awayFor = 3
)

// chooseCore draws the majority that is to be healed, or takes the scenario's; nil if
// liveness is not demanded.
func (w *world) chooseCore() []int {
	if w.scripted {
		return w.core
	}
	if w.check.excused[Converges] {
		return nil
	}
	voters := w.options.Members
	quorum := memberstate.Quorum(w.voters)
	core := w.swarm.random.Perm(voters)[:quorum+w.swarm.random.IntN(voters-quorum+1)]
	slices.Sort(core)
	w.core = core
	return core
}

// converge heals the core, leaves the others as they are but for new troubles, and
// demands what a healthy group must do.
func (w *world) converge(core []int) (took time.Duration) {
	w.calm = true
	w.heal(core)
	took = w.electsSoon(core)
	w.run(time.Duration(w.now) + endsWithin*w.options.Timing.Detection())
	w.preferredLeads(core)
	w.keepsLeader(core, calmFor)
	w.returnsQuietly(core)
	w.hintsInVain(core)
	return took
}

// heal has the nodes of the core run, on good links and disks. The others are cut off
// for good, or dead.
func (w *world) heal(core []int) {
	w.network.healAll()
	w.longestWrite = w.hurried(quickWrite)
	for i := range w.nodes {
		n := &w.nodes[i]
		n.sluggish, n.doomed = 0, 0
		n.disk.slow, n.disk.trouble = false, 0
		for place := range n.members {
			n.members[place].engine.slow, n.members[place].engine.unwilling = 0, false
			n.members[place].rules().Preferred = w.nodes[core[0]].members[place].rules().Preferred
		}
		if !slices.Contains(core, i) && n != w.observer {
			w.sever(i, 1)
			continue
		}
		if n.alive && n.hung {
			n.crash()
		}
		if !n.alive {
			n.start()
		} else {
			n.resume(n.incarnation)
		}
	}
}

// sever cuts a node off (1), or lets it come back (-1).
func (w *world) sever(i, sign int) {
	t := trouble{links: w.linksBetween(func(from, to int) bool { return from == i || to == i })}
	w.network.apply(&t, sign)
}

// electsSoon demands a leader.
func (w *world) electsSoon(core []int) time.Duration {
	began, within := w.now, time.Duration(convergeWithin)
	if s := &w.swarm.struck; s[WithoutPreVote]+s[WithoutLeases]+s[SwitchLeases]+s[LongerLeases] > 0 {
		within = convergeMixed
	}
	limit := began + int64(within*w.options.Timing.Detection())
	for !w.check.over && !w.settled(core) {
		if w.now >= limit {
			w.check.violated(Converges, &w.nodes[core[0]].members[0], "no leader of n%v within %d detection times: %s", core, within, w.describe())
			return 0
		}
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/4)
	}
	return time.Duration(w.now - began)
}

// keepsLeader demands that nothing changes, for so many detection times, and that the
// engine of the leader serves.
func (w *world) keepsLeader(core []int, detections time.Duration) {
	terms := make([]memberstate.Term, w.options.Groups)
	for place := range terms {
		terms[place] = w.nodes[core[0]].members[place].group.Term
	}
	w.run(time.Duration(w.now) + detections*w.options.Timing.Detection())
	for place, term := range terms {
		first := &w.nodes[core[0]].members[place]
		w.check.counts[Converges]++
		if !w.settled(core) || first.group.Term != term {
			w.check.violated(Converges, first, "the leader of term %d was lost while all was calm: %s", term, w.describe())
			return
		}
		if leader := &w.nodes[first.group.Leader-1].members[place]; leader.engine.leading != term {
			w.check.violated(Converges, leader, "it leads term %d, and its engine does not serve", term)
		}
	}
}

// preferredLeads demands that a preferred member leads in the end, if one can.
func (w *world) preferredLeads(core []int) {
	var can memberstate.Set
	for _, i := range core {
		can = can.With(w.nodes[i].seat)
	}
	for place := range w.options.Groups {
		first := &w.nodes[core[0]].members[place]
		wanted := can & first.rules().Preferred
		if wanted == 0 || w.check.over {
			continue
		}
		w.check.counts[PreferredLeads]++
		limit := w.now + int64(preferWithin*w.options.Timing.Detection())
		for !w.check.over && (!w.settled(core) || !wanted.Has(first.group.Leader)) {
			if w.now >= limit {
				w.check.violated(PreferredLeads, first, "of seats %b none leads: %s", wanted, w.describe())
				return
			}
			w.run(time.Duration(w.now) + w.options.Timing.Heartbeat)
		}
	}
}

// returnsQuietly cuts one follower off, where the others are still a quorum, and
// demands that it comes back without a change of the term.
func (w *world) returnsQuietly(core []int) {
	if len(core) <= memberstate.Quorum(w.voters) || w.check.over {
		return
	}
	first := &w.nodes[core[0]].members[0].group
	term, leader := first.Term, first.Leader
	for _, i := range core {
		n := &w.nodes[i]
		if n.seat == leader {
			continue
		}
		w.sever(i, 1)
		w.run(time.Duration(w.now) + awayFor*w.options.Timing.Detection())
		w.sever(i, -1)
		w.run(time.Duration(w.now) + endsWithin*w.options.Timing.Detection())
		w.check.counts[ReturnsQuietly]++
		// Without pre-vote it has raised its own term, from which the leader frees it by a
		// term of its own.
		quietly := first.Leader == leader && (first.Term == term || !n.members[0].rules().PreVote)
		if !w.settled(core) || !quietly && !w.mayDepose(core, n) {
			w.check.violated(ReturnsQuietly, &n.members[0], "it came back, and term %d under n%d is over: %s", term, leader-1, w.describe())
		}
		return
	}
}

// hintsInVain tells all followers that the connection to their leader is lost, which is
// not so, and demands that nothing comes of it: the leader's veto is heard. Who asks
// waits for that as long as one and a half round trips, as it has measured them; where
// they vary by more, or its clock is far off, it may be too late.
func (w *world) hintsInVain(core []int) {
	first := &w.nodes[core[0]].members[0].group
	if w.check.over || first.Leader == memberstate.Nobody || w.swarm.struck[ClockBeyond] > 0 {
		return
	}
	w.network.jitter = min(w.network.jitter, w.network.delay/8)
	term, leader := first.Term, first.Leader
	hint(w, &Strike{Fault: FalseHint, Node: core[0], Other: int(leader) - 1, Count: 1})
	w.run(time.Duration(w.now) + endsWithin*w.options.Timing.Detection())
	w.check.counts[HintsInVain]++
	if !w.settled(core) || first.Term != term {
		w.check.violated(HintsInVain, &w.nodes[leader-1].members[0], "a connection was said to be lost, and term %d is over: %s", term, w.describe())
	}
}

// mayDepose says whether a node that comes back may depose the leader of the others: without
// pre-vote it has raised its term, and those without pre-vote adopt that, and may elect it.
func (w *world) mayDepose(core []int, n *node) bool {
	without := func(n *node) bool { return !n.members[0].rules().PreVote }
	return without(n) && slices.ContainsFunc(core, func(i int) bool { return &w.nodes[i] != n && without(&w.nodes[i]) })
}

// settled says whether in each group all of the core, and the observer, follow one of the
// core.
func (w *world) settled(core []int) bool {
	for place := range w.options.Groups {
		if !w.settledIn(core, place) {
			return false
		}
	}
	return true
}

func (w *world) settledIn(core []int, place int) bool {
	first := &w.nodes[core[0]].members[place].group
	if first.Leader == memberstate.Nobody || !slices.Contains(core, int(first.Leader)-1) || !w.nodes[first.Leader-1].members[place].leads() {
		return false
	}
	follows := func(n *node) bool {
		g := &n.members[place].group
		return n.alive && g.Leader == first.Leader && g.Term == first.Term
	}
	for _, i := range core {
		if !follows(&w.nodes[i]) {
			return false
		}
	}
	return w.observer == nil || follows(w.observer)
}
