// Operators that drain nodes, and that protect them.

package simulation

import (
	"cmp"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/invariant"
)

// drawDrain draws how many groups the node hands over at a time, mostly few.
func drawDrain(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	s.Count = w.swarm.random.Int64N(4)
	s.Lasts += w.swarm.span(16 * w.options.Timing.Detection())
	return true
}

// drainNode orders a node to drain, s.Count groups at a time, or as many as usual. After s.Lasts it is to serve again, unless
// another process has taken its place.
func drainNode(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive {
		return false
	}
	n.drains(uint32(s.Count))
	w.after(s.Lasts, nodeServes, n, n.Incarnation)
	w.tracer.lasts(s)
	return true
}

// drawProtect draws a protection that outlasts the handovers that are under way.
func drawProtect(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	s.Lasts += w.swarm.span(32 * w.options.Timing.Detection())
	return true
}

// protectNode has a node hand over nothing of its own accord for s.Lasts, unless another process takes its place before.
func protectNode(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive || n.Protected != 0 {
		return false
	}
	n.protects()
	w.after(s.Lasts, nodeMoves, n, n.Incarnation)
	w.tracer.lasts(s)
	return true
}

// orderEnds ends what an operator has ordered of a process.
func (n *node) orderEnds(kind eventKind, incarnation uint32) {
	switch kind {
	case nodeServes:
		n.serves(incarnation)
	case nodeMoves:
		n.moves(incarnation)
	default:
		n.stays(incarnation)
	}
}

func (n *node) protects() {
	n.Protected = max(n.world.now, 1)
	n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskProtect}, Then: func() {}})
}

// moves ends the protection of a node.
func (n *node) moves(incarnation uint32) {
	if n.Alive && n.Incarnation == incarnation && n.Protected != 0 {
		n.Protected = 0
		for place := range n.members {
			n.world.check.Drains(&n.members[place].Member)
		}
		n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskProtect}, Never: true, Then: func() {}})
	}
}

func (n *node) drains(atATime uint32) {
	if !n.Leaving {
		n.Pace = 0
	}
	n.world.check.Paces(&n.Node, cmp.Or(int(atATime), protocol.UsualMoves))
	n.Leaving = true
	for place := range n.members {
		n.world.check.Drains(&n.members[place].Member)
	}
	n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskDrain}, Number: atATime, Then: func() {}})
}

// serves ends a drain.
func (n *node) serves(incarnation uint32) {
	if n.Alive && n.Incarnation == incarnation && n.Leaving {
		n.Leaving = false
		n.asked()
		n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskServe}, Then: func() {}})
	}
}

// asked checks what a node shows an operator who asks why a drain does not end: it names no group as stuck that it does not
// lead, and the others are nodes of the world.
func (n *node) asked() {
	w := n.world
	for _, stuck := range n.host.StuckGroups() {
		if place := w.place(stuck.Group); !n.members[place].Leads() {
			w.check.ViolatedBy(invariant.DrainEnds, &n.Node, place, "it does not lead, and names the group as stuck: %v", stuck.Why)
		}
	}
	for _, p := range n.host.Peers() {
		if !slices.Contains(names[:len(w.nodes)], p.ID) || p.ID == n.name() {
			w.check.ViolatedBy(invariant.DrainEnds, &n.Node, 0, "it shows %q as another node", p.ID)
		}
	}
}
