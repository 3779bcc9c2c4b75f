// Two connections of a peer that replace one another, when others come between any two statements.

package grpcrpc

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/between"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// stream is a connection's stream. It ends with its context.
type stream struct {
	ctx  context.Context
	mu   sync.Mutex
	sent []string // the groups of the messages
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) RecvMsg(any) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

func (s *stream) Send(p *electorpb.Packet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range p.GetBatch().GetMessages() {
		s.sent = append(s.sent, m.GetGroup())
	}
	return s.ctx.Err()
}

// carried is a connection that was accepted, or refused.
type carried struct {
	c      *connection
	stream *stream
	hangUp context.CancelFunc
	err    error
	over   chan struct{}
}

// replaced is a link, and the connections of its peer.
type replaced struct {
	t    *testing.T
	link *link
	mu   sync.Mutex
	lost int
	all  []*carried
}

func (p *replaced) Receive([]rpc.Message) {}

func (p *replaced) PeerLost(string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost++
}

// unheard is a listener that accepts nothing.
type unheard struct{}

func (unheard) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (unheard) Close() error              { return nil }
func (unheard) Accept() (net.Conn, error) { return nil, net.ErrClosed }

func newReplaced(t *testing.T) *replaced {
	t.Helper()
	tr, err := New(Config{Self: "b", Listener: unheard{}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	p := &replaced{t: t}
	tr.handler = p
	p.link = newLink(tr, "a", "127.0.0.1:1")
	return p
}

// connect has a process of the peer connect, and carry messages until another connection replaces that.
func (p *replaced) connect(incarnation uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	one := &carried{
		c:      &connection{number: p.link.number(), incarnation: incarnation, confirmed: true},
		stream: &stream{ctx: ctx}, hangUp: cancel, over: make(chan struct{}),
	}
	p.mu.Lock()
	p.all = append(p.all, one)
	p.mu.Unlock()
	go func() {
		defer close(one.over)
		defer cancel()
		one.err = p.link.carry(ctx, one.stream, one.c)
	}()
}

// disconnect breaks the first connection.
func (p *replaced) disconnect() {
	p.mu.Lock()
	first := p.all[0]
	p.mu.Unlock()
	first.hangUp()
}

func (p *replaced) send(group string) {
	p.link.put([]rpc.Message{{Group: group, Voters: 1, Body: rpc.Body{Kind: rpc.VoteRequest, Term: 1}}})
}

// judge finds that the newest connection carries messages, and that all others have ended.
func (p *replaced) judge(t *testing.T) {
	t.Helper()
	synctest.Wait()
	p.link.mu.Lock()
	current, latest := p.link.current, p.link.latest.number
	p.link.mu.Unlock()
	p.send("last")
	synctest.Wait()
	for _, one := range p.all {
		over := false
		select {
		case <-one.over:
			over = true
		default:
		}
		assert.Equal(t, one.c != current, over, "connection %d of %d goes on", one.c.number, latest)
		if one.c == current {
			assert.Equal(t, latest, one.c.number, "the newest connection is in use")
			one.stream.mu.Lock()
			assert.Contains(t, one.stream.sent, "last")
			one.stream.mu.Unlock()
		}
	}
	p.link.transport.Close()
	p.link.cancel()
	for _, one := range p.all {
		<-one.over
	}
	synctest.Wait()
}

// Whoever comes between two statements of a connection, the newest one carries messages, and all others end.
func TestOthersMayComeBetweenTheStatementsOfALink(t *testing.T) {
	if !between.Rebuild(t) {
		return
	}
	t.Run("connections", func(t *testing.T) { between.All(t, true, connections) })
	t.Run("what waits for a connection", func(t *testing.T) { between.All(t, true, waiting) })
}

func connections(t *testing.T) between.World {
	t.Helper()
	p := newReplaced(t)
	p.connect(7)
	synctest.Wait()
	gone := func() {
		if broken := p.link.suspected(); broken != nil {
			p.link.gone(broken)
		}
	}
	return between.World{Judge: p.judge, Operations: []between.Operation{
		{Name: "another connection", Do: func() { p.connect(7) }},
		{Name: "another process", Do: func() { p.connect(8) }},
		{Name: "the connection breaks", Do: p.disconnect},
		{Name: "connecting is refused", Do: gone},
		{Name: "messages", Do: func() { p.send("one"); p.send("two") }, Later: true},
	}}
}

// A message that was queued for a connection goes out on it, however late another one that it has replaced goes on.
func waiting(t *testing.T) between.World {
	t.Helper()
	p, queued := newReplaced(t), make(map[uint64]string)
	connect := func(group string) func() {
		return func() {
			c := &connection{number: p.link.number(), incarnation: 7, confirmed: true, hangUp: func(error) {}}
			if p.link.begin(c) == nil {
				p.send(group)
				p.mu.Lock()
				defer p.mu.Unlock()
				queued[c.number] = group
			}
		}
	}
	return between.World{
		Operations: []between.Operation{
			{Name: "one connection", Do: connect("1")},
			{Name: "another one", Do: connect("2")},
		},
		Judge: func(t *testing.T) {
			t.Helper()
			now, cancel := context.WithCancel(context.Background())
			cancel()
			_, batch, _ := p.link.queue.take(now, nil)
			found := false
			for i := range batch {
				found = found || batch[i].Group == queued[p.link.latest.number]
			}
			assert.True(t, found || p.link.latest.number == 0)
			p.link.transport.Close()
		},
	}
}
