// What makes a node look at a group again, for those who check that something does.

package protocol

import "slices"

// Watch is a set of what makes a node look at a group again, whatever others do.
type Watch uint8

const (
	// WatchAlarm: the group's alarm rings.
	WatchAlarm Watch = 1 << iota
	// WatchLeader: the group is bonded, and the node looks at it when its leader's node is silent.
	WatchLeader
	// WatchCohort: the group's leader rests, and the node looks at it when no quorum answers.
	WatchCohort
	// WatchMuster: the group's campaign waits until there is room for it.
	WatchMuster
	// WatchStep: a step of the group waits, for the ledger or for the disk.
	WatchStep
)

// Quiet says that the group leaves its heartbeats to nodes.
func (w Watch) Quiet() bool { return w&(WatchLeader|WatchCohort) != 0 }

// Watches says what makes the node look at a group, if the group takes part. It searches the lists themselves,
// and does not believe the group.
func (n *Node) Watches(g *Group) (by Watch, takesPart bool) {
	listed := func(l places) bool { return g.place > 0 && int(g.place) <= len(l) && l[g.place-1] == g }
	if g.desk != nil && slices.Contains(n.alarms.heap, look{g.look, g}) {
		by |= WatchAlarm
	}
	if slices.ContainsFunc(n.beats.peers, func(p *peer) bool { return listed(p.followers) }) {
		by |= WatchLeader
	}
	if slices.ContainsFunc(n.beats.rest, func(c *cohort) bool { return listed(c.groups) }) {
		by |= WatchCohort
	}
	for _, q := range []*campaigns{&n.muster.waiting, &n.muster.vain} {
		if slices.ContainsFunc(q.all[q.first:], func(c campaign) bool { return c.group == g && !c.off() }) {
			by |= WatchMuster
		}
	}
	if g.Waits() {
		by |= WatchStep
	}
	return by, g.running
}

// Cluttered says that the group keeps room for a step that waits, an order, a handover or a campaign, and has none of these.
// It would neither rest nor be packed.
func (g *Group) Cluttered() bool {
	x := g.transient()
	return x != nil && x.busy == nil && x.first == len(x.queue) && len(x.orders)+len(x.awaitHeir) == 0 &&
		x.attempt == nil && x.place == 0 && x.repeats == 0
}
