// A link to a peer: one connection, kept up, and what is concluded when it breaks.
//
// The node with the smaller id calls, again and again with growing waits. When a
// connection breaks, both sides look at once whether the other's process is
// still there: if connecting is refused, or a new incarnation answers, it is not,
// and the handler is told. Silence tells nothing.

package grpcrpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
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
	ctx           context.Context // ends with the transport, or when the peer is none any more
	cancel        context.CancelFunc

	mu          sync.Mutex
	incarnation uint64      // of the peer, when it was last heard; 0: never
	current     *connection // nil: none
	suspect     bool        // the last connection broke, and why is not known
}

func newLink(t *Transport, peer, address string) *link {
	l := &link{transport: t, peer: peer, address: address, queue: newQueue()}
	l.ctx, l.cancel = context.WithCancel(t.ctx)
	return l
}

// calls says whether this side is the one that calls.
func (l *link) calls() bool { return l.transport.self < l.peer }

// run keeps the link up, if that is this side's to do.
func (l *link) run() {
	if !l.calls() {
		return
	}
	var wait pause
	for l.ctx.Err() == nil {
		began := time.Now()
		err := l.call()
		if time.Since(began) > lasting {
			wait = pause{}
		}
		if l.ctx.Err() == nil {
			l.transport.log.Debug("no connection", "peer", l.peer, "address", l.address, "error", err)
			l.look()
		}
		wait.sleep(l.ctx)
	}
}

// call connects, and carries messages until the connection breaks.
func (l *link) call() error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	conn, err := l.transport.dial(l.address, l.peer)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it is over, one way or the other
	late := time.AfterFunc(handshakeTime, cancel)
	defer late.Stop()
	s, err := electorpb.NewMemberServiceClient(conn).Exchange(ctx)
	if err == nil {
		err = s.Send(hello(l.transport.self, l.peer, l.transport.incarnation))
	}
	if err != nil {
		return err
	}
	p, err := s.Recv()
	if err != nil {
		return err
	}
	if h := p.GetHello(); h.GetFrom() != l.peer {
		return fmt.Errorf("it is %q", h.GetFrom())
	}
	late.Stop()
	return l.carry(ctx, s, p.GetHello().GetIncarnation())
}

// accept carries messages over a connection that the peer has opened.
func (l *link) accept(s packets, incarnation uint64) error {
	err := l.carry(s.Context(), s, incarnation)
	l.transport.running.Go(l.keepLooking)
	return err
}

// packets is a stream as either side has it.
type packets interface {
	Send(*electorpb.Packet) error
	Recv() (*electorpb.Packet, error)
	Context() context.Context
}

// carry sends what is queued and delivers what comes, until the connection
// breaks, or another takes its place, or the link ends. The stream must end
// with the return of whoever called.
func (l *link) carry(ctx context.Context, s packets, incarnation uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	mine := l.begin(incarnation, cancel)
	ended := make(chan error, 2)
	l.transport.running.Go(func() { ended <- l.sendAll(ctx, s) })
	l.transport.running.Go(func() { ended <- l.receiveAll(s) })
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	l.end(mine)
	l.transport.log.Info("disconnected", "peer", l.peer, "error", err)
	return err
}

// connection is one that came about; it is only there to be told from others.
type connection struct{ hangUp context.CancelFunc }

// begin makes a connection the one that there is.
func (l *link) begin(incarnation uint64, hangUp context.CancelFunc) *connection {
	c := &connection{hangUp}
	l.mu.Lock()
	before, another := l.current, l.incarnation != 0 && l.incarnation != incarnation
	l.current, l.incarnation, l.suspect = c, incarnation, false
	l.mu.Unlock()
	if before != nil {
		before.hangUp()
	}
	l.transport.counts.connected.Add(1)
	l.transport.counts.dropped.Add(uint64(l.queue.forget()))
	l.transport.log.Info("connected", "peer", l.peer)
	if another {
		l.transport.reportLost(l.peer, "it has been restarted")
	}
	return c
}

