// The transport of a node: its server, and a link to each of its peers.

package grpcrpc

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/hustings/hustings/internal/logging"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Config describes a node's transport.
type Config struct {
	// Self is the id of this node.
	Self string
	// Listener accepts the connections of the other nodes. The transport closes it.
	Listener net.Listener
	// Peers holds the address, as host:port, of every other node that shares a
	// group with this one. Names are resolved again at every attempt.
	Peers map[string]string
	// TLS names this node's certificate and its trusted authorities. Nil: anyone may
	// connect as any node; the listener must then be on a loopback address, unless
	// TrustNetwork is set.
	TLS *TLS
	// TrustNetwork allows listening beyond loopback without TLS.
	TrustNetwork bool
	// Knows says whether this node has ever had a message of a peer in a group. A peer
	// that finds no store asks this before it creates one. Nil: it may have had.
	Knows func(peer, group string) bool
	// Logger receives connections and refusals. Nil: warnings and errors go to
	// slog.Default. To log nothing, pass slog.New(slog.DiscardHandler). Its handler may block, as that of elector.HostConfig.
	Logger *slog.Logger
}

// Transport carries messages and beats over gRPC. It is made by New.
type Transport struct {
	self        string
	incarnation uint64
	tls         *reloader      // nil: plaintext
	log         *quietLog      // over lines
	lines       *logging.Aside // so that no link waits for the logger
	listener    net.Listener
	knows       func(peer, group string) bool // nil: not known
	guard       *guard
	server      *grpc.Server
	counts      counts
	twoLimit    rateLimit

	handshakeTime time.Duration // the constant, except in tests

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	started bool
	links   map[string]*link

	handling sync.RWMutex // held for reading while the handler is called
	handler  rpc.Handler
}

// New makes a transport. It listens, but neither answers nor calls before its first use
// by Serve, Send or SendBeat. It must be closed.
func New(config Config) (*Transport, error) {
	return newTransport(config, handshakeTime, time.Now)
}

func newTransport(config Config, handshakeTime time.Duration, now func() time.Time) (*Transport, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	lines := logging.NewAside(logging.Or(config.Logger))
	t := &Transport{
		self: config.Self, incarnation: newIncarnation(), lines: lines, log: newQuietLog(lines.Logger), links: make(map[string]*link),
		handshakeTime: handshakeTime, knows: config.Knows, listener: config.Listener,
	}
	if config.TLS != nil {
		var err error
		if t.tls, err = newReloader(*config.TLS, Identity{Member, config.Self}, now, t.refuse); err != nil {
			return nil, err
		}
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.guard = newGuard(config.Listener, 2*handshakeTime, t.refuse)
	t.server = t.newServer()
	t.SetPeers(config.Peers)
	return t, nil
}

func (c *Config) validate() error {
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("grpcrpc: %s "+format, append([]any{field}, args...)...))
	}
	if c.Self == "" || len(c.Self) > memberstate.MaxIDLength {
		bad("Self", "has %d bytes, want 1 to %d", len(c.Self), memberstate.MaxIDLength)
	}
	switch {
	case c.Listener == nil:
		bad("Listener", "is nil")
	case c.TLS == nil && !c.TrustNetwork && !isLoopback(c.Listener.Addr()):
		bad("TLS", "is nil, and %v is not a loopback address: anyone who can reach it could lead. "+
			"Set TLS, or TrustNetwork if only members can reach it", c.Listener.Addr())
	}
	for node, address := range c.Peers {
		if _, _, err := net.SplitHostPort(address); err != nil {
			bad("Peers", "has the address %q for %q: %v", address, node, err)
		}
		if node == c.Self {
			bad("Peers", "includes Self %q", node)
		}
	}
	return errors.Join(problems...)
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback() || a.Network() == "unix"
}

// newIncarnation draws a number that no other process of this node has had. Such numbers
// have no order; processes.go explains how processes are ordered.
func newIncarnation() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Addr is the address at which the transport listens.
func (t *Transport) Addr() net.Addr { return t.listener.Addr() }

// Registrar registers further services, before the transport is first used. They are
// for operators: a call needs a certificate of that role. A request may have 64 KiB, and
// so may all messages of a caller's stream together.
func (t *Transport) Registrar() grpc.ServiceRegistrar { return t.server }

// Address is the configured address of a peer; empty if the node is no peer.
func (t *Transport) Address(node string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.links[node]; l != nil {
		return l.address
	}
	return ""
}

