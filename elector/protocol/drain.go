// Draining a node (D28): it hands over all groups that it leads, a few at a time, while service goes on.
//
// The node says in its beats that it drains, so its members stand last, and nobody hands over to them. Then
// each group that it leads is handed over like on the order of an operator: to a voter that is caught up, whose
// node serves. The one whose node has the least to do for its capacity is asked first, so that those that stay share evenly. A group
// that nobody can take over does not keep others waiting: it goes on being led, and is tried again later, see drain_retry.go. What the
// node is elected to lead while it drains, because nobody else could be, is handed over in the same way.
//
// A node that is protected drains, too, but begins no handovers until that is over, see protection.go.
//
// Draining decides nothing but when handovers begin. It ends with the process, or when it is ordered to.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// drain is what a node remembers of a drain.
type drain struct {
	on      bool
	most    int // handovers under way at a time
	waiting []*Group
	first   int             // of waiting; before it there are none any more
	moves   map[*Group]move // those that were tried
	moving  int             // handovers under way
	moved   int
	stuck   [Stucks]int
	young   int // groups that are stuck, and were tried less often than hopeless
	later   [maxTries]retries
	refused []*Group // that no voter will take over, as was found out in this turn
	shown   Progress
}

// move is the handover of a group.
type move struct {
	order *Order // under way; nil: the group is stuck
	tries uint8
	why   Stuck
	next  time.Duration   // when it is tried again; 0: as soon as there is room
	heirs memberstate.Set // who could have taken it over when it was tried, and ever since
	early bool            // that try came before its time
}

// UsualMoves is how many handovers are under way at a time: enough that none waits for another's messages and
// saves, and few enough that each is as fast as alone.
const UsualMoves = 128

// Drain has the node hand over all that it leads, so many groups at a time; 0: a number that suits real nodes. One that drains
// already goes on with the new number.
func (n *Node) Drain(most int) {
	d := &n.draining
	if most == 0 {
		most = UsualMoves
	}
	if d.on {
		d.most = most
		d.retryAll()
		n.moveSome() // now, so that who has ordered it does not read how the last tries ended
		return
	}
	*d = drain{on: true, most: most, moves: make(map[*Group]move), shown: d.shown}
	n.stand(rpc.Draining)
	for _, g := range n.edge.Groups() {
		if g.notes.has(isLed) {
			d.add(g)
		}
	}
	n.showProgress()
}

// endDrain ends a drain. Handovers under way go on.
func (n *Node) endDrain() {
	d := &n.draining
	for _, g := range d.waiting[d.first:] {
		g.notes.set(toMove, false)
	}
	*d = drain{shown: d.shown}
}

// add has a group handed over that this node leads.
func (d *drain) add(g *Group) {
	if !d.on || g.notes.has(toMove) {
		return
	}
	g.notes.set(toMove, true)
	d.waiting = append(d.waiting, g)
}

// gone notes that this node does not lead a group any more.
func (d *drain) gone(g *Group) {
	if !d.on {
		return
	}
	d.moved++
	if m, tried := d.moves[g]; tried {
		d.forget(&m)
		delete(d.moves, g)
	}
}

// forget takes a move out of the counts.
func (d *drain) forget(m *move) {
	switch {
	case m.order != nil:
		d.moving--
	default:
		d.stuck[m.why]--
		if m.tries < hopeless {
			d.young--
		}
	}
}

// moveSome begins as many handovers as there is room for.
func (n *Node) moveSome() {
	d := &n.draining
	if d.on {
		n.giveUpRefused()
		if !n.stands.protected {
			n.retry()
			n.moveWaiting()
		}
	}
	n.standDrained()
	n.showProgress()
}

// moveWaiting begins handovers of groups that wait for their turn.
func (n *Node) moveWaiting() {
	d := &n.draining
	for d.moving < d.most && d.first < len(d.waiting) {
		g := d.waiting[d.first]
		d.waiting[d.first] = nil
		d.first++
		g.notes.set(toMove, false)
		if g.notes.has(isLed) && d.moves[g].order == nil {
			n.move(g)
		}
	}
	if d.first == len(d.waiting) {
		d.waiting, d.first = emptied(d.waiting), 0
	}
}

// move begins the handover of a group.
func (n *Node) move(g *Group) {
	d := &n.draining
	m, tried := d.moves[g]
	if tried {
		d.forget(&m)
	}
	if m.early, m.heirs = tried && m.next == 0, g.heirs(); m.early {
		m.tries-- // the wait does not grow for it
	}
	if why, hindered := n.hindersMove(g); hindered {
		n.sticks(g, m, why)
		return
	}
	o := &Order{First: n.takesFirst(g)}
	o.Settled = func(err error) { n.moveEnds(g, o, err) }
	m.order = o
	d.moves[g] = m
	d.moving++
	n.Obey(g, o)
}

