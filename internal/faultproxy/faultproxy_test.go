// Blocking and breaking a proxy.

package faultproxy

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo is a server that echoes everything until the test ends. It sends what it has heard to
// the channel.
func echo(t *testing.T) (address string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	heard = make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, io.TeeReader(c, toChannel(heard))) }()
		}
	}()
	return l.Addr().String(), heard
}

// toChannel is a Writer that sends to a channel.
type toChannel chan string

func (t toChannel) Write(b []byte) (int, error) {
	t <- string(b)
	return len(b), nil
}

// call makes a proxy for an echo, and connects through it.
func call(t *testing.T) (p *Proxy, c net.Conn, heard chan string) {
	t.Helper()
	target, heard := echo(t)
	p, err := New(target)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	c = dial(t, p)
	say(t, c, "a")
	require.Equal(t, "a", answer(t, c))
	require.Equal(t, "a", <-heard)
	return p, c, heard
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
}

func answer(t *testing.T, c net.Conn) string {
	t.Helper()
	b := make([]byte, 1)
	_, err := io.ReadFull(c, b)
	require.NoError(t, err)
	return string(b)
}

// isLost says that a connection broke and no byte arrived before that.
func isLost(t *testing.T, c net.Conn) {
	t.Helper()
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestASeveredProxyResetsAndRefuses(t *testing.T) {
	p, c, _ := call(t)
	require.NoError(t, p.Sever())
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = net.Dial("tcp", p.Address())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, p.Close(), "it is closed already")
}

func TestAResetProxyGoesOn(t *testing.T) {
	p, c, heard := call(t)
	p.Hold()
	say(t, c, "b")
	p.Reset()
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	p.Resume()
	c = dial(t, p)
	say(t, c, "c")
	assert.Equal(t, "c", answer(t, c))
	assert.Equal(t, "c", <-heard, "blocked bytes are lost")
}

func TestAProxyFollowsItsTarget(t *testing.T) {
	p, c, heard := call(t)
	other, heardThere := echo(t)
	p.SetTarget(other)
	say(t, c, "b")
	assert.Equal(t, "b", <-heard, "an open connection keeps its target")
	c = dial(t, p)
	say(t, c, "c")
	assert.Equal(t, "c", <-heardThere)
}

func TestACallerIsResetIfTheTargetRefuses(t *testing.T) {
	p, _, _ := call(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	p.SetTarget(closed.Addr().String())
	c, err := net.Dial("tcp", p.Address()) // which may be reset already
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestAHeldProxyKeepsConnectionsAndForwardsNothing(t *testing.T) {
	p, c, heard := call(t)
	p.Hold()
	say(t, c, "b")
	require.NoError(t, p.Close()) // blocked bytes are lost
	isLost(t, c)
	assert.Empty(t, heard)
}

func TestDirectionsAreHeldApart(t *testing.T) {
	p, c, heard := call(t)
	p.SetHeld(Calls, true)
	p.SetHeld(Answers, true)
	require.Equal(t, Calls|Answers, p.held)
	say(t, c, "b")
	p.SetHeld(Calls, false)
	assert.Equal(t, "b", <-heard)
	p.SetHeld(Calls, true)
	p.SetHeld(Answers, false)
	assert.Equal(t, "b", answer(t, c))
	say(t, c, "c")
	p.SetHeld(Answers, true)
	p.SetHeld(Calls, false)
	assert.Equal(t, "c", <-heard)
	p.Resume()
	assert.Equal(t, "c", answer(t, c))
}

func TestAHeldAnswerIsLostWithTheProxy(t *testing.T) {
	p, c, heard := call(t)
	p.SetHeld(Answers, true)
	say(t, c, "b")
	assert.Equal(t, "b", <-heard)
	require.NoError(t, p.Close())
	isLost(t, c)
}

// The end of a connection does not overtake blocked bytes, so the other direction still works.
func TestAHeldDirectionHoldsTheEndOfAConnection(t *testing.T) {
	for name, end := range map[string]struct {
		held Direction
		ends int // the end of the connection that is closed
	}{"calls": {Calls, 0}, "answers": {Answers, 1}} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			p, err := New(l.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = p.Close() })
			here := dial(t, p)
			there, err := l.Accept()
			require.NoError(t, err)
			t.Cleanup(func() { _ = there.Close() })
			ends := [2]net.Conn{here, there}
			p.SetHeld(end.held, true)
			require.NoError(t, ends[end.ends].(*net.TCPConn).CloseWrite())
			for range 3 {
				say(t, ends[1-end.ends], "a")
				assert.Equal(t, "a", answer(t, ends[end.ends]))
			}
			p.Resume()
			_, err = ends[1-end.ends].Read(make([]byte, 1))
			assert.Error(t, err)
		})
	}
}