// SetPeers replaces the peers and their addresses. Links to peers that keep their address
// go on.
func (t *Transport) SetPeers(peers map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for node, l := range t.links {
		if address, stays := peers[node]; !stays || address != l.address {
			l.cancel()
			l.forget()
			delete(t.links, node)
		}
	}
	for node, address := range peers {
		if t.links[node] != nil || node == t.self {
			continue
		}
		l := newLink(t, node, address)
		t.links[node] = l
		// After Close no goroutine may be added to those that it waits for.
		if t.started && t.ctx.Err() == nil {
			t.running.Go(l.run)
		}
	}
}

// Serve delivers to h until stop is called. Connections stay until Close.
func (t *Transport) Serve(h rpc.Handler) (stop func(), err error) {
	if h == nil {
		return nil, errors.New("grpcrpc: nil handler")
	}
	t.handling.Lock()
	defer t.handling.Unlock()
	if t.handler != nil {
		return nil, fmt.Errorf("grpcrpc: node %s is being served already", t.self)
	}
	t.mu.Lock()
	t.start()
	t.mu.Unlock()
	if t.ctx.Err() != nil {
		return nil, errors.New("grpcrpc: the transport is closed")
	}
	t.handler = h
	return sync.OnceFunc(func() {
		t.handling.Lock() // waits for calls under way
		defer t.handling.Unlock()
		t.handler = nil
	}), nil
}

// start starts the server and the links, once. The caller holds mu.
func (t *Transport) start() {
	if t.started || t.ctx.Err() != nil {
		return
	}
	t.started = true
	t.running.Go(func() {
		if err := t.server.Serve(t.guard); err != nil && t.ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			t.log.Error("accepts no connections any more", "error", err)
		}
	})
	if t.tls != nil {
		t.running.Go(func() {
			ticker := time.NewTicker(verifyEvery)
			defer ticker.Stop()
			t.tls.watch(t.ctx, ticker.C)
		})
	}
	for _, l := range t.links {
		t.running.Go(l.run)
	}
}

// Send queues a batch for another node.
func (t *Transport) Send(to string, batch []rpc.Message) {
	l := t.linkFor(to)
	if l == nil {
		t.counts.dropped.Add(uint64(len(batch)))
		return
	}
	l.put(batch)
}

// SendBeat queues a beat for another node, in place of one that waits.
func (t *Transport) SendBeat(to string, b *rpc.Beat) {
	l := t.linkFor(to)
	if l == nil {
		t.counts.dropped.Add(1)
		return
	}
	l.putBeat(b.Clone())
}

// linkFor returns the link to a node, nil if it is no peer. Something is about to be sent, so it
// starts the transport.
func (t *Transport) linkFor(to string) *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start()
	return t.links[to]
}

// deliver hands a batch to the handler, if there is one.
func (t *Transport) deliver(batch []rpc.Message) {
	t.handling.RLock()
	defer t.handling.RUnlock()
	if t.handler == nil {
		t.counts.dropped.Add(uint64(len(batch)))
		return
	}
	t.counts.received.Add(uint64(len(batch)))
	t.handler.Receive(batch)
}

// deliverBeat hands a beat to the handler, if there is one that takes beats.
func (t *Transport) deliverBeat(b *rpc.Beat) {
	t.handling.RLock()
	defer t.handling.RUnlock()
	h, ok := t.handler.(rpc.BeatHandler)
	if !ok {
		t.counts.dropped.Add(1)
		return
	}
	t.counts.received.Add(1)
	h.ReceiveBeat(b)
}

// reportLost notifies the handler that a peer's process is gone.
func (t *Transport) reportLost(peer, how string) {
	t.log.Info("peer is gone", "peer", peer, "how", how)
	t.handling.RLock()
	defer t.handling.RUnlock()
	if t.handler != nil {
		t.handler.PeerLost(peer)
	}
}

// Close ends all connections, and returns when every goroutine has ended. The handler
// must have been stopped. The listener is closed first, so that the probe of a peer is
// refused.
func (t *Transport) Close() {
	_ = t.listener.Close()
	t.mu.Lock()
	t.cancel() // of the links, too
	for _, l := range t.links {
		l.forget()
	}
	t.mu.Unlock()
	t.guard.closeAll()
	t.server.Stop()
	t.running.Wait()
	t.lines.Flush()
}
