// What single nodes do is worked out once, and looked up.
//
// Nodes meet only by messages. So what one does depends on its own past alone, and the search over all nodes only
// combines what single ones do. A node is not copied, because it is full of pointers and maps: each different node is
// kept as the inputs that led to it, and to give it another one, these are repeated with a fresh node. That takes a
// few microseconds an input. To make protocol.Node copyable instead would take a function that knows all of its
// fields, and is wrong as soon as one is forgotten; and a state would still have to be compared.

package nodes

import "slices"

// known is a node that was met.
type known struct {
	index  int
	before int // the node that became it; -1: none
	by     event
	depth  int
	facts  facts
	after  [mostMoments][]int32 // by input: one more than the place of its outcome; 0: that was not asked
}

// event is an input in a moment. Before the first moment there are negative ones.
type event struct {
	input  input
	moment int
}

// outcome is what an input makes of a node.
type outcome struct {
	node   int // -1: it cannot happen
	sent   []int
	defect *defect
}

// table has all nodes that were met.
type table struct {
	bounds   *Bounds
	parcels  parcels
	nodes    []known
	byDigest map[string]int
	outcomes []outcome
}

func newTable(b *Bounds) *table {
	return &table{bounds: b, parcels: parcels{byID: map[string]int{}}, byDigest: map[string]int{}}
}

// digest is that of a process.
func (p *process) digest() string {
	groups := p.Groups() // they are written first, because what is in them depends on their state
	return digest(p.index, groups, p.members, p.node, p.disk, p.watch, p.batch)
}

// add adds a node that a process has become.
func (t *table) add(p *process, before int, by event) int {
	key := p.digest()
	id, was := t.byDigest[key]
	if !was {
		id = len(t.nodes)
		k := known{index: p.index, before: before, by: by, facts: p.facts()}
		if before >= 0 {
			k.depth = t.nodes[before].depth + 1
		}
		t.nodes, t.byDigest[key] = append(t.nodes, k), id
	}
	return id
}

// first makes a process that has just started, at the time of the election.
func (t *table) first(index int) *process {
	p := newProcess(t.bounds, index)
	p.now = at(-t.bounds.Calm)
	p.start()
	p.endTurn()
	return p
}

// remake makes a process that is this node.
func (t *table) remake(id int) *process {
	var past []event
	for at := id; t.nodes[at].before >= 0; at = t.nodes[at].before {
		past = append(past, t.nodes[at].by)
	}
	p := t.first(t.nodes[id].index)
	for _, by := range slices.Backward(past) {
		p.apply(by.input, t.parcel(by.input), by.moment)
	}
	return p
}

// parcel is what arrives by an input; nil: nothing.
func (t *table) parcel(in input) *parcel {
	if in < firstParcel {
		return nil
	}
	return &t.parcels.all[in-firstParcel]
}

// outcome is what an input makes of a node in a moment.
func (t *table) outcome(id int, in input, moment int) *outcome {
	after := &t.nodes[id].after[moment]
	if missing := int(in) + 1 - len(*after); missing > 0 {
		*after = append(*after, make([]int32, missing)...)
	}
	if place := (*after)[in]; place != 0 {
		return &t.outcomes[place-1]
	}
	o := t.compute(id, event{in, moment}) // which may move the nodes
	t.outcomes = append(t.outcomes, o)
	t.nodes[id].after[moment][in] = int32(len(t.outcomes))
	return &t.outcomes[len(t.outcomes)-1]
}

func (t *table) compute(id int, by event) outcome {
	p := t.remake(id)
	if !p.apply(by.input, t.parcel(by.input), by.moment) {
		return outcome{node: -1}
	}
	o := outcome{node: t.add(p, id, by), defect: p.defect}
	for i := range p.sent {
		o.sent = append(o.sent, t.parcels.id(&p.sent[i]))
	}
	return o
}
