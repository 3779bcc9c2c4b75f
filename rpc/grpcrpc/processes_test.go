// Processes of one peer: a dead one is distinguished from a living one, and two that run at the same
// time are reported.

package grpcrpc_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// process is a process of node a that the test plays. Its Hello was answered by b.
type process struct {
	grpc.BidiStreamingClient[electorpb.Packet, electorpb.Packet]
}

func (s *besieged) process(incarnation uint64, confirms bool) process {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	stream, err := electorpb.NewMemberServiceClient(s.caller(s.issue(s.authority, grpcrpc.Member, "a", "another-a", time.Hour))).Exchange(ctx)
	require.NoError(s.t, err)
	require.NoError(s.t, stream.Send(&electorpb.Packet{Content: &electorpb.Packet_Hello{
		Hello: &electorpb.Hello{From: "a", To: "b", Incarnation: incarnation, Confirms: confirms},
	}}))
	p, err := stream.Recv()
	require.NoError(s.t, err)
	require.Equal(s.t, "b", p.GetHello().GetFrom())
	return process{stream}
}

func (p process) confirm(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Send(&electorpb.Packet{Content: &electorpb.Packet_Confirm{Confirm: new(electorpb.Confirm)}}))
}

// becomesOf is the status with which the exchange ends.
func (p process) becomesOf() codes.Code {
	for {
		if _, err := p.Recv(); err != nil {
			return status.Code(err)
		}
	}
}

// The last packets of a dead process must not look like a new process.
func TestALateHelloOfADeadProcessIsNotAccepted(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	before := s.b.Stats().Connected
	dead := s.process(7, true)
	require.NoError(t, dead.CloseSend())
	assert.NotEqual(t, codes.OK, dead.becomesOf())
	s.reaches(s.a, "b", s.ear)
	assert.Equal(t, before, s.b.Stats().Connected, "there is a new connection")
	assert.Empty(t, s.ear.lost)
}

// The Confirm may be late, too. The Hello of the dead process was answered before that of the living
// one.
func TestALateConfirmOfADeadProcessIsNotAccepted(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	s := &besieged{cluster: w}
	s.b, s.ear = w.serve("b")
	dead := s.process(7, true)
	alive := s.process(8, true)
	alive.confirm(t)
	s.eventually("it is connected", func() bool { return s.b.Stats().Connected == 1 })
	_ = dead.Send(&electorpb.Packet{Content: &electorpb.Packet_Confirm{Confirm: new(electorpb.Confirm)}})
	assert.NotEqual(t, codes.OK, dead.becomesOf())
	assert.EqualValues(t, 1, s.b.Stats().Connected)
	assert.Empty(t, s.ear.lost)
}

func TestAnotherPacketInPlaceOfAConfirmIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	p := s.process(7, true)
	require.NoError(t, p.Send(packetOf()))
	assert.Equal(t, codes.InvalidArgument, p.becomesOf())
}

func TestVersionsThatDoNotConfirmAreAccepted(t *testing.T) {
	w := newClusterWithTLS(t, "a", "b")
	s := &besieged{cluster: w}
	s.b, s.ear = w.serve("b")
	old := s.process(7, false)
	require.NoError(t, old.Send(packetOf(&electorpb.Message{Group: "g", Kind: 1, Voters: 1})))
	assert.Equal(t, "a", (<-s.ear.heard).From)
	assert.EqualValues(t, 1, s.b.Stats().Connected)
}

// oldServer is a node of the previous version: it accepts a connection when it has answered the
// Hello, and reads all packets as batches.
type oldServer struct {
	electorpb.UnimplementedMemberServiceServer
	heard  chan string
	others atomic.Int32      // packets that are no batches, behind the Hello
	says   *electorpb.Packet // right behind its Hello; nil: nothing
}

func (o *oldServer) Exchange(s grpc.BidiStreamingServer[electorpb.Packet, electorpb.Packet]) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := s.Send(&electorpb.Packet{Content: &electorpb.Packet_Hello{Hello: &electorpb.Hello{From: "b", To: "a", Incarnation: 7}}}); err != nil {
		return err
	}
	if o.says != nil {
		if err := s.Send(o.says); err != nil {
			return err
		}
	}
	for {
		p, err := s.Recv()
		if err != nil {
			return err
		}
		if p.GetBatch() == nil && p.GetConfirm() == nil {
			o.others.Add(1)
		}
		for _, m := range p.GetBatch().GetMessages() {
			o.heard <- m.GetGroup()
		}
	}
}

// serveAsBefore serves a node of the previous version in place of b.
func (w *cluster) serveAsBefore(says *electorpb.Packet) *oldServer {
	w.t.Helper()
	old, server := &oldServer{heard: make(chan string, 10000), says: says}, grpc.NewServer()
	electorpb.RegisterMemberServiceServer(server, old)
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(w.listeners["b"]) }()
	w.t.Cleanup(func() {
		server.Stop()
		assert.NoError(w.t, <-serving)
	})
	return old
}

func TestVersionsThatAwaitNoConfirmReceiveMessages(t *testing.T) {
	w := newCluster(t, "a", "b")
	old := w.serveAsBefore(nil)
	a, _ := w.serve("a")
	w.eventually("it hears", func() bool {
		a.Send("b", manyVotes[:1])
		return len(old.heard) > 0
	})
	assert.Equal(t, "g", <-old.heard)
}

// Both sides log it, once a minute. The first process stays connected.
func TestASecondProcessWithTheSameIDIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	s.listeners["a"] = listenAnywhere(t)
	second, _ := s.serve("a")
	s.eventually("b and the second process count it", func() bool {
		return s.b.Stats().TwoProcesses > 1 && second.Stats().TwoProcesses > 0
	})
	connected := s.b.Stats().Connected
	s.reaches(s.a, "b", s.ear)
	s.eventually("the second one tries again", func() bool { return second.Stats().TwoProcesses > 1 })
	s.reaches(s.a, "b", s.ear)
	assert.Equal(t, connected, s.b.Stats().Connected, "the first one was disconnected")
	assert.Zero(t, s.a.Stats().TwoProcesses, "the first one was refused")

	var atB, atA []string
	for line := range strings.Lines(s.log.String()) {
		switch {
		case !strings.Contains(line, `level=WARN msg="two processes claim to be a"`):
		case strings.Contains(line, "peer=a"):
			atB = append(atB, line)
		case strings.Contains(line, "peer=b"):
			atA = append(atA, line)
		}
	}
	require.Len(t, atB, 1)
	assert.Regexp(t, `one=127\.0\.0\.1:\d+ other=127\.0\.0\.1:\d+`, atB[0])
	require.Len(t, atA, 1)
	assert.Regexp(t, `from 127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+`, atA[0])
}

func listenAnywhere(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func TestRestartsAreNotTwoProcesses(t *testing.T) {
	s := besiege(t, newCluster)
	for range 3 {
		s.a.Close()
		s.listen("a", s.addresses["a"])
		s.a, _ = s.serve("a")
		s.reaches(s.a, "b", s.ear)
	}
	assert.Zero(t, s.b.Stats().TwoProcesses)
}
