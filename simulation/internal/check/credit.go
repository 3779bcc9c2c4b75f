// Credit: what a leader that rests counts of the answers to its node's beats. Each stands for an answer to a heartbeat, with
// its promise.

package check

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Counted checks the answer to a beat that a process has taken in: it was sent at this time of the process's clock. It counts
// for all leaders that rest on a member at the other node, and each of these must have followed its leader when it answered.
func (c *Checker) Counted(at, from *Node, sent time.Duration) {
	if !c.votes(from.Index) {
		return
	}
	for place := range c.groups {
		n := c.at(at, place)
		if !n.Leads() || !n.Group.RestsOn().Has(from.Seat) {
			continue
		}
		c.Counts[invariant.AnswerSound]++
		b := &n.asking.beats
		if had := b.credits.voters[from.Index].sent; b.term != n.Group.State().Term || sent > had {
			c.Violated(invariant.AnswerSound, n, "it counts for term %d that n%d has answered its node's beat of %v, but the newest that this one has answered as its follower is of %v",
				n.Group.State().Term, from.Index, sent, had)
		}
	}
}

// votesUnpromised checks a vote. The voter has promised every leader of an earlier term that rests on it, and has a lease, to give
// none for as long as the lease, from when the newest beat was sent that it has answered.
func (c *Checker) votesUnpromised(n *Member, m *protocol.Message) {
	if m.Result != rpc.Accept || m.Mark == rpc.PreVote {
		return
	}
	for _, leader := range c.of(n).members {
		if leader == n || leader.Rules.Lease == 0 || !leader.Node.Alive || !leader.Leads() || !leader.Group.RestsOn().Has(memberstate.Seat(n.Node.Index+1)) || leader.Group.State().Term >= m.Asked {
			continue
		}
		c.Counts[invariant.CreditBacked]++
		had := leader.asking.beats.credits.voters[n.Node.Index].at
		if early := had + int64(leader.Rules.Lease-leader.Rules.Timing.DriftMargin) - *c.now; had > 0 && early > 0 {
			c.Violated(invariant.CreditBacked, n, "it gives a vote for term %d %d ns before its promise to n%d is over, which leads term %d and counts it",
				m.Asked, early, leader.Node.Index, leader.Group.State().Term)
		}
	}
}
