// A link to a peer: one connection, which is opened again when it breaks.
//
// The node with the smaller id calls, again and again with growing waits. When a
// connection breaks, both sides probe the other's process at once. If connecting is
// refused, or a new incarnation answers, the process is gone, and the handler is
// notified. Silence proves nothing.

package grpcrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

type link struct {
	transport     *Transport
	peer, address string
	queue         *queue
	ctx           context.Context // ends with the transport, or when the peer is removed
	cancel        context.CancelFunc

	mu          sync.Mutex
	numbers     uint64      // the last number of a connection
	latest      connection  // the one that was accepted last
	incarnation uint64      // of the peer's process; 0: it is gone, or was never heard
	current     *connection // nil: none
	suspect     *connection // the one that broke, while it is not known why
	greeted     *inbound    // its Hello was answered, and it has not confirmed the answer
	processes   processes
	twoLimit    rateLimit
}

func newLink(t *Transport, peer, address string) *link {
	l := &link{transport: t, peer: peer, address: address, queue: newQueue()}
	l.ctx, l.cancel = context.WithCancel(t.ctx)
	return l
}

// calls says whether this side is the one that calls.
func (l *link) calls() bool { return l.transport.self < l.peer }

// run opens the connection again and again, if this side calls.
func (l *link) run() {
	if !l.calls() {
		return
	}
	var wait pause
	for l.ctx.Err() == nil {
		began := time.Now()
		err := l.call()
		lasted := time.Since(began)
		if l.ctx.Err() == nil {
			l.transport.log.Debug("no connection", "peer", l.peer, "address", l.address, "error", err)
			l.probePeer()
		}
		if status.Code(err) == codes.AlreadyExists {
			l.transport.reportTwoOfUs(l.peer, err)
			sleep(l.ctx, refusedWait)
		}
		wait.sleep(l.ctx, lasted)
	}
}

// call connects, and carries messages until the connection breaks.
func (l *link) call() error {
	conn, err := l.transport.dial(l.address, l.peer)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the exchange has ended already
	return l.exchange(electorpb.NewMemberServiceClient(conn))
}

// exchange says Hello to the peer that is called, and carries messages until the exchange ends.
func (l *link) exchange(called electorpb.MemberServiceClient) error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	late := time.AfterFunc(l.transport.handshakeTime, cancel)
	defer late.Stop()
	s, err := called.Exchange(ctx)
	if err != nil {
		return err
	}
	// Send fails if the stream has ended; Recv then returns the reason.
	_ = s.Send(hello(l.transport.self, l.peer, l.transport.incarnation))
	p, err := receiveHello(s)
	if err != nil {
		return l.transport.excessive(err, "peer", l.peer)
	}
	h := p.GetHello()
	if h.GetFrom() != l.peer {
		return fmt.Errorf("it is %q", h.GetFrom())
	}
	_ = s.Send(confirm())
	late.Stop()
	there, err := handshakeOf(s.Context())
	if err != nil {
		return err
	}
	// This side makes its calls one after the other, so their numbers are in order.
	return l.carry(ctx, s, &connection{
		number: l.number(), incarnation: h.GetIncarnation(), confirmed: true, takesBeats: takesBeats(h),
		remote: there.meter.RemoteAddr().String(), meter: there.meter,
	})
}

// accept answers the Hello of a peer that has called, and carries messages once
// the peer has confirmed the answer.
func (l *link) accept(s packets, h *electorpb.Hello, came *inbound) error {
	c := &connection{
		number: l.number(), incarnation: h.GetIncarnation(), confirmed: h.GetConfirms(), takesBeats: takesBeats(h),
		remote: came.RemoteAddr().String(), meter: came.meter,
	}
	if err := l.greet(s, c, came); err != nil {
		return err
	}
	l.transport.guard.introduce(came)
	err := l.carry(s.Context(), s, c)
	l.transport.running.Go(l.keepProbing)
	return err
}

