// How late, not only whether: when a leader is cut off in a healthy group, the others notice it after one detection time and not
// after two, and another one soon serves. What is merely late is repaired by the next alarm or beat, so nothing else shows it.

package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// In detection times: how soon nobody follows a leader that was cut off, and how soon another one serves. Both are
// little more than one. But members that take no turns may stand at the same time, and those that do not ask first may raise a term that
// they cannot win; then they ask again.
const (
	noticedWithin = 3.0 / 2
	servedWithin  = 7.0 / 4
)

// replacesSoon cuts off the node that leads the most groups. It does so where nothing makes the others wait for longer: all have the
// same settings and sound clocks, messages are fast, and as many campaigns may be under way as groups lose their leader.
func (w *world) replacesSoon(core []int) {
	before := w.reigns(core)
	gone := slices.MaxFunc(core, func(a, b int) int { return cmp.Compare(w.leads(a, before), w.leads(b, before)) })
	most := w.options.Campaigns
	slow := w.network.delay+w.network.jitter > w.options.Timing.Heartbeat/8
	if w.check.Over || len(core) <= w.check.Majority() || slow || w.mixed() || w.swarm.struck[ClockBeyond] > 0 || most > 0 && w.leads(gone, before) > most {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(core), func(i int) bool { return i == gone })
	w.sever(gone, 1)
	cut := w.now
	w.within(noticedWithin, "still follows the leader that was cut off", before, gone, func(place int) bool {
		return !slices.ContainsFunc(rest, func(i int) bool {
			g := w.nodes[i].members[place].group.State()
			return g.Leader == before[place].leader && g.Term == before[place].term
		})
	})
	served := servedWithin
	if w.options.NoRanks || w.options.NoPreVote {
		t := w.options.Timing
		served += 3 * float64(t.MaxVoteWait+t.RoundTimeout) / float64(w.check.Detection())
	}
	w.within(served-time.Duration(w.now-cut).Seconds()/w.check.Detection().Seconds(), "has no leader that serves", before, gone, func(place int) bool {
		return slices.ContainsFunc(rest, func(i int) bool {
			m := &w.nodes[i].members[place]
			return m.group.State().Role == memberstate.Leader && m.engine.Leading == m.group.State().Term
		})
	})
	w.sever(gone, -1)
	w.electsSoon(core, invariant.Converges)
}

// within lets so many detection times pass, and demands that something has held by then, at one moment, in each group that a node
// has led. A leader that serves may hand over to a preferred member at once.
func (w *world) within(detections float64, otherwise string, before []reign, gone int, holds func(place int) bool) {
	limit := time.Duration(w.now) + time.Duration(detections*float64(w.check.Detection()))
	var waiting []int
	for place, was := range before {
		if was.leader == w.nodes[gone].Seat {
			waiting = append(waiting, place)
		}
	}
	w.check.Counts[invariant.InTime] += uint64(len(waiting))
	for len(waiting) > 0 && time.Duration(w.now) < limit && !w.check.Over {
		w.run(min(limit, time.Duration(w.now)+w.check.Detection()/64))
		waiting = slices.DeleteFunc(waiting, holds)
	}
	if len(waiting) > 0 && !w.check.Over {
		w.check.Violated(invariant.InTime, &w.nodes[gone].members[waiting[0]].Member, "its group %s: %s", otherwise, w.describe(waiting[0]))
	}
}

// leads is how many groups a node leads.
func (w *world) leads(i int, now []reign) (groups int) {
	for _, r := range now {
		if r.leader == w.nodes[i].Seat {
			groups++
		}
	}
	return groups
}
