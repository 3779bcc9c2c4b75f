// Broken connections: which losses are reported, and how links recover.

package grpcrpc_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/certs"
	"github.com/hustings/hustings/internal/faultproxy"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// waitForLoss waits for the hint that a peer is gone.
func (e *ear) waitForLoss(t *testing.T) string {
	t.Helper()
	select {
	case peer := <-e.lost:
		return peer
	case <-time.After(patience):
		require.FailNow(t, "no hint")
		return ""
	}
}

// Both the calling and the called side report the loss.
func TestAProcessThatIsGoneIsReportedOnce(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b", "c")
	a, earA := w.serve("a")
	b, earB := w.serve("b")
	c, earC := w.serve("c")
	w.reaches(a, "b", earB)
	w.reaches(c, "b", earB)
	w.reaches(b, "a", earA)
	b.Close()
	assert.Equal(t, "b", earA.waitForLoss(t))
	assert.Equal(t, "b", earC.waitForLoss(t))
	w.listen("b", w.addresses["b"])
	_, earB = w.serve("b")
	w.reaches(a, "b", earB)
	w.reaches(c, "b", earB)
	assert.Empty(t, earA.lost, "once")
	assert.Empty(t, earC.lost, "once")
}

func TestANewIncarnationIsReported(t *testing.T) {
	w := newCluster(t, "a", "b")
	front := newProxy(t, w.addresses["b"])
	w.addresses["b"] = front.Address()
	a, earA := w.serve("a")
	b, earB := w.serve("b")
	w.reaches(a, "b", earB)
	b.Close() // the proxy resets connections while b is away, and does not refuse them
	w.listen("b", "127.0.0.1:0")
	front.SetTarget(w.addresses["b"])
	_, earB = w.serve("b")
	w.reaches(a, "b", earB)
	assert.Equal(t, "b", earA.waitForLoss(t))
}

// A proxy in between may reset a connection, so a reset says nothing about the peer.
func TestAResetConnectionIsNotReported(t *testing.T) {
	w := newCluster(t, "a", "b")
	front := newProxy(t, w.addresses["b"])
	direct := w.addresses["b"]
	w.addresses["b"] = front.Address()
	a, earA := w.serve("a")
	w.addresses["b"] = direct
	b, earB := w.serve("b")
	for range 5 {
		w.reaches(a, "b", earB)
		before := b.Stats().Connected
		front.Reset()
		w.eventually("it connects again", func() bool { return b.Stats().Connected > before })
	}
	w.reaches(a, "b", earB)
	assert.Empty(t, earA.lost)
	assert.Empty(t, earB.lost)
}

func TestAPeerMayChangeItsAddress(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	a, _ := w.serve("a")
	b, ear := w.serve("b")
	w.reaches(a, "b", ear)
	b.Close()
	w.listen("b", "127.0.0.1:0")
	_, ear = w.serve("b")
	a.SetPeers(map[string]string{"b": w.addresses["b"]})
	assert.Equal(t, w.addresses["b"], a.Address("b"))
	w.reaches(a, "b", ear)
}

// All certificates are replaced by those of another authority, while both run.
func TestCertificatesAreReloaded(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	front := newProxy(t, w.addresses["b"])
	direct := w.addresses["b"]
	w.addresses["b"] = front.Address()
	a, _ := w.serve("a")
	w.addresses["b"] = direct
	b, ear := w.serve("b")
	w.reaches(a, "b", ear)
	w.authority = newAuthority(t)
	require.NoError(t, os.Remove(certs.KeyFile(w.dir, "ca")))
	require.NoError(t, os.Remove(certs.CAFile(w.dir)))
	require.NoError(t, w.authority.WriteAuthority(w.dir))
	w.issue(w.authority, grpcrpc.Member, "a", "a", time.Hour)
	w.issue(w.authority, grpcrpc.Member, "b", "b", time.Hour)
	before := b.Stats().Connected
	front.Reset()
	w.eventually("they connect with the new ones", func() bool { return b.Stats().Connected > before })
	w.reaches(a, "b", ear)
	stranger := w.issue(newAuthority(t), grpcrpc.Member, "a", "old", time.Hour)
	s := &besieged{cluster: w, b: b}
	assert.Error(t, s.exchange(stranger, "a", "b"))
}

// newProxy makes a proxy that lasts as long as the test.
func newProxy(t *testing.T, target string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.New(target)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// Older heartbeats are not sent after a peer has hung for a while.
func TestAPeerThatHungIsSentTheNewestHeartbeatsOnly(t *testing.T) {
	const groups, rounds = 1000, 62 // 50 ms apart this is 3 s
	w := newClusterWithTLS(t, "a", "b")
	direct := w.addresses["b"]
	front := newProxy(t, direct)
	w.addresses["b"] = front.Address()
	a, _ := w.serve("a")
	w.addresses["b"] = direct
	b := w.open("b")
	heard := &tally{of: map[uint32]int{}}
	stop, err := b.Serve(heard)
	require.NoError(t, err)
	t.Cleanup(stop)
	w.eventually("they are connected", func() bool { return a.Stats().Connected > 0 && b.Stats().Connected > 0 })

	front.Hold()
	beats := make([]rpc.Message, groups)
	for round := range uint32(rounds) {
		for i := range beats {
			beats[i] = rpc.Message{Group: fmt.Sprint("group ", i), Body: rpc.Body{Kind: rpc.Heartbeat, Round: round, Term: 1}}
		}
		a.Send("b", beats)
	}
	front.Resume()
	w.eventually("the newest of all groups arrive", func() bool { return heard.rounds(rounds-1) == groups })
	older := 0
	for round := range uint32(rounds - 1) {
		older += heard.rounds(round)
	}
	assert.Less(t, older, 10*groups, "more old heartbeats than were on their way")
	w.eventually("all are accounted for", func() bool { return a.Stats().Sent+a.Stats().Dropped == groups*rounds })
	w.eventually("what was sent is received", func() bool { return b.Stats().Received == a.Stats().Sent })
}

// tally counts messages by round.
type tally struct {
	mu sync.Mutex
	of map[uint32]int
}

func (h *tally) Receive(batch []rpc.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range batch {
		h.of[batch[i].Round]++
	}
}

func (h *tally) PeerLost(string) {}

func (h *tally) rounds(round uint32) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[round]
}
