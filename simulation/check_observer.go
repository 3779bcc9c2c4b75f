// Observers: they learn who leads, and have no voice in it. That they follow is demanded
// where a leader is, see check_liveness.go.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// observerSays looks at what an observer sends: answers to leaders alone, and no promise in
// them. Whoever stands, votes or leads says something else.
func (c *checker) observerSays(n *member, m *protocol.Message) {
	c.counts[invariant.ObserverSilent]++
	answers := m.Kind == rpc.HeartbeatResponse || m.Kind == rpc.TakeLeadershipResponse
	if !answers || m.Promised {
		c.violated(invariant.ObserverSilent, n, "it says %v, promised: %t", m.Kind, m.Promised)
	}
}
