// A network in memory, whose links lose, delay, duplicate and reorder messages as
// configured.

package rpc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Link is the quality of a link from one node to another. The zero Link delivers
// everything at once and in order.
type Link struct {
	// Delay is the least time that a message takes, and Jitter the most time that is
	// added at random. Messages of one link still arrive in the order they were sent.
	Delay, Jitter time.Duration
	// Loss and Duplicate are the probabilities that a message is lost, or arrives twice.
	Loss, Duplicate float64
	// Reorder is the probability that a message is delayed so long that later ones
	// overtake it.
	Reorder float64
	// Cut links deliver nothing.
	Cut bool
}

// Network connects nodes in one process. All its randomness comes from its seed.
// It need not be closed, because it has no goroutines except those of the endpoints
// that serve.
type Network struct {
	mu        sync.Mutex
	random    *rand.Rand
	endpoints map[string]*endpoint
	links     map[[2]string]Link
	others    Link // all links that are not in links
	lost      uint64
}

// maxInFlight bounds the messages on their way to one node.
const maxInFlight = 1 << 16

// NewNetwork makes a network of perfect links.
func NewNetwork(seed uint64) *Network {
	return &Network{
		random:    rand.New(rand.NewPCG(seed, 0)),
		endpoints: make(map[string]*endpoint),
		links:     make(map[[2]string]Link),
	}
}

// Join returns the endpoint of a node. A node that joins again gets the same one.
func (n *Network) Join(node string) Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.endpoints[node]
	if e == nil {
		e = &endpoint{network: n, node: node, wake: make(chan struct{}, 1), lastDue: make(map[string]time.Time)}
		n.endpoints[node] = e
	}
	return e
}

// SetLink sets the link from one node to another.
func (n *Network) SetLink(from, to string, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = l
}

// SetAll sets all links, including those that were set one by one.
func (n *Network) SetAll(l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.links)
	n.others = l
}

// Lost counts the messages that did not arrive: because of loss, a cut, or a full queue,
// or because the addressee was not served.
func (n *Network) Lost() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// ReportLost reports to every other node that the process of this node is gone.
func (n *Network) ReportLost(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.endpoints {
		if e.node != node && e.handler != nil {
			e.hints = append(e.hints, node)
			e.wakeUp()
		}
	}
}

// send puts a batch on its way. The network's lock is held.
func (n *Network) send(from string, to *endpoint, batch []Message) {
	l, ok := n.links[[2]string{from, to.node}]
	if !ok {
		l = n.others
	}
	now := time.Now()
	for i := range batch {
		if l.Cut || to.handler == nil || n.random.Float64() < l.Loss {
			n.lost++
			continue
		}
		to.enqueue(from, l, now, batch[i])
		if n.random.Float64() < l.Duplicate {
			to.enqueue(from, l, now, batch[i])
		}
	}
	to.wakeUp()
}

// endpoint is one node's transport: the messages on their way to it, and their handler.
// It is guarded by the network's lock.
type endpoint struct {
	network    *Network
	node       string
	wake       chan struct{}
	handler    Handler
	flying     flight
	heartbeats int // the number of periodic messages in flying
	sent       uint64
	lastDue    map[string]time.Time // by sender, to keep links in order
	hints      []string
}

// Serve starts the goroutine that delivers.
func (e *endpoint) Serve(h Handler) (stop func(), err error) {
	if h == nil {
		return nil, errors.New("rpc: nil handler")
	}
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.handler != nil {
		return nil, errors.New("rpc: node " + e.node + " is being served already")
	}
	e.handler = h
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go e.deliver(h, stopping, stopped)
	var once sync.Once
	return func() {
		once.Do(func() { close(stopping) })
		<-stopped
	}, nil
}

func (e *endpoint) Send(to string, batch []Message) {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if other := n.endpoints[to]; other != nil {
		n.send(e.node, other, batch)
	} else {
		n.lost += uint64(len(batch))
	}
}

// enqueue puts one message on its way to this node. When there is no room,
// votes displace heartbeats.
func (e *endpoint) enqueue(from string, l Link, now time.Time, m Message) {
	n := e.network
	if len(e.flying) >= maxInFlight && !e.makeRoom(m.Kind) {
		n.lost++
		return
	}
	due := now.Add(l.Delay)
	if l.Jitter > 0 {
		due = due.Add(time.Duration(n.random.Int64N(int64(l.Jitter))))
	}
	if l.Reorder > 0 && n.random.Float64() < l.Reorder {
		due = due.Add(l.Delay + l.Jitter + time.Millisecond)
	} else {
		if last := e.lastDue[from]; due.Before(last) {
			due = last
		}
		e.lastDue[from] = due
	}
	e.sent++
	if m.Kind.Periodic() {
		e.heartbeats++
	}
	e.flying.push(flying{due: due, number: e.sent, message: m})
}

// makeRoom drops a heartbeat, or the answer to one, for a message of another kind.
func (e *endpoint) makeRoom(kind Kind) bool {
	if kind.Periodic() || e.heartbeats == 0 {
		return false
	}
	i := slices.IndexFunc(e.flying, func(f flying) bool { return f.message.Kind.Periodic() })
	e.flying.remove(i)
	e.heartbeats--
	e.network.lost++
	return true
}

func (e *endpoint) wakeUp() {
	select {
	case e.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// deliver passes arrived messages to the handler until stopping is closed.
func (e *endpoint) deliver(h Handler, stopping, stopped chan struct{}) {
	defer close(stopped)
	defer e.leave()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []Message
	var hints []string
	for {
		var wait time.Duration
		batch, hints, wait = e.arrived(batch[:0], hints[:0])
		if len(batch) > 0 {
			h.Receive(batch)
			clear(batch)
		}
		for _, node := range hints {
			h.PeerLost(node)
		}
		timer.Reset(wait)
		select {
		case <-stopping:
			return
		case <-e.wake:
		case <-timer.C:
		}
	}
}

// arrived removes the messages that are due, and returns the time until the next one.
func (e *endpoint) arrived(batch []Message, hints []string) ([]Message, []string, time.Duration) {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for len(e.flying) > 0 && !e.flying[0].due.After(now) {
		m := e.flying.pop().message
		if m.Kind.Periodic() {
			e.heartbeats--
		}
		batch = append(batch, m)
	}
	hints = append(hints, e.hints...)
	e.hints = e.hints[:0]
	wait := time.Hour
	if len(e.flying) > 0 {
		wait = e.flying[0].due.Sub(now)
	}
	return batch, hints, wait
}

// leave drops the messages that are still on their way.
func (e *endpoint) leave() {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost += uint64(len(e.flying))
	e.handler, e.flying, e.heartbeats, e.hints = nil, nil, 0, nil
}