// end notes that a connection broke, unless another has taken its place.
func (l *link) end(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == c {
		l.current, l.suspect = nil, true
	}
}

func (l *link) suspected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspect
}

// gone tells that the peer's process is no more, once for each connection that broke.
func (l *link) gone(how string) {
	l.mu.Lock()
	suspect := l.suspect
	l.suspect, l.incarnation = false, 0 // the next one is no news
	l.mu.Unlock()
	if suspect && l.ctx.Err() == nil {
		l.transport.reportLost(l.peer, how)
	}
}

func (l *link) sendAll(ctx context.Context, s packets) error {
	var batch []rpc.Message
	for {
		batch = l.queue.take(ctx, batch[:0])
		if len(batch) == 0 {
			return ctx.Err()
		}
		if err := s.Send(encodeBatch(batch)); err != nil {
			l.transport.counts.dropped.Add(uint64(len(batch)))
			return err
		}
		l.transport.counts.sent.Add(uint64(len(batch)))
	}
}

// maxMalformed is how many malformed messages a connection survives in a minute. A
// few now and then may be what a later version of the peer says.
const maxMalformed = 100

func (l *link) receiveAll(s packets) error {
	t := l.transport
	var malformed int
	since := time.Now()
	for {
		if time.Since(since) > time.Minute {
			malformed, since = 0, time.Now()
		}
		p, err := s.Recv()
		if status.Code(err) == codes.ResourceExhausted {
			t.refuse(RefusedPeer, "peer", l.peer, "error", err)
		}
		if err != nil {
			return err
		}
		batch := make([]rpc.Message, 0, len(p.GetBatch().GetMessages()))
		for _, w := range p.GetBatch().GetMessages() {
			m, err := decode(w, l.peer, t.self)
			if err != nil {
				malformed++
				t.refuse(RefusedMessage, "peer", l.peer, "error", err)
				continue
			}
			batch = append(batch, m)
		}
		if malformed > maxMalformed {
			t.refuse(RefusedPeer, "peer", l.peer, "malformed", malformed)
			return status.Errorf(codes.InvalidArgument, "%d malformed messages", malformed)
		}
		if len(batch) > 0 {
			t.deliver(batch)
		}
	}
}

// keepLooking looks until it is known what became of a peer that calls and was
// cut off, for about a second. A process that is being ended may still accept
// connections for a moment.
func (l *link) keepLooking() {
	var wait pause
	for range 10 {
		if l.ctx.Err() != nil || !l.suspected() || l.look() {
			return
		}
		wait.sleep(l.ctx)
	}
}

// look finds out whether the peer's process is still there, if that is in doubt,
// and says whether it now is known.
func (l *link) look() bool {
	if !l.suspected() {
		return true
	}
	here, err := knock(l.ctx, l.address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		l.gone("connecting is refused")
		return true
	}
	return here
}

// knock connects and waits a moment whether the connection stays.
func knock(ctx context.Context, address string) (here bool, err error) {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false, err
	}
	defer c.Close() //nolint:errcheck // nothing was sent
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return false, err
	}
	n, err := c.Read(make([]byte, 1))
	return n > 0 || errors.Is(err, os.ErrDeadlineExceeded), nil
}

// pause is how long to wait until the next attempt: twice as long as before, up
// to maxWait, less up to a half that is drawn.
type pause struct{ last time.Duration }

const (
	minWait = time.Millisecond
	// maxWait is short: a node that comes back takes part only when it is
	// connected, and an attempt at one that is away costs next to nothing.
	maxWait = 100 * time.Millisecond
	// lasting is how long a connection must have lasted to be called again at once.
	lasting = time.Second
)

func (p *pause) sleep(ctx context.Context) {
	p.last = min(max(2*p.last, minWait), maxWait)
	t := time.NewTimer(p.last - rand.N(p.last/2))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
