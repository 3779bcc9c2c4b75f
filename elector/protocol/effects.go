// How the effects of a node's groups are carried out: messages and saves gather for the node, and
// everything else goes to the group's engine. The interface, Effects, is in session.go.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// effects carries out what one group's session asks for.
type effects struct {
	node      *Node
	group     *Group
	pending   *pending
	heardBeat uint32 // the newest beat that a quorum had answered before the step

	// Of a group that is bonded, before the step.
	leader   memberstate.Seat
	term     memberstate.Term
	silentAt time.Duration
}

func (fx *effects) Hold(until time.Duration) { fx.group.engine.Hold(until) }
func (fx *effects) Resume()                  { fx.group.engine.Resume() }
func (fx *effects) Settle()                  { fx.node.settle(fx.group) }

func (fx *effects) Show(v View) {
	fx.group.engine.Show(v)
	fx.node.succeed(fx.group, &v)
}

func (fx *effects) Lead(term memberstate.Term) {
	fx.group.working++
	fx.group.engine.Lead(term)
}

func (fx *effects) Pause(term memberstate.Term, number uint32) {
	fx.group.working++
	fx.node.abilityOf(fx.group).pausing = max(fx.node.now, 1)
	fx.group.engine.Pause(term, number)
}

func (fx *effects) EndLead(term memberstate.Term) {
	fx.node.abilityOf(fx.group).ending = max(fx.node.now, 1)
	fx.group.engine.EndLead(term)
}

func (fx *effects) Judge(asked rpc.Mark, judged Judgement) {
	fx.node.edge.Judge(fx.group, asked, judged)
}

func (fx *effects) Before(in *Input) {
	if g := fx.group; g.Bonded() {
		fx.leader, fx.term, fx.silentAt = g.Leader, g.Term, g.silentAt(fx.node.leaderPeer(g))
	}
	if by := fx.node.inspector; by != nil {
		by.Before(fx.group, in)
	}
}

func (fx *effects) After(x *Step) {
	g := fx.group
	if g.place != 0 {
		fx.node.leave(g, fx.leader, fx.term, fx.silentAt)
	}
	if (g.Role == memberstate.Leader) != g.notes.has(isLed) {
		fx.node.countLed(g)
	}
	if by := fx.node.inspector; by != nil {
		by.After(g, x)
	}
}

func (fx *effects) Reply(m *Message) {
	n, g := fx.node, fx.group
	if m.Kind == rpc.VoteResponse {
		n.edge.Voting(g, m)
	}
	if seat := fx.pending.Input.Message.From; g.Rules.All.Has(seat) {
		var bond *rpc.Bond
		if m.Kind == rpc.HeartbeatResponse && fx.pending.offered != nil {
			if bond = n.answer(g, seat, fx.pending.offered, m); g.Inability() == Able && bond != nil {
				m.Unable = 0 // the node says by itself that it does not serve, and when that is over
			}
		}
		n.says(g, memberstate.SetOf(seat), m)
		n.post(g, seat, m, bond)
	} else {
		n.postStranger(g, fx.pending.from, m)
	}
}

func (fx *effects) Send(to memberstate.Set, m *Message) {
	n, g := fx.node, fx.group
	if m.Kind == rpc.VoteResponse || m.Kind == rpc.VoteRequest && !g.Repeats() {
		n.edge.Voting(g, m)
	}
	n.says(g, to, m)
	for seat := range to.Seats() {
		if m.Kind == rpc.Heartbeat && n.mayBond(g) {
			n.post(g, seat, m, n.offer(g, seat))
		} else {
			n.post(g, seat, m, nil)
		}
	}
}

func (fx *effects) Arm(a Alarm) {
	n, g := fx.node, fx.group
	g.alarm = a.Number
	due := n.now + n.edge.Draw(g, a)
	if g.Bonded() {
		g.due = due // in effect when the bond ends
		return
	}
	n.alarms.set(g, due)
}

func (fx *effects) Drop(why Drop) {
	fx.node.edge.Drop(why, 1)
	if why == DropImpossibleTerm {
		fx.node.tellApart(fx.group, &fx.pending.Input)
	}
}

// Done is called before anything else happens to the group, so the group is as the input has left
// it.
func (fx *effects) Done() {
	n, g, p := fx.node, fx.group, fx.pending
	then, order := p.then, p.order
	p.purpose = purpose{}
	if order != nil {
		order.begun(g)
	}
	if g.Handover().Phase != NoHandover {
		n.followHandover(g, &p.Input)
	}
	if n.draining.on {
		n.reconsiderMove(g)
	}
	if beat := g.HeardBeat(); beat != fx.heardBeat && g.OfOffice(beat) { // a new office begins with a beat of no quorum
		if sent, known := g.beatSent(beat); known {
			n.edge.QuorumHeard(g, n.now-sent)
		}
	}
	if then != nil {
		then()
	}
}
