// Liveness: once all faults are over, a majority that is up and connected soon has a leader, and
// keeps it.

package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// All times are in detection times.
const (
	// convergeWithin is how soon a healed majority has a leader that all follow. It is convergeMixed
	// if the settings of a member differ, because it may raise terms that it cannot win, or make
	// the others wait for a longer lease.
	convergeWithin = 12
	convergeMixed  = 20
	// endsWithin is how soon everything that began before has ended, such as a handover; calmFor is
	// how long the leader must be kept after that.
	endsWithin = 10
	calmFor    = 20
	// preferWithin is how soon a preferred member leads. A member that has declined often is
	// asked rarely, in the end every 128 detection times, and one whose ability came and went must
	// have been able for as long before it is asked at all.
	preferWithin = 280
	// awayFor is how long a member is cut off before it must come back quietly.
	awayFor = 3
)

// chooseCore draws the majority that is to be healed, or takes the scenario's; nil if
// liveness is not demanded.
func (w *world) chooseCore() []int {
	if w.scripted {
		return w.core
	}
	if w.check.Excused(invariant.Converges) {
		return nil
	}
	voters := w.options.Members
	quorum := w.check.Majority()
	core := w.swarm.random.Perm(voters)[:quorum+w.swarm.random.IntN(voters-quorum+1)]
	slices.Sort(core)
	w.core = core
	return core
}

// converge heals the core, and demands what a healthy group must do. The other nodes have no new
// troubles, and are not healed.
func (w *world) converge(core []int) (took time.Duration) {
	w.calm = true
	w.heal(core)
	took = w.electsSoon(core, invariant.Converges)
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	for _, demand := range []func(core []int){
		w.preferredLeads, w.keepsLeader, w.givesBack, w.returnsQuietly, w.hintsInVain, w.replacesSoon, w.changesQuietly, w.upgrades, w.drainEnds, w.getsEven, w.allAtOnce,
	} {
		demand(core)
		w.oneTable(core)
	}
	w.ableLeads(core)
	w.leadsAllTheSame(core)
	return took
}

// heal has the nodes of the core run, on good links and disks. The others are cut off
// or down for good.
func (w *world) heal(core []int) {
	w.network.healAll()
	w.longestWrite = w.hurried(quickWrite)
	for i := range w.nodes {
		n := &w.nodes[i]
		n.quickens()
		n.doomed = 0
		n.slowDisk, n.trouble = false, 0
		for place := range n.members {
			n.members[place].engine.recover()
		}
		if !slices.Contains(core, i) && !w.check.Observes(n.Seat) {
			w.sever(i, 1)
			continue
		}
		if n.Alive && (n.Hung || n.failures() > 0) {
			n.crash()
		}
		if !n.Alive {
			n.start()
		} else {
			n.resume(n.Incarnation)
		}
		n.diskReturns()
		n.judgeReturns()
		n.serves(n.Incarnation)
		n.moves(n.Incarnation)
		n.stays(n.Incarnation)
		for place := range n.members {
			m := &n.members[place]
			m.returnsFromAll()
			m.answersNow()
			m.mayLead()
		}
	}
	for place := range w.groups { // members that prefer different leaders would hand over to and fro
		for _, i := range core {
			wanted := w.nodes[core[0]].members[place].rules().Preferred
			m := &w.nodes[i].members[place]
			if m.rules().Preferred != wanted {
				m.prefers(wanted)
			}
			m.electorate.Rules.Preferred = wanted // it may be about to join again
		}
	}
}

// sever cuts a node off (1), or lets it come back (-1).
func (w *world) sever(i, sign int) {
	t := trouble{links: w.linksBetween(func(from, to int) bool { return from == i || to == i })}
	w.network.apply(&t, sign)
}

// electsSoon demands a leader.
func (w *world) electsSoon(core []int, demands invariant.Invariant) time.Duration {
	within := w.convergesWithin()
	began, limit := w.now, w.now+int64(within*w.check.Detection())
	for !w.check.Over && !w.settled(core) {
		if w.now >= limit {
			place := w.unsettled(core)
			w.check.Violated(demands, &w.nodes[core[0]].members[place].Member, "no leader of n%v within %d detection times: %s", core, within, w.describe(place))
			return 0
		}
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/4)
	}
	return time.Duration(w.now - began)
}

