// Broken connections: which losses are reported, and how links recover.

package grpcrpc_test

import (
	"fmt"
	"io"
	"net"
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
	w.addresses["b"] = front.address()
	a, earA := w.serve("a")
	b, earB := w.serve("b")
	w.reaches(a, "b", earB)
	front.hold() // connections are not refused while b is away
	b.Close()
	w.listen("b", "127.0.0.1:0")
	front.release(w.addresses["b"])
	_, earB = w.serve("b")
	w.reaches(a, "b", earB)
	assert.Equal(t, "b", earA.waitForLoss(t))
}

// A proxy in between may reset a connection, so a reset says nothing about the peer.
func TestAResetConnectionIsNotReported(t *testing.T) {
	w := newCluster(t, "a", "b")
	front := newProxy(t, w.addresses["b"])
	direct := w.addresses["b"]
	w.addresses["b"] = front.address()
	a, earA := w.serve("a")
	w.addresses["b"] = direct
	b, earB := w.serve("b")
	for range 5 {
		w.reaches(a, "b", earB)
		before := b.Stats().Connected
		front.reset()
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
	w.addresses["b"] = front.address()
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
	front.reset()
	w.eventually("they connect with the new ones", func() bool { return b.Stats().Connected > before })
	w.reaches(a, "b", ear)
	stranger := w.issue(newAuthority(t), grpcrpc.Member, "a", "old", time.Hour)
	s := &besieged{cluster: w, b: b}
	assert.Error(t, s.exchange(stranger, "a", "b"))
}

// proxy forwards connections to a node. Unlike faultproxy it can change its target.
type proxy struct {
	t        *testing.T
	listener net.Listener
	mu       sync.Mutex
	target   string
	held     chan struct{} // nil: connections go through
	open     map[net.Conn]bool
	running  sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{t: t, listener: l, target: target, open: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		p.reset()
		p.running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.carry(in) })
	}
}

func (p *proxy) carry(in net.Conn) {
	defer func() { _ = in.Close() }()
	p.mu.Lock()
	held := p.held
	p.open[in] = true
	p.mu.Unlock()
	if held != nil {
		<-held
	}
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	p.mu.Lock()
	p.open[out] = true
	p.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		p.running.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		})
	}
	<-done
	p.mu.Lock()
	delete(p.open, in)
	delete(p.open, out)
	p.mu.Unlock()
}

// reset breaks every connection.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// hold lets new connections wait, and breaks the others.
func (p *proxy) hold() {
	p.mu.Lock()
	p.held = make(chan struct{})
	p.mu.Unlock()
	p.reset()
}

// release connects the waiting ones to the node's new address.
func (p *proxy) release(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	close(p.held)
	p.held = nil
}

// Older heartbeats are not sent after a peer has hung for a while.
func TestAPeerThatHungIsSentTheNewestHeartbeatsOnly(t *testing.T) {
	const groups, rounds = 1000, 62 // 50 ms apart this is 3 s
	w := newClusterWithTLS(t, "a", "b")
	direct := w.addresses["b"]
	front, err := faultproxy.New(direct)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, front.Close()) })
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
