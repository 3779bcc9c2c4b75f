// Observers: they learn who leads, and have no voice in it.

package simulation

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// observerSays looks at what an observer sends: answers to heartbeats, and no promise
// in them.
func (c *checker) observerSays(n *member, m *protocol.Message) {
	c.counts[ObserverSilent]++
	if m.Kind == rpc.VoteRequest || m.Kind == rpc.VoteResponse || m.Promised {
		c.violated(ObserverSilent, n, "it says %v, promised: %t", m.Kind, m.Promised)
	}
}