// convergesWithin is how soon all groups have leaders. If few campaigns may be under way, one that fails keeps the others
// of its node waiting for a detection time, and the first one of a group may fail.
func (w *world) convergesWithin() time.Duration {
	within := time.Duration(convergeWithin)
	if w.mixed() {
		within = convergeMixed
	}
	if most := w.options.Campaigns; most > 0 {
		within += time.Duration(2 * len(w.groups) / most)
	}
	return within
}

// mixed says whether the members of a group may have different settings.
func (w *world) mixed() bool {
	for f, struck := range &w.swarm.struck {
		if struck > 0 && Fault(f).is(mixesSettings) {
			return true
		}
	}
	return false
}

// keepsLeader demands that nothing changes for a while, and that the leader's engine serves.
func (w *world) keepsLeader(core []int) {
	before := w.reigns(core)
	w.run(time.Duration(w.now) + calmFor*w.check.Detection())
	for place, was := range before {
		first, term := &w.nodes[core[0]].members[place], was.term
		w.check.Counts[invariant.Converges]++
		if !w.settledIn(core, place) || first.group.State().Term != term {
			w.check.Violated(invariant.Converges, &first.Member, "the leader of term %d was lost although no fault struck: %s", term, w.describe(place))
			return
		}
		if leader := &w.nodes[first.group.State().Leader-1].members[place]; leader.engine.Leading != term {
			w.check.Violated(invariant.Converges, &leader.Member, "it leads term %d, but its engine does not serve", term)
		}
	}
}

// preferredLeads demands that a preferred member leads in the end, if one can, and if all agree on who that is:
// a restart forgets what an operator has changed.
func (w *world) preferredLeads(core []int) {
	var can memberstate.Set
	for _, i := range core {
		can = can.With(w.nodes[i].Seat)
	}
	for place := range w.options.Groups {
		first := &w.nodes[core[0]].members[place]
		wanted := can & first.rules().Preferred
		disagrees := func(i int) bool { return w.nodes[i].members[place].rules().Preferred != first.rules().Preferred }
		if wanted == 0 || w.check.Over || slices.ContainsFunc(core, disagrees) {
			continue
		}
		w.check.Counts[invariant.PreferredLeads]++
		limit := w.now + int64(preferWithin*w.check.Detection())
		for !w.check.Over && (!w.settledIn(core, place) || !wanted.Has(first.group.State().Leader)) {
			if w.now >= limit {
				w.check.Violated(invariant.PreferredLeads, &first.Member, "none of the preferred seats %b leads: %s", wanted, w.describe(place))
				return
			}
			w.run(time.Duration(w.now) + w.options.Timing.Heartbeat)
		}
	}
}

// reign is the leader of a group, and its term.
type reign struct {
	leader memberstate.Seat
	term   memberstate.Term
}

// reigns are the reigns in all groups, as the core sees them.
func (w *world) reigns(core []int) []reign {
	all := make([]reign, len(w.groups))
	for place := range all {
		g := w.nodes[core[0]].members[place].group.State()
		all[place] = reign{g.Leader, g.Term}
	}
	return all
}

// returnsQuietly cuts off one follower for a while, if the others are still a quorum, and demands that
// its return does not change the term. Groups that it leads must only have a leader again.
func (w *world) returnsQuietly(core []int) {
	if len(core) <= w.check.Majority() || w.check.Over {
		return
	}
	before := w.reigns(core)
	away := w.leadsLeast(core, before)
	w.sever(away, 1)
	w.run(time.Duration(w.now) + awayFor*w.check.Detection())
	w.sever(away, -1)
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	if n := &w.nodes[away]; slices.ContainsFunc(before, func(was reign) bool { return was.leader == n.Seat }) {
		w.electsSoon(core, invariant.Converges)
	}
	now := w.reigns(core)
	for place, was := range before {
		m := &w.nodes[away].members[place]
		if was.leader == m.Seat {
			continue
		}
		w.check.Counts[invariant.ReturnsQuietly]++
		// Without pre-vote it has raised its own term. The leader then takes a larger term, so that
		// this member can follow it.
		quietly := now[place].leader == was.leader && (now[place].term == was.term || !m.rules().PreVote)
		if !w.settledIn(core, place) || !quietly && !w.mayDepose(core, m) {
			w.check.Violated(invariant.ReturnsQuietly, &m.Member, "its return ended term %d, which n%d led: %s", was.term, was.leader-1, w.describe(place))
		}
	}
}

// leadsLeast is the first of the nodes that lead the fewest groups.
func (w *world) leadsLeast(core []int, now []reign) int {
	return slices.MinFunc(core, func(a, b int) int { return cmp.Compare(w.leads(a, now), w.leads(b, now)) })
}

