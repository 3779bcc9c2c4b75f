// How far a node has come with handing over what it leads: counts, which cost nothing to show again after each turn.

package protocol

import "github.com/hustings/hustings/rpc"

// Progress is how far a node has come with handing over.
type Progress struct {
	Standing rpc.Standing
	// Led is how many groups the node leads: those that wait for their turn, those that are being handed over, and
	// those that cannot be, by the reason. A node that does not drain hands over none of them.
	Led, Waiting, Moving int
	Stuck                [Stucks]int
	// Weight is that of all groups that the node leads, and Capacity how much it should lead, in hundredths of a usual node.
	Weight, Capacity int
	// Moved is how many groups it has given up since the drain began.
	Moved int
	// Protected says that the node hands over nothing of its own accord, see Node.Protect.
	Protected bool
	// Hopeless says that all groups that are left have been tried several times.
	Hopeless bool
	// Kept says that processes of the node that are started later begin drained. A Node does not know that: its driver does.
	Kept bool
}

// AllStuck is how many groups cannot be handed over for now.
func (p *Progress) AllStuck() (all int) {
	for _, n := range p.Stuck {
		all += n
	}
	return all
}

// Deserted says that nobody is there to take over any of the groups that are left: no other voter answers, or those that do
// are not able to lead, or their nodes do not serve. To wait longer helps only if another node comes. (A node that exchanges no
// beats says only that its members are not able to lead, even if the reason is that it drains.)
func (p *Progress) Deserted() bool {
	return p.Led > 0 && p.Led == p.Stuck[StuckNoVoter]+p.Stuck[StuckLeaving]+p.Stuck[StuckNotAble]
}

// showProgress shows how far the node has come, if that has changed.
func (n *Node) showProgress() {
	if p := n.Progress(); p != n.draining.shown {
		n.draining.shown = p
		n.edge.Progress(p)
	}
}

// Progress is how far the node has come.
func (n *Node) Progress() Progress {
	d, l := &n.draining, n.load()
	p := Progress{
		Standing: n.stands.own, Protected: n.stands.protected, Led: n.stands.led, Weight: int(l.weight), Capacity: int(l.capacity),
		Moving: d.moving, Stuck: d.stuck, Moved: d.moved,
	}
	if d.on {
		p.Waiting = p.Led - p.Moving - p.AllStuck()
		p.Hopeless = p.Led > 0 && p.Waiting == 0 && p.Moving == 0 && d.young == 0
	}
	return p
}
