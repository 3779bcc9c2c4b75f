// Liveness and ability: a healed majority that can work has a leader that works; and if none of its
// members can, it has a leader all the same. The world decides who can work, by what it has done to
// the members. What they say of themselves does not count.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/invariant"
)

// All times are in detection times.
const (
	// replacedWithin is how soon another member leads in place of one that cannot work any more, once
	// its last word does not count: it waits for a beat and has a detection time to hand over, the
	// others have one to notice that it has stepped down, and then they elect.
	replacedWithin = 8
	// heldWithin is how long a member that can work again may say that it is not able: the longest hold, by
	// a clock that is as slow as any.
	heldWithin = 190
	// resignedFor is how long a leader must be kept that cannot work, if no other member can.
	resignedFor = 10
	// idleFor is how rarely engines may write in a world in which a leader must be replaced. Only a write brings
	// another member's ledger up to date, and the old leader gives up its office ever more rarely.
	idleFor = 32
)

// ailment is what keeps a member from leading.
type ailment uint8

const (
	silent ailment = iota // its engine does not vouch for it
	hung                  // nor return from anything
	unwell                // it says that it is not well
	barred                // an operator has ordered it not to lead

	ailments
)

// lot draws what happens to the members of a group in the end. It depends on the options that every scenario has, so
// that a run can be written down.
func (w *world) lot(place, of int) int {
	o := &w.options
	n := uint64(o.Vouch) ^ uint64(o.Timing.Heartbeat)<<20 ^ uint64(o.Timing.Leak+8*o.Members+64*place)
	return int(choice.Scramble(n) % uint64(of))
}

func (w *world) ails(place int) ailment {
	if !w.vouches() {
		return barred
	}
	return ailment(w.lot(place, int(ailments)))
}

// falls has something keep a member from leading.
func (m *member) falls(to ailment) {
	switch to {
	case silent:
		m.hang(hangsVouch)
	case hung:
		m.hang(hangsIn[EngineHangs])
	case unwell:
		m.engine.flaps = flapping{m.world.now, 1 << 62}
	default:
		m.mayNotLead()
	}
}

// works says whether nothing that has been done to a member keeps it from leading.
func (m *member) works() bool {
	return m.Alive && !m.Hung && !m.Stuck && !m.judgeHangs && m.engine.hangs == 0 && m.engine.flaps.period == 0 && !m.engine.Barred
}

// ableLeads keeps all leaders from their work, or all members except one, and demands that another one leads soon
// that can work.
func (w *world) ableLeads(core []int) {
	if w.check.Over || len(core) < 2 || w.tick > idleFor*w.check.Detection() {
		return
	}
	before := w.reigns(core)
	for place, was := range before {
		leader := int(was.leader) - 1
		spared := core[w.lot(place, len(core))]
		for _, i := range core {
			to := w.ails(place)
			if to == hung && (i != leader || len(core) == w.check.Majority()) {
				to = silent // the others need its vote
			}
			if i == leader || leader != spared && i != spared {
				w.nodes[i].members[place].falls(to)
			}
		}
	}
	// Engines may have to write before another member's ledger is good enough.
	limit := w.now + int64(2*w.options.Vouch+w.mayHold()+replacedWithin*w.check.Detection()+4*w.tick)
	for place, was := range before {
		if was.leader == memberstate.Nobody {
			continue
		}
		w.check.Counts[invariant.AbleLeads]++
		for !w.check.Over && !w.ableLeadsIn(core, place) {
			if w.now >= limit {
				w.check.Violated(invariant.AbleLeads, &w.nodes[was.leader-1].members[place].Member, "it cannot work any more, and nobody that can has replaced it: %s", w.describe(place))
				return
			}
			w.run(time.Duration(w.now) + w.options.Timing.Heartbeat/2)
		}
	}
}