// hintsInVain tells all followers, falsely, that the connections to their leaders are lost, and
// demands that no term ends: the leader's veto arrives. A candidate waits for the veto for one and a
// half round trips, as it has measured them. If they vary by more, or its clock is far off, the veto
// may come too late, so this is excluded.
func (w *world) hintsInVain(core []int) {
	if w.check.Over || w.swarm.struck[ClockBeyond] > 0 {
		return
	}
	w.network.jitter = min(w.network.jitter, w.network.delay/8)
	before, told := w.reigns(core), memberstate.Set(0)
	for _, was := range before {
		if was.leader != memberstate.Nobody && !told.Has(was.leader) {
			hint(w, &Strike{Fault: FalseHint, Node: core[0], Other: int(was.leader) - 1, Count: 1})
			told = told.With(was.leader)
		}
	}
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	for place, was := range before {
		if was.leader == memberstate.Nobody || w.offers(core, place, was.leader) {
			continue
		}
		w.check.Counts[invariant.HintsInVain]++
		if now := w.nodes[core[0]].members[place].group.State().Term; !w.settledIn(core, place) || now != was.term {
			w.check.Violated(invariant.HintsInVain, &w.nodes[was.leader-1].members[place].Member, "a false hint of a lost connection ended term %d: %s", was.term, w.describe(place))
		}
	}
}

// changesQuietly makes the intervals of one member after the other three times as long, and then as they
// were, and demands that no term ends. It does so in some worlds only, because later demands are
// weaker then: they must allow for the longest intervals.
func (w *world) changesQuietly(core []int) {
	if w.check.Over || w.swarm.struck[ClockBeyond] > 0 || w.lot(len(core), 3) != 0 {
		return
	}
	before := w.reigns(core)
	for _, perMille := range []int64{3000, 1000} {
		for _, i := range core {
			for place := range w.groups {
				w.nodes[i].members[place].retimed(scaled(w.options.Timing, perMille))
			}
			w.run(time.Duration(w.now) + 2*w.check.Detection())
		}
	}
	for place, was := range before {
		if was.leader == memberstate.Nobody || w.offers(core, place, was.leader) {
			continue
		}
		w.check.Counts[invariant.ChangesQuietly]++
		if now := w.nodes[core[0]].members[place].group.State().Term; !w.settledIn(core, place) || now != was.term {
			w.check.Violated(invariant.ChangesQuietly, &w.nodes[was.leader-1].members[place].Member, "other intervals ended term %d: %s", was.term, w.describe(place))
		}
	}
}

// offers says whether a leader may hand over to a preferred member at any time. It does so late if that
// member has only just become able to lead.
func (w *world) offers(core []int, place int, leader memberstate.Seat) bool {
	preferred := w.nodes[core[0]].members[place].rules().Preferred
	return !preferred.Has(leader) && slices.ContainsFunc(core, func(i int) bool { return preferred.Has(w.nodes[i].Seat) })
}

// mayDepose says whether a member that comes back may depose the leader of the others. Without
// pre-vote it has raised its term; other members without pre-vote adopt that term, and may elect it.
func (w *world) mayDepose(core []int, m *member) bool {
	without := func(m *member) bool { return !m.rules().PreVote }
	return without(m) && slices.ContainsFunc(core, func(i int) bool {
		other := &w.nodes[i].members[m.Place]
		return other != m && without(other)
	})
}

// settled says whether in each group all of the core and all observers follow a member of the core.
func (w *world) settled(core []int) bool { return w.unsettled(core) == len(w.groups) }

// unsettled is the first group in which they do not; the number of groups if there is none.
func (w *world) unsettled(core []int) (place int) {
	for place < len(w.groups) && w.settledIn(core, place) {
		place++
	}
	return place
}

func (w *world) settledIn(core []int, place int) bool {
	first := w.nodes[core[0]].members[place].group.State()
	if first.Leader == memberstate.Nobody || !slices.Contains(core, int(first.Leader)-1) || !w.nodes[first.Leader-1].members[place].Leads() {
		return false
	}
	follows := func(n *node) bool {
		g := n.members[place].group.State()
		return n.Alive && g.Leader == first.Leader && g.Term == first.Term
	}
	for _, i := range core {
		if !follows(&w.nodes[i]) {
			return false
		}
	}
	for i := range w.nodes {
		if n := &w.nodes[i]; w.check.Observes(n.Seat) && !follows(n) {
			return false
		}
	}
	return true
}
