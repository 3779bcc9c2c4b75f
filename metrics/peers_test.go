package metrics_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/metrics"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// deaf is a node that ignores all messages.
type deaf struct{}

func (deaf) Receive([]rpc.Message) {}
func (deaf) PeerLost(string)       {}

func TestPeersAndCertificatesAreCollected(t *testing.T) {
	dir, addresses, listeners := t.TempDir(), map[string]string{}, map[string]net.Listener{}
	authority, err := certs.NewAuthority(time.Now(), 1000*time.Hour)
	require.NoError(t, err)
	require.NoError(t, authority.WriteAuthority(dir))
	for _, node := range []string{"n0", "n1", "n2"} {
		pair, err := authority.Issue(certs.Request{Identity: grpcrpc.Identity{Role: grpcrpc.Member, Name: node}, Now: time.Now(), Lifetime: 100 * time.Hour})
		require.NoError(t, err)
		require.NoError(t, pair.Write(dir, node, true))
		listeners[node], err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses[node] = listeners[node].Addr().String()
	}
	require.NoError(t, listeners["n2"].Close()) // it is not there
	start := func(node, one, other string) *grpcrpc.Transport {
		files := certs.Files(dir, node)
		tr, err := grpcrpc.New(grpcrpc.Config{
			Self: node, Listener: listeners[node], TLS: &files, Peers: map[string]string{one: addresses[one], other: addresses[other]},
		})
		require.NoError(t, err)
		t.Cleanup(tr.Close)
		stop, err := tr.Serve(deaf{})
		require.NoError(t, err)
		t.Cleanup(stop)
		return tr
	}
	m := metrics.New()
	n0 := start("n0", "n1", "n2")
	assert.NotContains(t, figures(t, m), "hustings_certificate_remaining_seconds own")
	var watching sync.WaitGroup
	watching.Go(func() { m.Watch(n0) }) // metrics may be read meanwhile
	_ = figures(t, m)
	watching.Wait()
	assert.Zero(t, figures(t, m)["hustings_transport_peer_connected n1"])
	start("n1", "n0", "n2")
	require.Eventually(t, func() bool { return figures(t, m)["hustings_transport_peer_connected n1"] == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		n0.Send("n1", []rpc.Message{{Group: "g", Voters: 1, Body: rpc.Body{Kind: rpc.VoteRequest, Round: 1, Term: 1}}})
		return n0.Stats().Sent > 0
	}, 20*time.Second, 10*time.Millisecond)
	now := figures(t, m)
	assert.Positive(t, now["hustings_transport_sent_total"])
	assert.Positive(t, now["hustings_transport_connections_total"])
	assert.Contains(t, now, "hustings_transport_received_total")
	assert.Contains(t, now, "hustings_transport_dropped_total")
	assert.Contains(t, now, "hustings_transport_two_processes_total")
	assert.Contains(t, now, "hustings_transport_peer_connected n2")
	assert.Zero(t, now["hustings_transport_peer_connected n2"])
	hour := 3600
	assert.InDelta(t, 100*hour, now["hustings_certificate_remaining_seconds own"], float64(hour))
	assert.InDelta(t, 1000*hour, now["hustings_certificate_remaining_seconds authority"], float64(hour))
}
