// Where a step takes effect: protocol.MachineEffects in the simulated world.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Withdraw ends the office before the disk is waited for.
func (n *node) Withdraw() {
	n.world.withdrew(n)
	n.engine.leading = 0
	n.dropLease()
}

// Publish makes the machine's state known.
func (n *node) Publish() {
	if n.alive {
		n.world.check.published(n)
	}
}

// Reply answers the message that was the input.
func (n *node) Reply(m *protocol.Message) {
	if n.alive {
		n.post(n.from, m)
	}
}

// Send sends a message to each of a set of members. A process may die half-way.
func (n *node) Send(to memberstate.Set, m *protocol.Message) {
	if !n.alive {
		return
	}
	n.sent.Sends(&n.machine, m, time.Duration(n.world.now))
	switch {
	case m.Kind == rpc.Heartbeat:
		n.world.check.beats(n, m)
	case m.Kind == rpc.VoteRequest && !n.machine.Repeats():
		n.world.check.asks(n, m)
	case m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain:
		n.dropLease() // the target may win from the moment that it hears of this
	}
	for seat := range to.Seats() {
		n.post(seat, m)
		if n.doomed == CrashBetweenSends && to.Len() > 1 {
			n.dies(CrashBetweenSends)
			return
		}
	}
}

func (n *node) post(to memberstate.Seat, m *protocol.Message) {
	n.world.check.sends(n, m)
	n.world.network.send(n, to, m)
}

// Arm sets the alarm, by the node's own clock.
func (n *node) Arm(a protocol.Alarm) {
	if !n.alive {
		return
	}
	// In a scenario nobody waits as long as another one, or all would always contest.
	dull := a.Min + (a.Max-a.Min)*(2*time.Duration(n.index)+1)/(2*maxNodes)
	wait := max(n.world.choices.span(chooseWait, n.index, a.Min, a.Max, dull), a.Min) + n.sluggish
	n.number = a.Number
	n.world.alarms.set(n.index, max(n.world.now+n.elapsed(wait), n.world.now+1))
}

// Judge counts an election.
func (n *node) Judge(asked rpc.Mark, judged elector.Judgement) {
	if judged == protocol.Passed {
		n.world.check.passed(n, asked)
		if asked != rpc.PreVote {
			n.world.election++
		}
	}
	n.world.judged(asked, judged)
}

// Drop counts what was damaged so that only the machine can tell.
func (n *node) Drop(why elector.Drop) {
	if why == protocol.DropImpossibleTerm {
		n.world.swarm.struck[Corrupt]++
	}
}
