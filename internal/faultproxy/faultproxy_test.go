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
func call(t *testing.T) (l *Proxy, c net.Conn, heard chan string) {
	t.Helper()
	target, heard := echo(t)
	l, err := New(target)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	c, err = net.Dial("tcp", l.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	say(t, c, "a")
	require.Equal(t, "a", answer(t, c))
	require.Equal(t, "a", <-heard)
	return l, c, heard
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

func TestASeveredProxyResetsAndRefuses(t *testing.T) {
	l, c, _ := call(t)
	require.NoError(t, l.Close())
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = net.Dial("tcp", l.Address())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAHeldProxyKeepsConnectionsAndForwardsNothing(t *testing.T) {
	l, c, heard := call(t)
	l.Hold()
	say(t, c, "b")
	require.NoError(t, l.Close()) // blocked bytes are lost
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
	assert.Empty(t, heard)
}

func TestHoldAnswersForwardsTheOtherDirection(t *testing.T) {
	l, c, heard := call(t)
	l.HoldAnswers()
	say(t, c, "b")
	assert.Equal(t, "b", <-heard)
	l.Resume()
	assert.Equal(t, "b", answer(t, c))
}

func TestAHeldAnswerIsLostWithTheProxy(t *testing.T) {
	l, c, heard := call(t)
	l.HoldAnswers()
	say(t, c, "b")
	assert.Equal(t, "b", <-heard)
	require.NoError(t, l.Close())
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
}