// greet answers a Hello, and waits for the Confirm. A peer may send packets right after its
// Confirm, so it gets a peer's allowance from here on. Because of that, only one connection
// of a peer may be at this point; an earlier one is closed.
func (l *link) greet(s packets, c *connection, came *inbound) error {
	came.allow(peerBytes)
	l.mu.Lock()
	before := l.greeted
	l.greeted = came
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.greeted == came {
			l.greeted = nil
		}
	}()
	if before != nil {
		_ = before.Conn.Close()
	}
	if err := s.Send(hello(l.transport.self, l.peer, l.transport.incarnation)); err != nil || !c.confirmed {
		return err
	}
	p, err := receiveHello(s)
	if err != nil {
		return l.transport.excessive(err, "peer", l.peer)
	}
	if p.GetConfirm() == nil {
		return status.Error(codes.InvalidArgument, "the Hello was answered, and what came next is no Confirm")
	}
	return nil
}

// put queues a batch.
func (l *link) put(batch []rpc.Message) {
	l.transport.counts.dropped.Add(uint64(l.queue.put(batch)))
	l.forgetAtEnd()
}

// putBeat queues a beat.
func (l *link) putBeat(b *rpc.Beat) {
	l.transport.counts.dropped.Add(uint64(l.queue.putBeat(b)))
	l.forgetAtEnd()
}

// forgetAtEnd drops what was queued while the link ended, or after that: nobody else does.
func (l *link) forgetAtEnd() {
	if l.ctx.Err() != nil {
		l.forget()
	}
}

// forget drops what is queued. Whoever ends the link calls it after that.
func (l *link) forget() { l.transport.counts.dropped.Add(uint64(l.queue.forget())) }

// number returns the next number.
func (l *link) number() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers++
	return l.numbers
}

// packets is a stream of either side.
type packets interface {
	Send(*electorpb.Packet) error
	RecvMsg(any) error
	Context() context.Context
}

// carry sends queued messages and delivers arriving ones, until the connection breaks,
// another replaces it, or the link ends. The stream must end when the caller returns.
func (l *link) carry(ctx context.Context, s packets, c *connection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Canceled) })()
	c.hangUp = cancel
	if err := l.begin(c); err != nil {
		return err
	}
	sent, received := make(chan error, 1), make(chan error, 1)
	l.transport.running.Go(func() { sent <- l.sendAll(ctx, s, c.takesBeats) })
	l.transport.running.Go(func() { received <- l.receiveAll(s, c.meter) })
	var err error
	select {
	case err = <-received:
	case err = <-sent:
		if errors.Is(err, io.EOF) { // the other side has ended the stream; Recv returns the reason
			err = <-received
		}
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	l.end(c)
	l.transport.log.Info("disconnected", "peer", l.peer, "error", err)
	if _, ok := status.FromError(err); !ok {
		err = status.FromContextError(err).Err()
	}
	return err
}

// begin makes a connection the current one. It refuses a stale connection, and one of a
// second process of the peer while the first one is connected.
func (l *link) begin(c *connection) error {
	l.mu.Lock()
	before, latest := l.current, l.latest
	if c.number < latest.number {
		l.mu.Unlock()
		return status.Error(codes.Aborted, "a connection that was opened later is in use")
	}
	two := c.confirmed && l.processes.returns(c.incarnation)
	if two && before != nil && l.processes.elder(before.incarnation, c.incarnation) {
		l.mu.Unlock()
		return l.transport.reportTwo(l, before, c)
	}
	if c.confirmed {
		l.processes.hear(c.incarnation)
	}
	another := !two && l.incarnation != 0 && l.incarnation != c.incarnation
	l.latest, l.current, l.incarnation, l.suspect = *c, c, c.incarnation, nil
	l.forget() // under the lock: what is queued from now on waits for this connection, or for a later one
	l.mu.Unlock()

	why := status.Error(codes.Aborted, "the peer has opened another connection")
	if two {
		why = l.transport.reportTwo(l, &latest, c)
	}
	if before != nil {
		before.hangUp(why)
	}
	l.transport.counts.connected.Add(1)
	l.transport.log.Info("connected", "peer", l.peer)
	if another {
		l.transport.reportLost(l.peer, "it has been restarted")
	}
	return nil
}

// end records that a connection broke, unless another has replaced it.
func (l *link) end(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == c {
		l.current, l.suspect = nil, c
	}
}

// suspected returns the connection that broke, if it is not known whether the peer is gone.
func (l *link) suspected() *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspect
}

