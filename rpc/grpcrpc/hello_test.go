// Hellos that are wrong or missing, and links that end.

package grpcrpc_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// impostor is a node in place of b that answers each Hello with one of its own, or not at all.
type impostor struct {
	electorpb.UnimplementedMemberServiceServer
	answer *electorpb.Hello // nil: none
	called atomic.Int32
	heard  atomic.Int32 // packets behind the Hello
}

func (i *impostor) Exchange(s grpc.BidiStreamingServer[electorpb.Packet, electorpb.Packet]) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	i.called.Add(1)
	if i.answer != nil {
		if err := s.Send(&electorpb.Packet{Content: &electorpb.Packet_Hello{Hello: i.answer}}); err != nil {
			return err
		}
	}
	for {
		if _, err := s.Recv(); err != nil {
			return err
		}
		i.heard.Add(1)
	}
}

func (w *cluster) serveImpostor(answer *electorpb.Hello) *impostor {
	w.t.Helper()
	i, server := &impostor{answer: answer}, grpc.NewServer()
	electorpb.RegisterMemberServiceServer(server, i)
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(w.listeners["b"]) }()
	w.t.Cleanup(func() {
		server.Stop()
		assert.NoError(w.t, <-serving)
	})
	return i
}

// Even without TLS a node checks that the Hello is that of the peer, because the address may now
// belong to another node.
func TestAnAnswerOfAnotherNodeIsRefused(t *testing.T) {
	w := newCluster(t, "a", "b")
	other := w.serveImpostor(&electorpb.Hello{From: "x", To: "a", Incarnation: 7})
	a, _ := w.serve("a")
	w.eventually("it is left and called again", func() bool { return other.called.Load() > 2 })
	assert.Zero(t, a.Stats().Connected)
	assert.Zero(t, other.heard.Load(), "it received messages")
}

func TestAnAnswerThatIsTooLargeIsCounted(t *testing.T) {
	w := newCluster(t, "a", "b")
	w.serveImpostor(&electorpb.Hello{From: strings.Repeat("b", 4<<10), To: "a", Incarnation: 7})
	a, _ := w.serve("a")
	w.eventually("it is counted", func() bool { return a.Stats().Refused[grpcrpc.RefusedPeer] > 0 })
	assert.Zero(t, a.Stats().Connected)
}

// The called node sends its settings, and then frames of no known kind.
func TestACalledNodeThatFloodsIsDisconnected(t *testing.T) {
	w := newCluster(t, "a", "b")
	flooding := make(chan struct{})
	go func() {
		defer close(flooding)
		for {
			c, err := w.listeners["b"].Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{0, 0, 0, settingsFrame, 0, 0, 0, 0, 0})
			frame := append([]byte{0, 0x40, 0, 200, 0, 0, 0, 0, 0}, make([]byte, 0x4000)...)
			_, _ = c.Write(bytes.Repeat(frame, 100))
			_, _ = io.Copy(io.Discard, c) // until a hangs up
			_ = c.Close()
		}
	}()
	a, _ := w.serve("a")
	w.eventually("it is counted", func() bool { return a.Stats().Refused[grpcrpc.RefusedFlood] > 0 })
	assert.Zero(t, a.Stats().Connected)
	require.NoError(t, w.listeners["b"].Close())
	<-flooding
}

func TestAPeerThatDoesNotAnswerTheHelloIsCalledAgain(t *testing.T) {
	w := newCluster(t, "a", "b")
	silent := w.serveImpostor(nil)
	config := w.config("a")
	config.Logger = slog.New(slog.DiscardHandler)
	a, err := grpcrpc.NewHurried(config, 50*time.Millisecond)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	a.Send("b", []rpc.Message{vote(1)})
	w.eventually("it is called again", func() bool { return silent.called.Load() > 2 })
}

// Either side may have called.
func TestAPeerThatIsRemovedIsDisconnected(t *testing.T) {
	for _, remover := range []string{"a", "b"} {
		w := newClusterWithTLS(t, "a", "b")
		a, earA := w.serve("a")
		b, earB := w.serve("b")
		w.reaches(a, "b", earB)
		w.reaches(b, "a", earA)
		by, other, of := a, b, "a"
		if remover == "b" {
			by, other, of = b, a, "b"
		}
		by.SetPeers(nil)
		w.eventually("the other one is cut off", func() bool { return !other.Connected()[of] })
	}
}

// slow is a handler whose first call lasts until leave is closed.
type slow struct {
	entered, leave chan struct{}
	began, left    atomic.Bool
}

func (s *slow) Receive([]rpc.Message) {
	if !s.began.Swap(true) {
		close(s.entered)
		<-s.leave
		s.left.Store(true)
	}
}

func (*slow) PeerLost(string) {}

// Close returns after the last call of the handler has returned, whichever side had called.
func TestCloseWaitsForTheHandler(t *testing.T) {
	for _, node := range []string{"a", "b"} {
		w := newCluster(t, "a", "b")
		from := map[string]string{"a": "b", "b": "a"}[node]
		sender, _ := w.serve(from)
		tr := w.open(node)
		h := &slow{entered: make(chan struct{}), leave: make(chan struct{})}
		_, err := tr.Serve(h)
		require.NoError(t, err)
		w.eventually("the handler is called", func() bool {
			sender.Send(node, []rpc.Message{vote(1)})
			return h.began.Load()
		})
		time.AfterFunc(100*time.Millisecond, func() { close(h.leave) })
		tr.Close()
		assert.True(t, h.left.Load())
	}
}
