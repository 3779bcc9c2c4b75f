package directwire_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/directwire"
	"github.com/hustings/hustings/rpc"
)

// ear counts what it receives.
type ear struct {
	heard int
	beat  *rpc.Beat // the last one
}

func (e *ear) Receive(batch []rpc.Message) { e.heard += len(batch) }
func (e *ear) ReceiveBeat(b *rpc.Beat)     { e.beat = b }
func (e *ear) PeerLost(string)             {}

// deaf takes no beats.
type deaf struct{ heard int }

func (d *deaf) Receive(batch []rpc.Message) { d.heard += len(batch) }
func (d *deaf) PeerLost(string)             {}

func TestWhatIsSentHasArrivedWhenSendReturns(t *testing.T) {
	wire, e := directwire.New("n0", "n1", "n2"), new(ear)
	stop, err := wire.End("n1").Serve(e)
	require.NoError(t, err)
	wire.End("n0").Send("n1", make([]rpc.Message, 2))
	wire.End("n0").Send("n2", make([]rpc.Message, 4)) // which does not serve
	wire.End("n0").Send("n3", make([]rpc.Message, 8)) // which does not exist
	assert.Equal(t, 2, e.heard)
	sent := &rpc.Beat{From: "n0", To: "n1", Number: 7, Leavings: []rpc.Leaving{{Group: "g"}}}
	wire.End("n0").SendBeat("n1", sent)
	assert.Equal(t, sent, e.beat)
	assert.NotSame(t, sent, e.beat, "the sender keeps its own")
	stop()
	wire.End("n0").Send("n1", make([]rpc.Message, 1))
	assert.Equal(t, 2, e.heard, "it serves no longer")
}

func TestOneHandlerIsServedAtATime(t *testing.T) {
	end := directwire.New("n0").End("n0")
	_, err := end.Serve(nil)
	require.Error(t, err)
	stop, err := end.Serve(new(ear))
	require.NoError(t, err)
	_, err = end.Serve(new(ear))
	require.Error(t, err)
	stop()
	_, err = end.Serve(new(ear))
	require.NoError(t, err)
}

// It is called again after the next handler is served, as rpc.Transport allows.
func TestAStopEndsOnlyItsOwnHandler(t *testing.T) {
	wire, next := directwire.New("n0", "n1"), new(ear)
	stop, err := wire.End("n1").Serve(new(ear))
	require.NoError(t, err)
	stop()
	_, err = wire.End("n1").Serve(next)
	require.NoError(t, err)
	stop()
	wire.End("n0").Send("n1", make([]rpc.Message, 1))
	assert.Equal(t, 1, next.heard)
}

func TestAHandlerWithoutBeatsGetsNone(t *testing.T) {
	wire, d := directwire.New("n0", "n1"), new(deaf)
	_, err := wire.End("n1").Serve(d)
	require.NoError(t, err)
	assert.NotPanics(t, func() { wire.End("n0").SendBeat("n1", new(rpc.Beat)) })
}

func TestASilentNodeNeitherHearsNorIsHeard(t *testing.T) {
	wire, ears := directwire.New("n0", "n1"), map[string]*ear{"n0": {}, "n1": {}}
	for node, e := range ears {
		_, err := wire.End(node).Serve(e)
		require.NoError(t, err)
	}
	both := func() {
		wire.End("n0").Send("n1", make([]rpc.Message, 2))
		wire.End("n1").Send("n0", make([]rpc.Message, 1))
	}
	both()
	assert.False(t, wire.End("n1").Silent())
	wire.End("n1").Silence()
	assert.True(t, wire.End("n1").Silent())
	both()
	assert.Equal(t, 2, ears["n1"].heard)
	assert.Equal(t, 1, ears["n0"].heard)
}

// busy has its node stopped while it is called.
type busy struct {
	ear
	stop    func()
	stopped atomic.Bool
	over    chan struct{}
	early   bool // it was stopped before the call was over
}

func (b *busy) Receive([]rpc.Message) {
	go func() {
		defer close(b.over)
		b.stop()
		b.stopped.Store(true)
	}()
	for range 1000 {
		runtime.Gosched()
	}
	b.early = b.stopped.Load()
}

// A handler may be taken apart when stop has returned, so none of its calls is under way then.
func TestAStopWaitsForTheCallUnderWay(t *testing.T) {
	wire, b := directwire.New("n0", "n1"), &busy{over: make(chan struct{})}
	stop, err := wire.End("n1").Serve(b)
	require.NoError(t, err)
	b.stop = stop
	wire.End("n0").Send("n1", make([]rpc.Message, 1))
	<-b.over
	assert.False(t, b.early)
}