// gone reports that the peer's process is gone, once for each connection that broke. It
// reports nothing if the peer has connected since.
func (l *link) gone(broken *connection) {
	l.mu.Lock()
	news := l.suspect == broken
	if news {
		l.suspect, l.incarnation = nil, 0 // so that the next process is not reported as a restart
	}
	l.mu.Unlock()
	if news && l.ctx.Err() == nil {
		l.transport.reportLost(l.peer, "connecting is refused")
	}
}

// sendAll sends what is queued until the stream or the context ends.
func (l *link) sendAll(ctx context.Context, s packets, takesBeats bool) error {
	dropped := &l.transport.counts.dropped
	var batch []rpc.Message
	for {
		var beat *rpc.Beat
		var superseded int
		beat, batch, superseded = l.queue.take(ctx, batch[:0])
		dropped.Add(uint64(superseded))
		if beat == nil && len(batch) == 0 {
			return ctx.Err()
		}
		if beat != nil && !takesBeats {
			beat = nil
			dropped.Add(1)
		}
		if beat != nil {
			if err := l.send(s, encodeBeat(beat), 1); err != nil {
				dropped.Add(uint64(len(batch)))
				return err
			}
		}
		if len(batch) > 0 {
			if err := l.send(s, encodeBatch(batch), len(batch)); err != nil {
				return err
			}
		}
	}
}

// send sends a packet, and counts the messages and beats in it.
func (l *link) send(s packets, p *electorpb.Packet, holds int) error {
	if err := s.Send(p); err != nil {
		l.transport.counts.dropped.Add(uint64(holds))
		return err
	}
	l.transport.counts.sent.Add(uint64(holds))
	return nil
}

// maxMalformed bounds the malformed messages and beats of a connection in a minute. A few are
// tolerated because a later version of the peer may send them.
const maxMalformed = 100

func (l *link) receiveAll(s packets, m *meter) error {
	t := l.transport
	var malformed int
	since := time.Now()
	for {
		if time.Since(since) > time.Minute {
			malformed, since = 0, time.Now()
		}
		p, err := receive(s, fromPeers)
		if err != nil {
			return t.excessive(err, "peer", l.peer)
		}
		m.refill()
		batch, beat, bad := l.unpack(p)
		malformed += bad
		if malformed > maxMalformed {
			t.refuse(RefusedPeer, "peer", l.peer, "malformed", malformed)
			return status.Errorf(codes.InvalidArgument, "%d malformed messages", malformed)
		}
		if beat != nil {
			t.deliverBeat(beat)
		}
		if len(batch) > 0 {
			t.deliver(batch)
		}
	}
}

// unpack returns what a packet holds, a batch or a beat, without what is malformed, which it
// refuses and counts.
func (l *link) unpack(p *electorpb.Packet) (batch []rpc.Message, beat *rpc.Beat, malformed int) {
	t := l.transport
	refuse := func(err error) {
		malformed++
		t.refuse(RefusedMessage, "peer", l.peer, "error", err)
	}
	batch = make([]rpc.Message, 0, len(p.GetBatch().GetMessages()))
	for _, w := range p.GetBatch().GetMessages() {
		m, err := decode(w, l.peer, t.self)
		if err != nil {
			refuse(err)
			continue
		}
		batch = append(batch, m)
	}
	if w := p.GetBeat(); w != nil {
		b, err := decodeBeat(w, l.peer, t.self)
		if err != nil {
			refuse(err)
		}
		beat = b
	}
	return batch, beat, malformed
}

// pause is the wait before the next attempt: twice as long as before, up to maxWait, and
// shortened by up to a half at random. It begins anew after a connection that has lasted.
type pause struct{ last time.Duration }

const (
	minWait = time.Millisecond
	// maxWait is short, because a node that comes back takes part only when it is
	// connected, and because an attempt costs very little.
	maxWait = 100 * time.Millisecond
	// refusedWait is how long a process waits after it was refused because another
	// process has its id.
	refusedWait = time.Second
	// lasting is how long an attempt must have lasted for the waits to begin anew.
	lasting = time.Second
)

func (p *pause) sleep(ctx context.Context, lasted time.Duration) {
	if lasted > lasting {
		p.last = 0
	}
	p.last = min(max(2*p.last, minWait), maxWait)
	sleep(ctx, p.last-rand.N(p.last/2))
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
