// Messages between nodes: a stream of gRPC to each other node.

package server

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/internal/connect"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
)

// mostQueued bounds the messages that wait for a node. Those that find no room are lost, and sent again later.
const mostQueued = 128

// network sends messages to other nodes.
type network struct {
	queues map[string]chan *ledgerpb.Message
}

// newNetwork connects to the other nodes, and again whenever a connection breaks, until the context ends.
func newNetwork(ctx context.Context, self string, addresses map[string]string, run func(func())) (*network, error) {
	n := &network{queues: map[string]chan *ledgerpb.Message{}}
	for id, address := range addresses {
		if id == self {
			continue
		}
		conn, err := connect.To(address)
		if err != nil {
			return nil, err
		}
		queue := make(chan *ledgerpb.Message, mostQueued)
		n.queues[id] = queue
		run(func() {
			defer func() { _ = conn.Close() }()
			for pause := 10 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, time.Second) {
				if sent := send(ctx, ledgerpb.NewReplicationClient(conn), queue); sent {
					pause = 10 * time.Millisecond
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		})
	}
	return n, nil
}

// send sends what is queued until the connection breaks, and says whether anything was sent.
func send(ctx context.Context, peer ledgerpb.ReplicationClient, queue <-chan *ledgerpb.Message) (sent bool) {
	stream, err := peer.Exchange(ctx)
	if err != nil {
		return false
	}
	for {
		select {
		case m := <-queue:
			if stream.Send(m) != nil {
				return sent
			}
			sent = true
		case <-stream.Context().Done():
			return sent
		}
	}
}

// Send queues a message.
func (n *network) Send(to string, m *ledgerpb.Message) {
	select {
	case n.queues[to] <- m:
	default: // it is lost
	}
}

// replication receives.
type replication struct {
	ledgerpb.UnimplementedReplicationServer
	engine *engine.Engine
}

// Exchange receives the messages of a node.
func (r replication) Exchange(stream grpc.ClientStreamingServer[ledgerpb.Message, ledgerpb.Ended]) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&ledgerpb.Ended{})
		}
		if err != nil {
			return err
		}
		r.engine.Receive(m)
	}
}
