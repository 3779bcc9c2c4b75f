// A network in memory, whose links lose, delay, duplicate, reorder and cut on
// command.

package rpc

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Link is how messages fare from one node to another. The zero Link delivers
// everything at once and in order.
type Link struct {
	// Delay is how long a message takes, and Jitter how much longer it may take.
	// Messages of one link still arrive in the order they were sent.
	Delay, Jitter time.Duration
	// Loss and Duplicate are how likely a message is lost, or arrives twice.
	Loss, Duplicate float64
	// Reorder is how likely a message is held up for so long that later ones
	// overtake it.
	Reorder float64
	// Cut links deliver nothing.
	Cut bool
}

// Network connects nodes in one process. All its randomness comes from its seed.
// It needs no closing: its goroutines are those of the endpoints that serve.
type Network struct {
	mu        sync.Mutex
	random    *rand.Rand
	endpoints map[string]*endpoint
	links     map[[2]string]Link
	others    Link // where links has none
	lost      uint64
}

// maxInFlight bounds what is on its way to one node.
const maxInFlight = 1 << 16

// NewNetwork is a network of perfect links.
func NewNetwork(seed uint64) *Network {
	return &Network{
		random:    rand.New(rand.NewPCG(seed, 0)),
		endpoints: make(map[string]*endpoint),
		links:     make(map[[2]string]Link),
	}
}

// Join is the endpoint of a node. A node that joins again gets the same one.
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

// SetLink makes the link from one node to another such.
func (n *Network) SetLink(from, to string, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = l
}

// SetAll makes all links such, those that were set one by one included.
func (n *Network) SetAll(l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.links)
	n.others = l
}

// Lost counts the messages that did not arrive: by loss, by cuts, for want of
// room, or because nobody was serving.
func (n *Network) Lost() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// ReportLost tells every node but this one that its process is gone.
func (n *Network) ReportLost(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.endpoints {
		if e.node != node && e.handler != nil {
			e.hints = append(e.hints, node)
			e.rouse()
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
	to.rouse()
}

// endpoint is one node's transport: what is on its way to it, and who takes it.
// It is guarded by the network's lock.
type endpoint struct {
	network *Network
	node    string
	wake    chan struct{}
	handler Handler
	flying  flight
	beats   int // how many of flying are periodic
	sent    uint64
	lastDue map[string]time.Time // by sender, to keep links in order
	hints   []string
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
		e.beats++
	}
	e.flying.push(flying{due: due, number: e.sent, message: m})
}

// makeRoom drops a heartbeat, or the answer to one, for a message of another kind.
func (e *endpoint) makeRoom(kind Kind) bool {
	if kind.Periodic() || e.beats == 0 {
		return false
	}
	i := slices.IndexFunc(e.flying, func(f flying) bool { return f.message.Kind.Periodic() })
	e.flying.remove(i)
	e.beats--
	e.network.lost++
	return true
}

func (e *endpoint) rouse() {
	select {
	case e.wake <- struct{}{}:
	default: // it is roused already
	}
}

// deliver gives the handler what has arrived, until it is told to stop.
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

// arrived takes out what is due, and says how long until there is more.
func (e *endpoint) arrived(batch []Message, hints []string) ([]Message, []string, time.Duration) {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for len(e.flying) > 0 && !e.flying[0].due.After(now) {
		m := e.flying.pop().message
		if m.Kind.Periodic() {
			e.beats--
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

// leave loses what is still on its way.
func (e *endpoint) leave() {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost += uint64(len(e.flying))
	e.handler, e.flying, e.beats, e.hints = nil, nil, 0, nil
}
