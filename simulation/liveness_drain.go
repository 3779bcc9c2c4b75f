// Liveness and drains: in a healed group a node that drains hands over all that it leads, and leads nothing more as long as
// others serve. If none serves, each group keeps its leader. A node that is protected hands over nothing meanwhile.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// drainedWithin is how soon a node leads nothing, in detection times, once the others are able and their ledgers are good
// enough: a handover has three phases of one each, and one that has failed is tried again after twice as long.
const drainedWithin = 16

// askedAgain is how often a target whose ledger is behind is asked again before the next beat, at least.
const askedAgain = 16

// drainEnds drains a leader's node, and then all.
func (w *world) drainEnds(core []int) {
	if len(core) < 2 || !w.handsOverSoon() {
		return
	}
	leader := w.reigns(core)[0].leader
	if leader == memberstate.Nobody {
		return
	}
	n := &w.nodes[leader-1]
	w.holdsStill(n)
	w.isCalledOff(n)
	before := w.reigns(core)
	n.drains(0)
	n.moves(n.Incarnation)
	if !w.handsAllOver(n) {
		return
	}
	w.run(time.Duration(w.now) + calmFor*w.check.Detection())
	w.check.Counts[invariant.DrainEnds]++
	if n.leadsAny() {
		w.check.Violated(invariant.DrainEnds, n.led(), "it leads again although its node drains: %s", w.describe(n.led().Place))
	}
	w.hasNoGap(core, n, before)
	for _, i := range core {
		w.nodes[i].drains(0)
	}
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection()) // those that are told first hand over to the others
	w.keepsLeader(core)
	w.stillElects(core)
	for _, i := range core {
		w.nodes[i].serves(w.nodes[i].Incarnation)
	}
}

// handsAllOver waits until a draining node leads nothing, and demands that this is soon. It says whether the run goes on. What a node tries
// in vain it tries again after twice as long.
func (w *world) handsAllOver(n *node) bool {
	limit := w.now + 2*int64(w.mayHold()+4*w.tick) + int64(drainedWithin*w.check.Detection())
	for !w.check.Over && n.leadsAny() {
		if w.now >= limit {
			w.check.Violated(invariant.DrainEnds, n.led(), "its node drains, and it leads on: %s", w.describe(n.led().Place))
			return false
		}
		w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/2)
	}
	return !w.check.Over
}

// stillElects cuts a leader off while all nodes drain, and demands that the others have one all the same.
func (w *world) stillElects(core []int) {
	if leader, cut := w.cutsLeaderOff(core); cut {
		w.sever(leader, -1)
		w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	}
}

// hasNoGap demands that the groups that a node led have been handed over without a gap that a handover does not have, and that nothing
// has happened to the others. A member without pre-vote, or with a very short wait, may stand before it has heard of the new leader. And if
// the last write takes longer than a target is asked again at once, that waits for a beat. Who has taken over may hand over to a preferred
// member then.
func (w *world) hasNoGap(core []int, n *node, before []reign) {
	longest := 4*w.network.slowest + int64(2*w.longestWrite)
	if int64(w.longestWrite) > askedAgain*2*int64(w.network.delay) {
		longest += 2 * int64(w.options.Timing.Heartbeat)
	}
	if w.check.Over || w.mayHold() > 0 || int64(w.options.Timing.MinVoteWait) < longest {
		return
	}
	stays := !w.anyPreferred(core)
	for place, now := range w.reigns(core) {
		was, m := before[place], &n.members[place].Member
		if w.someDoNotAskFirst(core, place) {
			continue
		}
		next := was.term + 1
		w.check.Counts[invariant.ServiceGap]++
		switch {
		case was.leader == memberstate.Nobody:
		case was.leader != n.Seat && now != was && stays:
			w.check.Violated(invariant.ServiceGap, m, "n%d led term %d, n%d leads term %d after another node has drained", was.leader-1, was.term, now.leader-1, now.term)
		case was.leader == n.Seat && now.term != next && stays:
			w.check.Violated(invariant.ServiceGap, m, "its node has drained, and term %d has come after term %d", now.term, was.term)
		case was.leader == n.Seat && w.check.Gap(m, next) > longest:
			w.check.Violated(invariant.ServiceGap, m, "its node has drained, and nobody led for %d ns, not for at most %d", w.check.Gap(m, next), longest)
		}
	}
}

// someDoNotAskFirst says whether some members of a group stand without a pre-vote.
func (w *world) someDoNotAskFirst(core []int, place int) bool {
	return slices.ContainsFunc(core, func(i int) bool { return !w.nodes[i].members[place].rules().PreVote })
}

// handsOverSoon says whether ledgers catch up soon, and questions are answered soon, so that handovers succeed.
func (w *world) handsOverSoon() bool {
	return !w.check.Over && w.tick <= idleFor*w.check.Detection() && w.network.delay+w.network.jitter <= w.options.Timing.Heartbeat/2
}

// isCalledOff orders a node to drain, one group at a time, and soon to serve again, in some worlds. The next drain must hand over what waited
// for its turn in this one.
func (w *world) isCalledOff(n *node) {
	if w.lot(n.Index, 3) != 1 {
		return
	}
	n.drains(1)
	w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/2)
	n.serves(n.Incarnation)
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
}

// holdsStill protects a node, in some worlds, and demands that it keeps what it leads although it is to balance, and drains. No handover is under
// way before.
func (w *world) holdsStill(n *node) {
	if w.lot(n.Index, 3) != 0 {
		return
	}
	n.protects()
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	before := w.reigns([]int{n.Index})
	n.balances(w.check.Detection())
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	n.balances(0)
	n.drains(0)
	w.run(time.Duration(w.now) + endsWithin*w.check.Detection())
	for place, was := range before {
		m := &n.members[place]
		w.check.Counts[invariant.HoldsStill]++
		if was.leader == n.Seat && !w.check.Over && (!m.Leads() || m.group.State().Term != was.term) {
			w.check.Violated(invariant.HoldsStill, &m.Member, "its node is protected, and it no longer leads term %d: %s", was.term, w.describe(place))
		}
	}
}

// led is the first member of a node that leads; nil if none does.
func (n *node) led() (first *check.Member) {
	for place := range n.members {
		if m := &n.members[place]; m.Leads() {
			return &m.Member
		}
	}
	return nil
}

func (n *node) leadsAny() bool { return n.led() != nil }
