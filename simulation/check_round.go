// Rounds: each is won by answers to itself, be they votes or promises of a lease.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// round is what a node asks, and who has accepted, as the messages tell.
type round struct {
	number   uint32
	mark     rpc.Mark
	asked    memberstate.Term
	ledger   memberstate.Position // of votes: where the candidate's ends
	accepted memberstate.Set
}

// asks begins a round. The one before may not be judged yet: a pre-vote is won in the
// step that asks for votes.
func (c *checker) asks(n *member, m *protocol.Message) {
	n.rounds[0], n.rounds[1] = round{m.Round, m.Mark, m.Term, m.Ledger, memberstate.SetOf(n.seat)}, n.rounds[0]
}

// answers notes what an answer says, before the step that takes it.
func (c *checker) answers(n *member, m *protocol.Message) {
	switch {
	case !n.rules().Voters.Has(m.From):
	case m.Kind == rpc.VoteResponse && m.Result == rpc.Accept:
		if r := &n.rounds[0]; r.accepts(m) {
			r.accepted = r.accepted.With(m.From)
		}
	case m.Kind == rpc.HeartbeatResponse && m.Result == rpc.Success && m.Promised:
		if b := &n.promises[m.Round%4]; m.Round == b.number && m.Asked == b.asked {
			b.accepted = b.accepted.With(m.From)
		}
	}
}

// accepts says whether a vote is for this round: it answers it, or the old leader has
// vouched for what the candidate has.
func (r *round) accepts(m *protocol.Message) bool {
	if m.Mark == rpc.Vouched {
		return r.mark == rpc.Handed && m.Asked == r.asked && m.Ledger.Compare(r.ledger) <= 0
	}
	return m.Round == r.number && m.Mark == r.mark && m.Asked == r.asked
}

// beats begins a round of heartbeats.
func (c *checker) beats(n *member, m *protocol.Message) {
	n.promises[m.Round%4] = round{number: m.Round, asked: m.Term, accepted: memberstate.SetOf(n.seat)}
}

// passed looks at a round that was won. A lone voter asks nobody.
func (c *checker) passed(n *member, mark rpc.Mark) {
	r := &n.rounds[0]
	if r.mark != mark {
		r = &n.rounds[1]
	}
	if r.mark != mark || n.rules().Voters.Len() == 1 {
		return
	}
	c.counts[WonByQuorum]++
	if r.accepted.Len() < memberstate.Quorum(n.rules().Voters) {
		c.violated(WonByQuorum, n, "its round %d for term %d has passed, and %d have accepted in it", r.number, r.asked, r.accepted.Len())
	}
}
