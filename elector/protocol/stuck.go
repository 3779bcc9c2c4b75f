// Which groups cannot be handed over. Progress only counts them, because there may be very many; an operator asks for their
// names when a drain comes to no end.

package protocol

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
