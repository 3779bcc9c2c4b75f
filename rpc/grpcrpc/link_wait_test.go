// The waits of a link between its attempts, and bad streams.

package grpcrpc

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// Each wait is up to twice as long as the previous one, up to a bound. It is random, so that nodes
// that were cut off together do not connect together. After a connection that has lasted a second,
// the waits begin anew.
func TestWaitsGrowUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pause
		drawn := map[time.Duration]bool{}
		most := time.Millisecond
		for range 40 {
			began := time.Now()
			p.sleep(t.Context(), time.Second)
			waited := time.Since(began)
			assert.LessOrEqual(t, waited, most)
			assert.Greater(t, waited, most/2)
			drawn[waited] = true
			most = min(2*most, 100*time.Millisecond)
		}
		assert.Greater(t, len(drawn), 20)

		began := time.Now()
		p.sleep(t.Context(), time.Second+1)
		assert.LessOrEqual(t, time.Since(began), time.Millisecond)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		p.sleep(ended, 0)
		assert.Zero(t, time.Since(began), "sleep does not wait if the context has ended")
	})
}

// attempts records the times of failed attempts, from the log.
type attempts struct {
	slog.Handler
	at *[]time.Time
}

func (attempts) Enabled(context.Context, slog.Level) bool { return true }

func (a attempts) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "no connection" {
		*a.at = append(*a.at, time.Now())
	}
	return nil
}

// The attempts go on, at the longest wait, as long as the link lasts.
func TestAnAbsentPeerIsCalledRarely(t *testing.T) {
	refuses := deaf(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		tr, err := New(Config{Self: "a", Listener: listener, Logger: slog.New(attempts{slog.DiscardHandler, &at})})
		require.NoError(t, err)
		l := newLink(tr, "b", refuses)
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.run()
		}()
		const long, longestWait = 10 * time.Second, 100 * time.Millisecond
		<-time.After(long)
		synctest.Wait()
		l.cancel()
		<-done
		tr.Close()
		assert.GreaterOrEqual(t, len(at), int(long/longestWait))
		assert.LessOrEqual(t, len(at), int(2*long/longestWait)+10)
	})
}

// twin is a peer that answers that another process has the caller's id.
type twin struct {
	electorpb.UnimplementedMemberServiceServer
}

func (twin) Exchange(electorpb.MemberService_ExchangeServer) error {
	return status.Error(codes.AlreadyExists, "it is called by two processes")
}

// Each attempt of a second process with the same id may replace the connection of the first one.
func TestASecondProcessCallsRarely(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	electorpb.RegisterMemberServiceServer(server, twin{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(there) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		tr, err := New(Config{Self: "a", Listener: listener, Logger: slog.New(attempts{slog.DiscardHandler, &at})})
		require.NoError(t, err)
		l := newLink(tr, "b", there.Addr().String())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.run()
		}()
		<-time.After(10 * time.Second)
		l.cancel()
		<-done
		tr.Close()
		assert.GreaterOrEqual(t, len(at), 5)
		assert.LessOrEqual(t, len(at), 11)
		assert.EqualValues(t, len(at), tr.Stats().TwoProcesses)
	})
	server.Stop()
	require.NoError(t, <-served)
}

// nothingWaits checks that nothing is queued for a peer.
func nothingWaits(t *testing.T, l *link) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	beat, left, _ := l.queue.take(ended, nil)
	assert.Nil(t, beat)
	assert.Empty(t, left)
}

// The previous connection is closed with the reason, and messages that have waited for a connection
// are dropped.
func TestAConnectionReplacesThePreviousOne(t *testing.T) {
	l, _ := linkTo(t)
	var why []error
	first := &connection{number: l.number(), incarnation: 7, confirmed: true, hangUp: func(err error) { why = append(why, err) }}
	require.NoError(t, l.begin(first))
	assert.Zero(t, l.queue.put([]rpc.Message{{Body: rpc.Body{Kind: rpc.VoteRequest}}, {Body: rpc.Body{Kind: rpc.Heartbeat}}}))
	assert.Zero(t, l.queue.putBeat(new(rpc.Beat)))
	connect(t, l, 7)
	require.Len(t, why, 1)
	assert.Equal(t, codes.Aborted, status.Code(why[0]))
	assert.EqualValues(t, 3, l.transport.Stats().Dropped)
	nothingWaits(t, l)
	l.end(first)
	assert.True(t, l.connected(), "the end of the previous connection changes nothing")
}

