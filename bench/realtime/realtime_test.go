package realtime

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhateverHappensToTheLeaderThereIsAnother(t *testing.T) {
	for side, start := range map[string]func(func()) (*cluster, error){"ours": startOurs, "peer": startPeer} {
		for _, e := range events {
			t.Run(side+" "+e.name, func(t *testing.T) {
				took, err := measureOne(t.Context(), start, e)
				require.NoError(t, err)
				assert.Positive(t, took)
			})
		}
	}
}

// echo answers everything with itself until the test ends.
func echo(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

// call connects over a line and hears an answer.
func call(t *testing.T, l *line) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Write([]byte("a"))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
	return c
}

func TestASeveredLineResetsAndRefuses(t *testing.T) {
	l, err := newLine(echo(t))
	require.NoError(t, err)
	c := call(t, l)
	require.NoError(t, l.sever())
	l.running.Wait()
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = net.Dial("tcp", l.listener.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAMutedLineKeepsConnectionsAndSaysNothing(t *testing.T) {
	l, err := newLine(echo(t))
	require.NoError(t, err)
	c := call(t, l)
	l.hold()
	_, err = c.Write([]byte("b"))
	require.NoError(t, err, "the connection stays")
	require.NoError(t, l.sever()) // what is held up never arrives
	l.running.Wait()
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	require.Error(t, err)
}

func TestAMajorityKnowsWhomTwoOfThreeName(t *testing.T) {
	c := &cluster{members: map[string]member{"n0": says("n1"), "n1": says("n1"), "n2": says("")}}
	assert.Equal(t, "n1", c.known(2))
	assert.Empty(t, c.known(3))
	c.gone = "n1"
	assert.Empty(t, c.known(1), "whom nobody hears does not lead")
}

// says is a member that names a leader.
type says string

func (s says) leader() string { return string(s) }
func (s says) resign() error  { return nil }
func (s says) close() error   { return nil }
