// The reasons with which exchanges end.

package grpcrpc

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// ending is a stream that the other side may end: Send returns io.EOF at once, and RecvMsg the
// reason when it is there.
type ending struct {
	packets
	reason chan error
}

func (ending) Send(*electorpb.Packet) error { return io.EOF }

func (e ending) RecvMsg(any) error {
	if err, open := <-e.reason; open {
		return err
	}
	return io.EOF
}

// The callers of carry act on the reason, and pass it on to the other side.
func TestAnExchangeEndsWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*link, *connection, ending)
		code codes.Code
	}{
		"the other side ends the stream, and Send fails first": {func(l *link, _ *connection, e ending) {
			l.queue.put([]rpc.Message{vote(1)})
			synctest.Wait()
			e.reason <- status.Error(codes.AlreadyExists, "two processes")
		}, codes.AlreadyExists},
		"another connection replaces it": {func(_ *link, c *connection, _ ending) {
			c.hangUp(status.Error(codes.Aborted, "another connection"))
		}, codes.Aborted},
		"another connection replaces it while its end is awaited": {func(l *link, c *connection, e ending) {
			l.queue.put([]rpc.Message{vote(1)})
			synctest.Wait()
			c.hangUp(status.Error(codes.Aborted, "another connection"))
			e.reason <- status.Error(codes.Canceled, "the stream has ended")
		}, codes.Aborted},
		"the peer is removed": {func(l *link, _ *connection, _ ending) { l.cancel() }, codes.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				tr, err := New(Config{Self: "b", Listener: listener, Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				l, e := newLink(tr, "a", "127.0.0.1:1"), ending{reason: make(chan error, 1)}
				connection := &connection{number: l.number(), incarnation: 7, confirmed: true, meter: newMeter(nil, nil)}
				over := make(chan error, 1)
				go func() { over <- l.carry(t.Context(), e, connection) }()
				synctest.Wait()
				c.end(l, connection, e)
				assert.Equal(t, c.code, status.Code(<-over))
				close(e.reason) // the stream ends when carry has returned
				tr.Close()
			})
		})
	}
}

// oversized is a stream whose next packet is too large.
type oversized struct{ packets }

func (oversized) Send(*electorpb.Packet) error { return nil }

func (oversized) RecvMsg(into any) error {
	into.(*incoming).err = &excess{"bytes", 2, 1}
	return nil
}

func TestAPacketThatIsTooLargeIsCountedAtEveryStep(t *testing.T) {
	for step, receives := range map[string]func(*link) error{
		"Confirm": func(l *link) error { return l.greet(oversized{}, &connection{confirmed: true}, stranger(t, l)) },
		"batch":   func(l *link) error { return l.receiveAll(oversized{}, newMeter(nil, nil)) },
	} {
		t.Run(step, func(t *testing.T) {
			l, _ := linkTo(t)
			assert.Equal(t, codes.ResourceExhausted, status.Code(receives(l)))
			assert.EqualValues(t, 1, l.transport.Stats().Refused[RefusedPeer])
		})
	}
}
