// The transport passes the acceptance test of all transports, with TLS and without.

package grpcrpc_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
	"github.com/hustings/hustings/rpc/rpctest"
)

func TestTransportWithoutTLS(t *testing.T) {
	towns := map[string]*town{}
	rpctest.Run(t, func(t *testing.T, node string) rpc.Transport {
		if towns[t.Name()] == nil {
			towns[t.Name()] = newTown(t, "a", "b", "c")
		}
		return towns[t.Name()].open(node, nil)
	})
}

// town is a number of nodes on loopback.
type town struct {
	t         *testing.T
	listeners map[string]net.Listener
	addresses map[string]string
}

func newTown(t *testing.T, nodes ...string) *town {
	t.Helper()
	w := &town{t: t, listeners: map[string]net.Listener{}, addresses: map[string]string{}}
	for _, node := range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		w.listeners[node], w.addresses[node] = l, l.Addr().String()
	}
	return w
}

// open is the transport of a node; it is closed when the test ends.
func (w *town) open(node string, files *grpcrpc.TLS) *grpcrpc.Transport {
	w.t.Helper()
	peers := map[string]string{}
	for id, address := range w.addresses {
		if id != node {
			peers[id] = address
		}
	}
	tr, err := grpcrpc.New(grpcrpc.Config{Self: node, Listener: w.listeners[node], Peers: peers, TLS: files})
	require.NoError(w.t, err)
	w.t.Cleanup(tr.Close)
	return tr
}
