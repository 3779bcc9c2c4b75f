// Votes and terms: one vote a term, terms that rise, and nothing said before it is
// durable; over all restarts.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// vote looks at a vote that was just given.
func (c *checker) vote(n *member, before *memberstate.State) {
	c.counts[TermsRise]++
	m := &n.group.Machine
	if m.Vote == memberstate.Nobody || m.Vote == before.Vote && m.Term == before.Term {
		return
	}
	c.counts[OneVote]++
	r := c.of(n).terms.of(m.Term)
	if r == nil {
		return
	}
	if given := r.votes[n.index]; given != memberstate.Nobody && given != m.Vote && n.durable().Term == m.Term && n.durable().Vote == given {
		c.violated(OneVote, n, "it voted for n%d in term %d and now for n%d", given-1, m.Term, m.Vote-1)
	}
	r.votes[n.index] = m.Vote
}

// termsRose holds what a restart finds against what was said before it.
func (c *checker) termsRose(n *member, found memberstate.HardState) {
	c.counts[TermsRise]++
	if found.Term < n.said.Term || found.Term == n.said.Term && n.said.Vote != memberstate.Nobody && found.Vote != n.said.Vote {
		c.violated(TermsRise, n, "it comes back with term %d and vote %d; it has spoken with %d and %d",
			found.Term, found.Vote, n.said.Term, n.said.Vote)
	}
}

// sends: what is said is on the disk.
func (c *checker) sends(n *member, m *protocol.Message) {
	c.counts[SavedBeforeSaid]++
	if n.durable() != n.group.HardState {
		c.violated(SavedBeforeSaid, n, "it sends %v with %+v on disk and %+v in memory", m.Kind, n.durable(), n.group.HardState)
	}
	if n.group.Role == memberstate.Observer {
		c.observerSays(n, m)
	}
	n.said = n.group.HardState
}