// hindersMove says why nobody need be asked to take over a group.
func (n *Node) hindersMove(g *Group) (why Stuck, hindered bool) {
	switch alive := g.answering(); {
	case alive == 0:
		return StuckNoVoter, true
	case alive&^g.Rules.lastChoice() == 0:
		return StuckLeaving, true
	}
	return 0, false
}

// takesFirst is the voter that is asked first to take over a group, if one is: that whose node then has the smallest load, with
// what this node is handing over to it. Preferred voters come before others. The machine asks the others if it cannot.
func (n *Node) takesFirst(g *Group) (id string) {
	may := g.answering() &^ g.Rules.lastChoice()
	if preferred := may & g.Rules.Preferred; preferred != 0 {
		may = preferred
	}
	var least *peer
	var lightest load
	for seat := range may.Seats() {
		p := n.peerOf(g, seat)
		if then := p.load().with(p.given + g.weight()); p.leads > 0 && (least == nil || then.excess(lightest) < 0) {
			least, lightest = p, then
		}
	}
	if least == nil {
		return "" // none of them says what it leads
	}
	least.given += g.weight()
	return least.id
}

// moveEnds notes the outcome of a handover. If it has succeeded, the group has been counted already.
func (n *Node) moveEnds(g *Group, o *Order, err error) {
	d := &n.draining
	m, tried := d.moves[g]
	if !tried || m.order != o {
		return
	}
	d.moving--
	if err == nil || !g.notes.has(isLed) {
		delete(d.moves, g)
		return
	}
	why, hindered := n.hindersMove(g)
	if !hindered {
		why = whyStuck(err)
	}
	n.sticks(g, m, why)
}

// isRefused says whether no voter is left that might take a group over, so that its handover need not wait for its time to be
// over: all have answered that they will not, or their nodes do not serve any more. One whose ledger is behind might, as long as
// that grows: while the leader writes, a ledger is mostly behind when the first question arrives, and reaches the goal, which is
// fixed, soon after.
func (g *Group) isRefused() bool {
	x := g.transient()
	if x == nil || x.attempt == nil || g.Handover().Phase != Probing {
		return false
	}
	for seat := range (g.answering() &^ g.Rules.lastChoice()).Seats() {
		if _, answered := x.attempt.answered[seat]; !answered || x.attempt.catchingUp.Has(seat) {
			return false
		}
	}
	return true
}

// giveUpRefused ends the handovers of groups that nobody will take over.
func (n *Node) giveUpRefused() {
	for i, g := range n.draining.refused {
		n.draining.refused[i] = nil
		if m := n.draining.moves[g]; m.order != nil && g.isRefused() {
			n.Withdraw(g, m.order, &TransferError{Group: g.name, Term: g.Term, Obstacles: n.obstacles(g, g.transient().attempt)})
		}
	}
	n.draining.refused = emptied(n.draining.refused)
}

// Ended has a node that drains say that it is drained, because its last group has ended. The order may have come after its last turn.
func (n *Node) Ended() {
	if n.draining.on {
		n.stand(rpc.Drained)
		n.showProgress()
	}
}

// standDrained says so when the node has led nothing for a heartbeat, and takes it back when it leads something again.
func (n *Node) standDrained() {
	if !n.draining.on {
		return
	}
	switch due, empty := n.drainedAt(); {
	case !empty:
		n.stand(rpc.Draining)
	case n.now >= due:
		n.stand(rpc.Drained)
	}
}

// drainedAt is when the node is drained if it begins to lead nothing more.
func (n *Node) drainedAt() (due time.Duration, empty bool) {
	if n.stands.led > 0 {
		return 0, false
	}
	for _, e := range n.stands.electorates {
		due = max(due, n.stands.ledAt+e.Rules.Timing.Heartbeat)
	}
	for _, r := range n.rules { // of groups whose intervals have changed
		due = max(due, n.stands.ledAt+r.Timing.Heartbeat)
	}
	return due, true
}

// nextMove is when moveSome has something to do; false if only others can change something.
func (n *Node) nextMove() (at time.Duration, waits bool) {
	d := &n.draining
	if !d.on {
		return 0, false
	}
	if n.stands.own.State != rpc.Drained {
		at, waits = n.drainedAt()
	}
	switch {
	case n.stands.protected:
		return at, waits
	case d.moving < d.most && d.first < len(d.waiting):
		return 0, true
	}
	for i := range d.later {
		if l := &d.later[i]; l.first < len(l.all) && (!waits || l.all[l.first].at < at) {
			at, waits = l.all[l.first].at, true
		}
	}
	return at, waits
}
