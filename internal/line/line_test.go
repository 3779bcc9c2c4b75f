package line

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo answers everything with itself until the test ends, and tells what it heard.
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
			go func() { _, _ = io.Copy(c, io.TeeReader(c, told(heard))) }()
		}
	}()
	return l.Addr().String(), heard
}

// told is a channel of what is written to it.
type told chan string

func (t told) Write(b []byte) (int, error) {
	t <- string(b)
	return len(b), nil
}

// call lays a line to somebody who listens, and connects over it.
func call(t *testing.T) (l *Line, c net.Conn, heard chan string) {
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

func TestASeveredLineResetsAndRefuses(t *testing.T) {
	l, c, _ := call(t)
	require.NoError(t, l.Close())
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = net.Dial("tcp", l.Address())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAMutedLineKeepsConnectionsAndSaysNothing(t *testing.T) {
	l, c, heard := call(t)
	l.Hold()
	say(t, c, "b")
	require.NoError(t, l.Close()) // what is held up never arrives
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
	assert.Empty(t, heard)
}

func TestALateAnswerIsToAQuestionThatWasHeard(t *testing.T) {
	l, c, heard := call(t)
	l.HoldAnswers()
	say(t, c, "b")
	assert.Equal(t, "b", <-heard)
	l.Resume()
	assert.Equal(t, "b", answer(t, c))
}

func TestAHeldAnswerDoesNotComeBeforeItsTime(t *testing.T) {
	l, c, heard := call(t)
	l.HoldAnswers()
	say(t, c, "b")
	assert.Equal(t, "b", <-heard)
	require.NoError(t, l.Close())
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
}