// ableLeadsIn says whether those of the core that can work follow one of them.
func (w *world) ableLeadsIn(core []int, place int) bool {
	able := slices.DeleteFunc(slices.Clone(core), func(i int) bool { return !w.nodes[i].members[place].works() })
	return len(able) == 0 || w.settledIn(able, place)
}

// mayHold is for how long members that can work may say that they are not able, because of what has
// struck before.
func (w *world) mayHold() time.Duration {
	for _, f := range []Fault{
		EngineSlow, EngineHangs, EngineSilent, LedgerEndHangs, PauseHangs, LeadHangs, StalledHangs, AbilityFlaps, LateAnswer,
		SlowDisk, SaveHangs, DiskHangs, SlowNode, Pause,
	} {
		if w.swarm.struck[f] > 0 {
			return heldWithin * w.check.Detection()
		}
	}
	return 0
}

// leadsAllTheSame keeps the other members from their work, too, and demands that there is a leader all the same, and
// that it is kept. Then it cuts a leader off, and demands that the others, none of which can work, have one, too.
func (w *world) leadsAllTheSame(core []int) {
	if w.check.Over {
		return
	}
	for _, i := range core {
		for place := range w.groups {
			m, to := &w.nodes[i].members[place], w.ails(place)
			if to == hung {
				m.returnsFromAll() // a member that hangs altogether cannot vote
				to = silent
			}
			m.falls(to)
		}
	}
	w.run(time.Duration(w.now) + 2*w.options.Vouch + replacedWithin*w.check.Detection())
	w.electsSoon(core, invariant.LeadsAllTheSame)
	w.keepsLeaderThatCannotWork(core)
	w.cutsLeaderOff(core)
}

// cutsLeaderOff cuts a leader off, if the others are a quorum, and demands that they have one, too, although none of them is fit to lead.
func (w *world) cutsLeaderOff(core []int) (leader int, cut bool) {
	leader = int(w.reigns(core)[0].leader) - 1
	if w.check.Over || len(core) <= w.check.Majority() || !slices.Contains(core, leader) {
		return leader, false
	}
	w.sever(leader, 1)
	w.electsSoon(slices.DeleteFunc(slices.Clone(core), func(i int) bool { return i == leader }), invariant.LeadsAllTheSame)
	return leader, true
}

// allAtOnce orders all members at the same moment not to lead, and demands that their leader is kept, because it waits
// for a beat to learn whether others can do better. Then the orders are withdrawn.
func (w *world) allAtOnce(core []int) {
	if w.check.Over || w.network.delay+w.network.jitter > w.options.Timing.Heartbeat/2 {
		return
	}
	each := func(do func(*member)) {
		for _, i := range core {
			for place := range w.groups {
				do(&w.nodes[i].members[place])
			}
		}
	}
	each((*member).mayNotLead)
	w.keepsLeaderThatCannotWork(core)
	each((*member).mayLead)
}

// handsOver says whether a leader's writes are paused for a handover, or are being paused.
func (w *world) handsOver(place int, leader memberstate.Seat) bool {
	if leader == memberstate.Nobody {
		return false
	}
	e := &w.nodes[leader-1].members[place].engine
	return e.Pausing != 0 || e.Stopped
}

func (w *world) keepsLeaderThatCannotWork(core []int) {
	before := w.reigns(core)
	for place, was := range before {
		if w.offers(core, place, was.leader) || w.handsOver(place, was.leader) {
			before[place].leader = memberstate.Nobody // it need not be kept
		}
	}
	w.run(time.Duration(w.now) + resignedFor*w.check.Detection())
	for place, was := range before {
		if was.leader == memberstate.Nobody {
			continue
		}
		w.check.Counts[invariant.LeadsAllTheSame]++
		if now := &w.nodes[core[0]].members[place]; !w.settledIn(core, place) || now.group.State().Term != was.term {
			w.check.Violated(invariant.LeadsAllTheSame, &now.Member, "the leader of term %d was replaced although no other member can work: %s", was.term, w.describe(place))
			return
		}
	}
}
