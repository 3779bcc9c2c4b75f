// Beats between nodes of this version and of older ones, and attacks with beats.

package grpcrpc_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func beat() *rpc.Beat { return &rpc.Beat{Session: rpc.Session{Incarnation: 1}, Number: 1} }

// An older version in place of b is called, hears messages, stays connected and is sent no beat.
func TestAnOlderVersionThatIsCalledIsSentNoBeat(t *testing.T) {
	w := newCluster(t, "a", "b")
	old := w.serveAsBefore(nil)
	a, _ := w.serve("a")
	w.eventually("it hears messages between beats", func() bool {
		a.SendBeat("b", beat())
		a.Send("b", manyVotes[:1])
		return len(old.heard) > 100
	})
	assert.Zero(t, old.others.Load())
	assert.EqualValues(t, 1, a.Stats().Connected)
	assert.Positive(t, a.Stats().Dropped)
}

// The test plays an older version of a, which calls.
func TestAnOlderVersionThatCallsIsSentNoBeat(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	s := &besieged{cluster: w}
	s.b, s.ear = w.serve("b")
	old := s.process(7, true)
	old.confirm(t)
	enough, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for more := true; more; {
			s.b.SendBeat("a", beat())
			s.b.Send("a", manyVotes[:1])
			select {
			case <-enough:
				more = false
			default:
				runtime.Gosched()
			}
		}
	}()
	for range 100 {
		p, err := old.Recv()
		require.NoError(t, err)
		assert.NotNil(t, p.GetBatch())
	}
	close(enough)
	<-over
}

// A node that takes beats is sent them, whichever side has called.
func TestBothSidesOfAConnectionAreSentBeats(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	nodes, ears := map[string]*grpcrpc.Transport{}, map[string]*beatEar{}
	for _, node := range []string{"a", "b"} {
		nodes[node], ears[node] = w.open(node), &beatEar{heard: make(chan *rpc.Beat, 10000)}
		stop, err := nodes[node].Serve(ears[node])
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	for from, to := range map[string]string{"a": "b", "b": "a"} {
		w.eventually("a beat arrives", func() bool {
			nodes[from].SendBeat(to, beat())
			return len(ears[to].heard) > 0
		})
		heard := <-ears[to].heard
		assert.Equal(t, [2]string{from, to}, [2]string{heard.From, heard.To})
	}
}

// beatEar is a handler that passes beats to a channel.
type beatEar struct{ heard chan *rpc.Beat }

func (*beatEar) Receive([]rpc.Message) {}
func (*beatEar) PeerLost(string)       {}

func (e *beatEar) ReceiveBeat(b *rpc.Beat) {
	select {
	case e.heard <- b:
	default: // enough
	}
}

// beatOf is a beat of leavings, which need not be well formed.
func beatOf(leavings ...*electorpb.Leaving) *electorpb.Packet {
	return &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: &electorpb.Beat{Incarnation: 1, Leavings: leavings}}}
}

// As for messages: an empty leaving takes two bytes on the network.
func TestABeatOfEmptyLeavingsIsNotDecoded(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	member := s.issue(s.authority, grpcrpc.Member, "a2", "a2", time.Hour)
	for _, n := range []int{rpc.MaxLeavings + 1, 300_000} {
		packet := beatOf(make([]*electorpb.Leaving, n)...)
		before := allocated()
		err := s.exchange(member, "a2", "b", packet)
		assert.Less(t, allocated()-before, tolerable/4)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err), err)
		assert.ErrorContains(t, err, fmt.Sprintf("a packet has %d leavings, and may have 256", n))
	}
	s.holds(grpcrpc.RefusedPeer, 2)
}

// Leavings of a stranger are not decoded.
func TestABeatBeforeTheHelloIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	member := s.issue(s.authority, grpcrpc.Member, "a2", "a2", time.Hour)
	for says, packet := range map[string]*electorpb.Packet{
		"the first packet is no Hello":            beatOf(),
		"a packet has 1 leavings, and may have 0": beatOf(new(electorpb.Leaving)),
	} {
		stream, err := electorpb.NewMemberServiceClient(s.caller(member)).Exchange(t.Context())
		require.NoError(t, err)
		_ = stream.Send(packet) // if this fails Recv says why
		_, err = stream.Recv()
		assert.ErrorContains(t, err, says)
	}
	s.reaches(s.a, "b", s.ear)
}
