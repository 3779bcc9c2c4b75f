// What a node holds while it works: nothing, when all is quiet.
//
// Every queue entry, place and slot that a piece of work takes is given back when the work ends, on each of its
// ways to end. Whoever forgets one of them breaks nothing at first; the node becomes slower, and one day stands still. So the
// simulator looks for what is left when nothing has happened for long.

package protocol

// Holdings count what a node holds for work under way.
type Holdings struct {
	Steps     int // groups whose step waits for the ledger or the disk
	Queued    int // inputs that wait for these
	Orders    int // to hand over, that stand or wait for the heir
	Places    int // of campaigns that keep others waiting
	Campaigns int // that wait, or have begun
	Transient int // groups that keep memory for any of these
	Saves     int // groups that wait for a save, or are in the one under way
	Looks     int // groups whose ability is to be looked at
	Moves     int // handovers of a drain
	Messages  int // not sent yet
	Hints     int // nodes whose groups are still being told that it is gone
	Leavings  int // ends of bonds that nodes do not know of, although they are there
}

// Holdings are the node's.
func (n *Node) Holdings() (h Holdings) {
	for _, g := range n.edge.Groups() {
		x := g.transient()
		if x == nil {
			continue
		}
		h.Transient++
		h.Queued += len(x.queue)
		h.Orders += len(x.orders) + len(x.awaitHeir)
		if x.busy != nil {
			h.Steps++
		}
		if x.place != 0 {
			h.Places++
		}
	}
	m, d := &n.muster, &n.draining
	h.Places = max(h.Places, m.open)
	h.Campaigns = len(m.begun.all) + len(m.waiting.all) + len(m.vain.all)
	h.Saves = len(n.saves.waiting) + len(n.saves.saving)
	h.Looks = len(n.looks)
	h.Moves = len(d.moves) + len(d.waiting) + len(d.refused) + d.moving
	for _, p := range n.peers.members {
		h.Messages += len(p.batch)
		if !n.silent(p) {
			h.Leavings += p.link.untold()
		}
		if p.hint != nil {
			h.Hints++
		}
	}
	h.Messages += len(n.peers.strangers)
	return h
}
