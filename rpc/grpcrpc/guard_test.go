// The bounds on connections of each class.

package grpcrpc

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener on which each Accept makes a connection.
type pipes struct {
	net.Listener
	theirs []net.Conn
}

func (p *pipes) Accept() (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.theirs = append(p.theirs, theirs)
	return ours, theirs.SetReadDeadline(time.Unix(1, 0)) // reads do not wait
}

// If there are too many connections of a class, the oldest is closed. So a peer that connects and
// ends its exchange again and again leaves few connections behind.
func TestTheConnectionsOfEachClassAreBounded(t *testing.T) {
	kinds := map[string]struct {
		becomes func(*guard, *inbound)
		most    int
	}{
		"strangers": {func(*guard, *inbound) {}, maxStrangers},
		"callers": {func(g *guard, c *inbound) {
			g.welcome(c)
			g.welcome(g.callers.Front().Value.(*inbound)) // its next call makes it no younger
		}, maxCallers},
		"dismissed": {func(g *guard, c *inbound) { g.introduce(c); g.dismiss(c) }, maxDismissed},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			came, refused := &pipes{}, 0
			g := newGuard(came, time.Hour, func(why Refusal, _ ...any) {
				assert.Equal(t, RefusedCrowd, why)
				refused++
			})
			const tooMany = 5
			for range kind.most + tooMany {
				c, err := g.Accept()
				require.NoError(t, err)
				kind.becomes(g, c.(*inbound))
			}
			assert.Equal(t, tooMany, refused)
			for i, c := range came.theirs {
				_, err := c.Read(make([]byte, 1))
				assert.Equal(t, i < tooMany, errors.Is(err, io.EOF), "connection %d: %v", i, err)
			}
			g.closeAll()
			for c := range g.conns {
				_ = c.Close()
			}
		})
	}
}

// Closing a refused connection counts no other reason.
func TestAConnectionIsRefusedOnce(t *testing.T) {
	came := &pipes{}
	var refused []Refusal
	g := newGuard(came, time.Hour, func(why Refusal, _ ...any) { refused = append(refused, why) })
	accepted, err := g.Accept()
	require.NoError(t, err)
	c := accepted.(*inbound)
	c.known.Store(true)
	go func() { _, _ = came.theirs[0].Write(make([]byte, 2*strangerBytes)) }()
	_, err = io.Copy(io.Discard, c)
	require.ErrorIs(t, err, errFlood)
	require.True(t, c.spoke.Load())
	_ = c.Close()
	c.refuse(RefusedPeer)
	assert.Equal(t, []Refusal{RefusedFlood}, refused)
}

// Only a connection that has sent something, but no call, is counted: one that sent nothing may be
// a probe, and the reason of a handshake that failed is counted already.
func TestSilenceIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		spoke, known, called, peer bool
		counts                     []Refusal
	}{
		"spoke":            {true, true, false, false, []Refusal{RefusedSilence}},
		"sent nothing":     {false, true, false, false, nil},
		"failed handshake": {true, false, false, false, nil},
		"made a call":      {true, true, true, false, nil},
		"peer":             {true, true, false, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []Refusal
			g := newGuard(&pipes{}, time.Hour, func(why Refusal, _ ...any) { refused = append(refused, why) })
			accepted, err := g.Accept()
			require.NoError(t, err)
			came := accepted.(*inbound)
			came.spoke.Store(c.spoke)
			came.known.Store(c.known)
			came.called.Store(c.called)
			if c.peer {
				g.introduce(came)
			}
			require.NoError(t, came.Close())
			assert.Equal(t, c.counts, refused)
			assert.Empty(t, g.conns)
			g.welcome(came)
			assert.Zero(t, g.callers.Len(), "a closed connection belongs to no class")
		})
	}
}

func TestAConnectionThatArrivesAtTheEndIsClosed(t *testing.T) {
	came := &pipes{}
	g := newGuard(came, time.Hour, func(Refusal, ...any) {})
	g.closeAll()
	_, err := g.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = came.theirs[0].Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}

// Callers and peers may stay.
func TestStrangersAndFormerPeersAreClosedInTime(t *testing.T) {
	for name, kind := range map[string]struct {
		becomes func(*guard, *inbound)
		stays   bool
	}{
		"stranger":  {func(*guard, *inbound) {}, false},
		"caller":    {(*guard).welcome, true},
		"peer":      {(*guard).introduce, true},
		"dismissed": {func(g *guard, c *inbound) { g.introduce(c); g.dismiss(c) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				came := &pipes{}
				g := newGuard(came, time.Minute, func(Refusal, ...any) {})
				c, err := g.Accept()
				require.NoError(t, err)
				kind.becomes(g, c.(*inbound))
				left := func() bool {
					synctest.Wait()
					_, err := came.theirs[0].Read(make([]byte, 1))
					return !errors.Is(err, io.EOF)
				}
				<-time.After(time.Minute - time.Second)
				assert.True(t, left())
				<-time.After(2 * time.Second)
				assert.Equal(t, kind.stays, left())
				_ = c.Close()
			})
		})
	}
}

// The bytes of a caller are counted by its calls instead.
func TestACallerSpendsNoAllowance(t *testing.T) {
	g := newGuard(&pipes{}, time.Hour, func(Refusal, ...any) {})
	accepted, err := g.Accept()
	require.NoError(t, err)
	c := accepted.(*inbound)
	require.True(t, c.spend(strangerBytes))
	g.welcome(c)
	assert.True(t, c.spend(1))
	g.welcome(c) // with its next call
	assert.True(t, c.spend(1))
	c.resume()
	assert.False(t, c.spend(1), "an exchange spends what was left")
	_ = c.Close()
}

// A former peer may read why its exchange has ended, and send what was on its way, but nothing more.
func TestAFormerPeerHasALittleAllowance(t *testing.T) {
	g := newGuard(&pipes{}, time.Hour, func(Refusal, ...any) {})
	accepted, err := g.Accept()
	require.NoError(t, err)
	c := accepted.(*inbound)
	c.allow(peerBytes)
	g.introduce(c)
	require.True(t, c.spend(peerBytes))
	c.refill()
	g.dismiss(c)
	require.True(t, c.spend(window+strangerBytes))
	c.refill()
	assert.False(t, c.spend(1))
	_ = c.Close()
}
