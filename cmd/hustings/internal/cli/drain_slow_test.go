// Drains that take long, of nodes that answer and of one that does not.

package cli

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/proto/electorpb"
)

// slow is a node whose drain takes long.
type slow struct {
	electorpb.UnimplementedOperatorServiceServer
	every time.Duration
	times int  // so often it says how far it has come
	hangs bool // and then says nothing more
	asked chan *electorpb.DrainRequest
}

func (s *slow) Drain(q *electorpb.DrainRequest, stream grpc.ServerStreamingServer[electorpb.DrainResponse]) error {
	s.asked <- q
	progress := &electorpb.Progress{State: electorpb.NodeState_NODE_STATE_DRAINING, Led: 2, Waiting: 2}
	for range s.times {
		<-time.After(s.every)
		if err := stream.Send(&electorpb.DrainResponse{Progress: progress}); err != nil {
			return err
		}
	}
	if s.hangs {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	progress = &electorpb.Progress{State: electorpb.NodeState_NODE_STATE_DRAINED, Moved: 2}
	return stream.Send(&electorpb.DrainResponse{Progress: progress, Ended: new(electorpb.DrainEnd)})
}

// at serves it until the test ends.
func (s *slow) at(t *testing.T) (address string) {
	t.Helper()
	return serving(t, s)
}

// serving serves a node until the test ends.
func serving(t *testing.T, s electorpb.OperatorServiceServer) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, ended := grpc.NewServer(), make(chan error, 1)
	electorpb.RegisterOperatorServiceServer(server, s)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; !errors.Is(err, grpc.ErrServerStopped) { // before it has begun
			assert.NoError(t, err)
		}
	})
	return l.Addr().String()
}

// An answer is due once a second. How long all of them take does not matter.
func TestADrainMayTakeLong(t *testing.T) {
	t.Parallel()
	s := &slow{every: 50 * time.Millisecond, times: 24, asked: make(chan *electorpb.DrainRequest, 1)} // a busy machine may be late by nearly a second
	lines := succeed(t, "drain", "-a", s.at(t), "--timeout", "10ms", "--wait", "7m", "--in-flight", "16", "--json")
	require.Len(t, lines, 25, "each is printed once")
	asked := <-s.asked
	assert.Equal(t, int64(7*time.Minute), asked.GetWaitNanos())
	assert.EqualValues(t, 16, asked.GetInFlight())
	assert.Contains(t, lines[0], `"state":"draining","led":2,"waiting":2`)
	assert.Contains(t, lines[24], `"state":"drained"`)
}

func TestADrainThatIsToBeKeptIsPacedToo(t *testing.T) {
	t.Parallel()
	s := &slow{asked: make(chan *electorpb.DrainRequest, 1)}
	fail(t, exitFailed, "drain", "-a", s.at(t), "--keep", "--in-flight", "16") // it does not know how to be kept
	asked := <-s.asked
	assert.True(t, asked.GetKeep())
	assert.EqualValues(t, 16, asked.GetInFlight())
}

func TestANodeThatHangsWhileItDrainsIsGivenUp(t *testing.T) {
	t.Parallel()
	s := &slow{times: 1, hangs: true, asked: make(chan *electorpb.DrainRequest, 1)}
	assert.Contains(t, fail(t, exitFailed, "drain", "-a", s.at(t), "--timeout", "10ms"), "no answer in time; it drains if it has been told to")
}

// It drains, because it knows how to, and its operator must not believe that it will after a restart.
func TestAnOlderNodeCannotBeKeptDrained(t *testing.T) {
	t.Parallel()
	for _, times := range []int{0, 1} {
		s := &slow{times: times, asked: make(chan *electorpb.DrainRequest, 1)}
		address := s.at(t)
		code, stdout, stderr := run("drain", "-a", address, "--keep")
		assert.Equal(t, exitFailed, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, address+": the node drains, but does not stay drained when it is started again: its version of hustings is older")
	}
}

// A node of an older version says so in words.
func TestAnOlderNodeCannotBeDrained(t *testing.T) {
	t.Parallel()
	s := new(slow)
	assert.Contains(t, fail(t, exitFailed, "undrain", "-a", s.at(t)), "the node runs a version of hustings that does not know this call")
}