// They are stale, and would be read before everything that is new.
func TestWhatHasWaitedWithoutAConnectionIsNotSent(t *testing.T) {
	l, _ := linkTo(t)
	for range 2 { // before the first connection, and between two
		l.put([]rpc.Message{vote(1), {Body: rpc.Body{Kind: rpc.Heartbeat}}})
		l.putBeat(new(rpc.Beat))
		before := l.transport.Stats().Dropped
		c := connect(t, l, 7)
		assert.Equal(t, before+3, l.transport.Stats().Dropped)
		nothingWaits(t, l)
		l.end(c)
	}
}

// replacing is a logger that calls replace when a connection is logged.
type replacing struct {
	slog.Handler
	replace func()
}

func (replacing) Enabled(context.Context, slog.Level) bool { return true }

func (h replacing) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "connected" {
		h.replace()
	}
	return nil
}

// The next connection may come as soon as this one is the current one.
func TestAConnectionCanBeReplacedFromTheBeginning(t *testing.T) {
	l, _ := linkTo(t)
	next := &connection{number: 2, incarnation: 7, confirmed: true, hangUp: func(error) {}}
	var replaced atomic.Bool
	l.transport.log = newQuietLog(slog.New(replacing{slog.DiscardHandler, func() {
		if !replaced.Swap(true) {
			assert.NoError(t, l.begin(next))
		}
	}}))
	s := confirmed{unconfirmed{ctx: t.Context()}, new(atomic.Bool)}
	s.sent.Store(true)
	err := l.carry(t.Context(), s, &connection{number: 1, incarnation: 7, confirmed: true})
	assert.Equal(t, codes.Aborted, status.Code(err), err)
	assert.Same(t, next, l.current)
}

// babble is a stream of packets with a malformed message each. waits are the times before them.
type babble struct {
	packets
	waits []time.Duration
}

func (b *babble) RecvMsg(into any) error {
	if len(b.waits) == 0 {
		return status.Error(codes.Unavailable, "the stream has ended")
	}
	<-time.After(b.waits[0])
	b.waits = b.waits[1:]
	into.(*incoming).packet.Content = &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: []*electorpb.Message{{}}}}
	return nil
}

// feast is a stream of packets, each of which spends the whole allowance of its connection.
type feast struct {
	packets
	meter *meter
	left  int
}

func (f *feast) RecvMsg(into any) error {
	if f.left--; f.left < 0 {
		return status.Error(codes.Unavailable, "the stream has ended")
	}
	if !f.meter.spend(100) {
		return errFlood
	}
	into.(*incoming).packet.Content = encodeBatch([]rpc.Message{{Group: "g", Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1}}}).Content
	return nil
}

func TestEveryPacketRefillsTheAllowance(t *testing.T) {
	l, _ := linkTo(t)
	m := newMeter(nil, nil)
	m.allow(100)
	assert.Equal(t, codes.Unavailable, status.Code(l.receiveAll(&feast{meter: m, left: 3}, m)))
	assert.EqualValues(t, 3, l.transport.Stats().Received)
}

// hollow is a feast whose packets have no content that is known, as those of a later version may.
type hollow struct{ feast }

func (h *hollow) RecvMsg(into any) error {
	err := h.feast.RecvMsg(into)
	into.(*incoming).packet.Content = nil
	return err
}

// It is no flood, because nothing of it is kept.
func TestAPacketThatIsNotUnderstoodRefillsTheAllowance(t *testing.T) {
	l, _ := linkTo(t)
	m := newMeter(nil, nil)
	m.allow(100)
	assert.Equal(t, codes.Unavailable, status.Code(l.receiveAll(&hollow{feast{meter: m, left: 3}}, m)))
	assert.Zero(t, l.transport.Stats().Received)
}

// Many malformed messages within a minute end a connection.
func TestAFewMalformedMessagesAMinuteAreTolerated(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		tr, err := New(Config{Self: "b", Listener: listener, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer tr.Close()
		l := newLink(tr, "a", "127.0.0.1:1")
		slow, fast := make([]time.Duration, 10*maxMalformed), make([]time.Duration, 10*maxMalformed)
		for i := range slow {
			slow[i], fast[i] = time.Second, time.Second/2
		}
		s := &babble{waits: slow}
		assert.Equal(t, codes.Unavailable, status.Code(l.receiveAll(s, newMeter(nil, nil))))
		assert.Empty(t, s.waits)
		s = &babble{waits: fast}
		assert.Equal(t, codes.InvalidArgument, status.Code(l.receiveAll(s, newMeter(nil, nil))))
		assert.Len(t, s.waits, len(fast)-maxMalformed-1)
		s = &babble{waits: slices.Concat(slow, fast)}
		assert.Equal(t, codes.InvalidArgument, status.Code(l.receiveAll(s, newMeter(nil, nil))), "later, too")
	})
}
