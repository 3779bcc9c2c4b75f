// Votes and terms: a member votes once a term, its term does not fall, and it says nothing before it
// is durable, over all restarts. The disk says how a member has voted, and what a message says is
// compared with the disk.

package check

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Kept checks what has become durable.
func (c *Checker) Kept(n *Member, hard memberstate.HardState) {
	if hard.Vote == memberstate.Nobody {
		return
	}
	c.Counts[invariant.OneVote]++
	r := c.of(n).terms.of(hard.Term)
	if r == nil {
		return
	}
	if given := r.votes[n.Node.Index]; given != memberstate.Nobody && given != hard.Vote {
		c.Violated(invariant.OneVote, n, "it voted for n%d in term %d, and now votes for n%d", given-1, hard.Term, hard.Vote-1)
	}
	r.votes[n.Node.Index] = hard.Vote
}

// termsRose compares what a restart finds on the disk with what the member said before.
func (c *Checker) termsRose(n *Member, found memberstate.HardState) {
	c.Counts[invariant.TermsRise]++
	if found.Term < n.said.Term || found.Term == n.said.Term && n.said.Vote != memberstate.Nobody && found.Vote != n.said.Vote {
		c.Violated(invariant.TermsRise, n, "it restarts with term %d and vote %d after it had sent messages with term %d and vote %d",
			found.Term, found.Vote, n.said.Term, n.said.Vote)
	}
}

// sends checks a message: what it says must be on the disk.
func (c *Checker) sends(n *Member, to memberstate.Set, m *protocol.Message) {
	c.Counts[invariant.SavedBeforeSaid]++
	durable := n.Durable
	if *durable != n.Group.State().HardState {
		c.Violated(invariant.SavedBeforeSaid, n, "it sends %v with %+v on disk and %+v in memory", m.Kind, *durable, n.Group.State().HardState)
	}
	if c.Observes(n.Node.Seat) {
		c.observerSays(n, m)
	}
	if m.Kind == rpc.VoteRequest && m.Mark == rpc.PreVote {
		return // it is about a term that has not begun
	}
	if m.Term > n.said.Term {
		n.said = memberstate.HardState{Term: m.Term}
	}
	if m.Term > durable.Term {
		c.Violated(invariant.SavedBeforeSaid, n, "it sends %v in term %d; its disk has %+v", m.Kind, m.Term, *durable)
	}
	if m.Kind == rpc.HeartbeatResponse { // the second most frequent message is no vote
		if m.Promised && durable.Promise < n.asking.heard.lease {
			c.Violated(invariant.SavedBeforeSaid, n, "it promises a lease of %v; its disk has %+v", n.asking.heard.lease, *durable)
		}
		return
	}
	if candidate := candidateOf(n, to, m); candidate != memberstate.Nobody {
		if durable.Term != m.Term || durable.Vote != candidate {
			c.Violated(invariant.SavedBeforeSaid, n, "it sends %v, which is a vote for n%d in term %d; its disk has %+v", m.Kind, candidate-1, m.Term, *durable)
		}
		if m.Term == n.said.Term {
			n.said.Vote = candidate
		}
	}
}

// candidateOf is the candidate for which a message says that its sender has voted; Nobody if it says
// nothing of a vote.
func candidateOf(n *Member, to memberstate.Set, m *protocol.Message) memberstate.Seat {
	switch {
	case m.Mark == rpc.PreVote:
	case m.Kind == rpc.Heartbeat, m.Kind == rpc.VoteRequest, m.Kind == rpc.TakeLeadership:
		return n.Node.Seat
	case m.Kind == rpc.VoteResponse && m.Result == rpc.Accept:
		for seat := range to.Seats() {
			return seat
		}
	}
	return memberstate.Nobody
}

// observerSays checks what an observer sends: only answers to leaders, and no promise in
// them. A member that stands, votes or leads says something else. liveness.go of package
// simulation demands that observers follow.
func (c *Checker) observerSays(n *Member, m *protocol.Message) {
	c.Counts[invariant.ObserverSilent]++
	answers := m.Kind == rpc.HeartbeatResponse || m.Kind == rpc.TakeLeadershipResponse
	if !answers || m.Promised {
		c.Violated(invariant.ObserverSilent, n, "it is an observer, but sends %v, promised: %t", m.Kind, m.Promised)
	}
}
