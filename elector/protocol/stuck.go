// Why groups cannot be handed over, and which these are. Progress only counts them, because there may be very many; an operator asks for
// their names when a drain comes to no end.

package protocol

import (
	"errors"
	"slices"
)

// Stuck is why a group cannot be handed over for now.
type Stuck uint8

const (
	// StuckNoVoter: there is no other voter, or none that answers.
	StuckNoVoter Stuck = iota
	// StuckLeaving: the nodes of all that answer do not serve either.
	StuckLeaving
	// StuckNotAble: those that answer are not able to lead.
	StuckNotAble
	// StuckBehind: their ledgers do not reach as far as the leader's.
	StuckBehind
	// StuckRefused: they do not follow this leader, or their engines still serve a term that they led before.
	StuckRefused
	// StuckNotPaused: the leader's engine did not pause its writes.
	StuckNotPaused
	// StuckNotElected: the voter that was to take over was not elected.
	StuckNotElected
	// StuckBusy: another handover is under way.
	StuckBusy

	// Stucks is how many reasons there are.
	Stucks = iota
)

var stuckNames = [Stucks]string{
	StuckNoVoter: "no voter", StuckLeaving: "all leaving", StuckNotAble: "not able", StuckBehind: "behind", StuckRefused: "refused",
	StuckNotPaused: "not paused", StuckNotElected: "not elected", StuckBusy: "busy",
}

// String names the reason.
func (s Stuck) String() string { return named(stuckNames[:], s, "unknown reason") }

// whyStuck is the reason in the error of a handover: of the voter that came nearest to taking over.
func whyStuck(err error) Stuck {
	failed, ok := errors.AsType[*TransferError](err)
	if !ok {
		return StuckBusy
	}
	nearest, why := -1, StuckNoVoter
	for _, o := range failed.Obstacles {
		if near := slices.Index(nearness[:], o.Hindrance); near > nearest {
			nearest, why = near, stuckBy[near]
		}
	}
	return why
}

// nearness orders what keeps voters from taking over, from the farthest to the nearest, and stuckBy is the reason that
// follows from it.
var (
	nearness = [...]Hindrance{
		HinderedSilent, HinderedUnanswered, HinderedNotAsked, HinderedNotAble, HinderedNotFollowing, HinderedBehind, HinderedNotPaused, HinderedNotElected,
	}
	stuckBy = [len(nearness)]Stuck{
		StuckNoVoter, StuckNoVoter, StuckNoVoter, StuckNotAble, StuckRefused, StuckBehind, StuckNotPaused, StuckNotElected,
	}
)

// StuckGroup is a group that a node which drains cannot hand over for now.
type StuckGroup struct {
	Group string
	Why   Stuck
	// Tries is how often that has failed. Beyond 8 it is not counted.
	Tries int
}

// MostStuck is how many groups are named for each reason.
const MostStuck = 100

// StuckGroups names some of the groups that cannot be handed over: for each reason at most MostStuck, those that
// have been tried most often first.
func (n *Node) StuckGroups() (all []StuckGroup) {
	d := &n.draining
	var missing [Stucks]int // groups that are still to be named
	more := 0
	for why, groups := range d.stuck {
		missing[why] = min(groups, MostStuck)
		more += missing[why]
	}
	name := func(g *Group, m move) {
		if missing[m.why] > 0 {
			missing[m.why]--
			more--
			all = append(all, StuckGroup{Group: g.name, Why: m.why, Tries: int(m.tries)})
		}
	}
	for tries := len(d.later) - 1; tries >= 0 && more > 0; tries-- {
		l := &d.later[tries]
		for i := l.first; i < len(l.all) && more > 0; i++ {
			if r := &l.all[i]; d.waits(r) {
				name(r.group, d.moves[r.group])
			}
		}
	}
	for i := d.first; i < len(d.waiting) && more > 0; i++ { // they wait for another try
		if m, tried := d.moves[d.waiting[i]]; tried && m.order == nil {
			name(d.waiting[i], m)
		}
	}
	return all
}
