// Packing: a node keeps a group that leaves its beats to nodes in little room.
//
// A quiet group to which nothing has happened for a heartbeat is packed: what counts of it goes into a few fields, and
// its desk is free for others. Whatever happens to the group opens it first, so all rules of the protocol find a group
// as they know it. Only what has to be known of very many groups at a time is read from packed ones: State and Peek,
// when a bond ends if it is not renewed, and the lease of a leader.
//
// Nothing is lost by that. A group stays open if a session made from the fields would differ from its own. So it stays
// open while anything is under way for which there is no field: a step that waits, an order, an alarm, an obstacle to
// leading. What does not count any more it has dropped when it became quiet: see settle.

package protocol

import "github.com/hustings/hustings/memberstate"

// quiet says whether a group leaves its beats to nodes.
func (g *Group) quiet() bool { return g.Rests() || g.Bonded() }

// open has a group have a desk, because something is about to happen to it. One that could not be restored has an
// empty one, and takes no part.
func (n *Node) open(g *Group) {
	if g.desk == nil {
		n.unpack(g)
	}
	g.notes |= used
}

// unpack gives a group a desk, with what was packed of it.
func (n *Node) unpack(g *Group) {
	g.desk = take(&n.spare.desks)
	p := g.packed
	if p == nil {
		return
	}
	p.unpack(g, g.desk)
	*p, g.packed = packed{}, nil
	give(&n.spare.packed, p)
	n.toPack(g)
}

// KeepOpen has the node pack no groups. It does the same as one that does, and takes more memory.
func (n *Node) KeepOpen() { n.keepsOpen = true }

// toPack has a quiet group packed when nothing has happened to it for a while.
func (n *Node) toPack(g *Group) {
	if n.keepsOpen {
		return
	}
	if !g.notes.has(toPack) {
		g.notes.set(toPack, true)
		n.quiet = append(n.quiet, g)
	}
	if n.packs == 0 {
		n.packs = n.now + g.Rules.Timing.Heartbeat
	}
}

// pack packs the groups to which nothing has happened since it was called last.
func (n *Node) pack() {
	if n.packs == 0 || n.now < n.packs {
		return
	}
	kept := n.quiet[:0]
	for _, g := range n.quiet {
		switch {
		case g.desk == nil || !g.running || !g.quiet(): // it may have ended, and begun anew
			g.notes.set(toPack, false)
		case g.notes.has(used), !g.forgetBeat():
			g.notes.set(used, false)
			kept = append(kept, g)
		default:
			g.notes.set(toPack, false)
			n.packOne(g)
		}
	}
	clear(n.quiet[len(kept):])
	if n.quiet, n.packs = kept, 0; len(kept) == 0 {
		n.quiet = emptied(kept)
	} else {
		n.packs = n.now + kept[0].Rules.Timing.Heartbeat
	}
}

// packOne packs a quiet group, unless something of it counts for which there is no room.
func (n *Node) packOne(g *Group) {
	d := g.desk
	if d.rare != nil || g.notes.has(toLook) || d.look != 0 || g.alarm != d.alarm {
		return
	}
	p := pack(&d.Session)
	if !p.isPackedOf(g) {
		return
	}
	if p.role != memberstate.Leader {
		p.until = d.due
	}
	g.packed = take(&n.spare.packed)
	*g.packed = p
	*d, g.desk = desk{}, nil
	give(&n.spare.desks, d)
}
