// Leaders: one that no quorum answers does not lead for long.

package simulation

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// answers notes, at a leader, when each voter has answered last: at which of its beats.
type answers struct {
	term memberstate.Term
	beat uint32 // alarms of the leader in the term
	last [maxNodes]uint32
}

// lateBeats is how many beats late an answer may be and still count.
const lateBeats = 4

// heard looks at a leader's beats, and at who answers them. It counts beats, not time:
// a process that stood still has not sent any.
func (c *checker) heard(n *member, x *protocol.Step) {
	if !n.leads() {
		return
	}
	a := &n.answers
	if a.term != n.group.Term {
		*a = answers{term: n.group.Term}
	}
	switch m := &x.Input.Message; x.Input.Kind {
	case protocol.Receive:
		if m.Kind == rpc.HeartbeatResponse && m.Result == rpc.Success && m.Asked == a.term && n.rules().Voters.Has(m.From) {
			a.last[m.From-1] = a.beat
		}
	case protocol.Ring:
		a.beat++
		c.counts[LeaderHeard]++
		a.last[n.seat-1] = a.beat
		last := a.last // a copy
		voters := last[:c.world.options.Members]
		slices.Sort(voters)
		oldest := voters[len(voters)-memberstate.Quorum(n.rules().Voters)]
		if limit := uint32(n.rules().Timing.Leak + lateBeats + 1); a.beat-oldest > limit {
			c.violated(LeaderHeard, n, "it leads term %d, and no quorum has answered its last %d beats", a.term, a.beat-oldest)
		}
	default: // nobody answers by them
	}
}
