// Close does not wait for connections that send nothing.

package grpcrpc_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc/grpcrpc"
)

// unhurried is a listening node with a handshake timeout of an hour.
func (w *cluster) unhurried(node string) *grpcrpc.Transport {
	w.t.Helper()
	tr, err := grpcrpc.NewUnhurried(w.config(node))
	require.NoError(w.t, err)
	stop, err := tr.Serve(new(ear))
	require.NoError(w.t, err)
	stop()
	return tr
}

// closes waits until a transport is closed.
func (w *cluster) closes(tr *grpcrpc.Transport) {
	w.t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		tr.Close()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		require.FailNow(w.t, "Close waits")
	}
}

// visit is a connection that the transport has accepted.
func (w *cluster) visit(tr *grpcrpc.Transport) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", tr.Addr().String())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	w.eventually("it is let in", func() bool { return tr.Inbound() > 0 })
	return c
}

func TestCloseDoesNotWaitForSilentClients(t *testing.T) {
	w := newCluster(t, "b")
	b := w.unhurried("b")
	w.visit(b)
	w.closes(b)

	w = newClusterWithTLS(t, "b")
	b = w.unhurried("b")
	w.visit(b)
	w.closes(b)

	w.listen("b", "127.0.0.1:0")
	b = w.unhurried("b")
	c := tls.Client(w.visit(b), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}})
	require.NoError(t, c.Handshake()) // and then no certificate comes
	w.closes(b)
}

// This node calls the peer, which sends nothing.
func TestCloseDoesNotWaitForASilentPeer(t *testing.T) {
	for _, build := range []func(*testing.T, ...string) *cluster{newCluster, newClusterWithTLS} {
		w := build(t, "a", "b")
		a := w.unhurried("a")
		c, err := w.listeners["b"].Accept()
		require.NoError(t, err)
		w.closes(a)
		assert.NoError(t, c.Close())
		assert.NoError(t, w.listeners["b"].Close())
	}
}
