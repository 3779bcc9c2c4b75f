// Weights of groups, and capacities of nodes: how much a node has to do, for its size.
//
// Some groups are more work to lead than others, and some machines can do more than others. An engine may say so, and then
// balance and drains compare loads: the weight of all that a node leads, for its capacity. Nothing else asks for them, so an
// election goes on as if nobody had set any. If nobody has, the load is the number of groups.
//
// A node counts the weight of what it leads when it begins to lead a group, when it leads that no more, and when a weight changes. Each
// beat says it. Beside the number of groups, only what differs from the usual is kept and sent.

package protocol

import "cmp"

const (
	// MaxWeight is the largest weight of a group; 1 is usual.
	MaxWeight = 255
	// UsualCapacity is that of a node of which nothing else was said, in hundredths of it.
	UsualCapacity = 100
	// MaxCapacity is the largest capacity of a node.
	MaxCapacity = 10_000
)

// CheckWeight complains about a weight that a group cannot have; 0 is the usual one.
func CheckWeight(bad *Complaints, weight int) {
	if weight < 0 || weight > MaxWeight {
		bad.Add("Weight", "is %d, want 1 to %d, or 0 for the usual 1", weight, MaxWeight)
	}
}

// CheckCapacity complains about a capacity that a node cannot have; 0 is the usual one.
func CheckCapacity(bad *Complaints, capacity int) {
	if capacity < 0 || capacity > MaxCapacity {
		bad.Add("Capacity", "is %d, want 1 to %d, or 0 for the usual %d", capacity, MaxCapacity, UsualCapacity)
	}
}

// Weigh sets the weight of a group that has not started; 0 is the usual one. It must be a possible one.
func (g *Group) Weigh(weight int) { g.extra = uint8(max(weight, 1) - 1) }

// SetWeight changes the weight of a group at this node; 0 is the usual one. It must be a possible one.
func (n *Node) SetWeight(g *Group, weight int) error {
	if !g.running {
		return g.doesNotRun()
	}
	before := g.extra
	if g.Weigh(weight); g.notes.has(isLed) {
		n.stands.extra += uint64(g.extra) - uint64(before)
		n.showProgress()
	}
	return nil
}

// weight is the group's.
func (g *Group) weight() int64 { return 1 + int64(g.extra) }

// SetCapacity says how much the node should lead, before it begins to work; 0 is the usual capacity. It must be a possible one.
func (n *Node) SetCapacity(capacity int) { n.stands.capacity = uint16(capacity) }

// load is what a node leads, and what it should lead compared with others.
type load struct{ weight, capacity int64 }

// load is the node's.
func (n *Node) load() load {
	return load{int64(n.stands.led) + int64(n.stands.extra), int64(cmp.Or(n.stands.capacity, UsualCapacity))}
}

// load is what a peer has said.
func (p *peer) load() load {
	return load{int64(p.leads) - 1 + int64(p.extra), int64(cmp.Or(p.capacity, UsualCapacity))}
}

// with is the load when a weight has been added.
func (l load) with(weight int64) load { return load{l.weight + weight, l.capacity} }

// excess is by how much the load is larger than another one, times both capacities. A sender can say no more than 2^33 of weight and 2^16 of
// capacity, so nothing overflows.
func (l load) excess(than load) int64 { return l.weight*than.capacity - than.weight*l.capacity }

// above is by how many usual groups at a usual node the load is larger than another one, rounded down.
func (l load) above(other load) int64 {
	return l.excess(other) * UsualCapacity / (l.capacity * other.capacity)
}

// mayGive says whether the larger of two loads is less when so much weight has gone from the one that was larger before to the other.
func (l load) mayGive(weight int64, to load) bool { return l.excess(to.with(weight)) > 0 }
