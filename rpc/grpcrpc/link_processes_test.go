// Several processes of one peer: one after the other, or two at a time.

package grpcrpc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Confirm may be read after a later connection was accepted.
func TestAStaleConnectionIsRefused(t *testing.T) {
	l, told := linkTo(t)
	stale := &connection{number: l.number(), incarnation: 7, confirmed: true}
	c := connect(t, l, 8)
	assert.Equal(t, codes.Aborted, status.Code(l.begin(stale)))
	assert.Same(t, c, l.current)
	assert.Empty(t, *told)
	l.end(c)
	assert.Equal(t, codes.Aborted, status.Code(l.begin(stale)), "the later one has ended already")
	assert.False(t, l.connected())
}

// While nodes are replaced by those of an older version, the Confirm of the newer one may come late.
func TestAConnectionOfAVersionThatDoesNotConfirmMakesEarlierOnesStale(t *testing.T) {
	l, told := linkTo(t)
	stale := &connection{number: l.number(), incarnation: 7, confirmed: true}
	c := &connection{number: l.number(), incarnation: 8, hangUp: func(error) {}}
	require.NoError(t, l.begin(c))
	assert.Equal(t, codes.Aborted, status.Code(l.begin(stale)))
	assert.Same(t, c, l.current)
	l.end(c)
	assert.Equal(t, codes.Aborted, status.Code(l.begin(stale)), "the later one has ended already")
	assert.Empty(t, *told)
}

// It was not restarted, so the loss of the other process says nothing.
func TestAProcessThatReturnsIsReportedAndNotAsARestart(t *testing.T) {
	l, told := linkTo(t)
	l.end(connect(t, l, 7))
	l.end(connect(t, l, 8))
	require.Equal(t, losses{"a"}, *told)
	connect(t, l, 7)
	assert.EqualValues(t, 1, l.transport.Stats().TwoProcesses)
	assert.Equal(t, losses{"a"}, *told)
}

// While nodes are replaced by those of a newer version, an older one may lead and be restarted.
func TestARestartOfAVersionThatDoesNotConfirmIsReported(t *testing.T) {
	l, told := linkTo(t)
	for incarnation := range uint64(3) {
		require.NoError(t, l.begin(&connection{number: l.number(), incarnation: 7 + incarnation, hangUp: func(error) {}}))
	}
	assert.Equal(t, losses{"a", "a"}, *told)
}

// The elder of two processes has the id, and the younger one is refused for as long as the elder is
// connected. Otherwise each would disconnect the other again and again.
func TestTheYoungerOfTwoProcessesIsRefusedWhileTheElderIsConnected(t *testing.T) {
	l, told := linkTo(t)
	begins := func(incarnation uint64, remote string) (*connection, error) {
		c := &connection{number: l.number(), incarnation: incarnation, confirmed: true, remote: remote, hangUp: func(error) {}}
		return c, l.begin(c)
	}
	connect(t, l, 7)
	younger, err := begins(8, "there")
	require.NoError(t, err)
	var why error
	younger.hangUp = func(err error) { why = err }
	elder, err := begins(7, "here")
	require.NoError(t, err)
	require.Equal(t, losses{"a"}, *told)
	assert.Equal(t, codes.AlreadyExists, status.Code(why), "it learns why it is disconnected, and calls rarely")
	assert.ErrorContains(t, why, "from there and here")
	for attempts := range uint64(3) {
		_, err := begins(8, "there")
		assert.Equal(t, codes.AlreadyExists, status.Code(err))
		assert.ErrorContains(t, err, "from here and there")
		assert.Same(t, elder, l.current)
		assert.Equal(t, attempts+2, l.transport.Stats().TwoProcesses)
	}
	assert.EqualValues(t, 3, l.transport.Stats().Connected)
	l.end(elder)
	_, err = begins(8, "there")
	require.NoError(t, err, "the elder is connected no more")
	assert.Equal(t, losses{"a"}, *told, "nobody was restarted")
}

// The process at the other end may be an older version, and then it is not known when it was first
// heard. So it keeps out no process that is known.
func TestAProcessThatDoesNotConfirmKeepsOutNoOther(t *testing.T) {
	l, _ := linkTo(t)
	connect(t, l, 7)
	connect(t, l, 8)
	require.NoError(t, l.begin(&connection{number: l.number(), incarnation: 9, hangUp: func(error) {}}))
	again := connect(t, l, 7)
	assert.Same(t, again, l.current)
	assert.EqualValues(t, 1, l.transport.Stats().TwoProcesses)
	require.NoError(t, l.begin(&connection{number: l.number(), incarnation: 9, hangUp: func(error) {}}))
	again = connect(t, l, 8)
	assert.Same(t, again, l.current, "its elder is not the one that is connected")
	assert.EqualValues(t, 2, l.transport.Stats().TwoProcesses)
}

// A Hello that is not confirmed may come from a process that has died.
func TestProcessesThatDoNotConfirmProveNothing(t *testing.T) {
	l, _ := linkTo(t)
	begins := func(incarnation uint64, confirmed bool) {
		c := &connection{number: l.number(), incarnation: incarnation, confirmed: confirmed, hangUp: func(error) {}}
		require.NoError(t, l.begin(c))
		l.end(c)
	}
	begins(7, false)
	begins(8, true)
	begins(7, true) // was not heard before 8
	begins(8, false)
	assert.Zero(t, l.transport.Stats().TwoProcesses)
}

// The number of remembered processes is bounded. A process that returns again and again stays
// among them.
func TestAProcessThatReturnsIsRemembered(t *testing.T) {
	var p processes
	for i := range uint64(100) {
		assert.False(t, p.returns(1000+i))
		p.hear(1000 + i)
		if i > 0 {
			assert.True(t, p.returns(1000), "the first process, beside one that is started again and again")
			assert.True(t, p.elder(1000, 1000+i))
			p.hear(1000)
		}
		assert.LessOrEqual(t, len(p.heard), 8)
	}
	assert.False(t, p.returns(1000), "it was heard last, so it does not return")
}
