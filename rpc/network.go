// A network in memory, whose links lose, delay, duplicate and reorder messages and beats as
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
// everything at once and in order. For a link, a beat is a message like any other.
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

// maxInFlight bounds the messages and beats on their way to one node.
const maxInFlight = 1 << 16

// NewNetwork makes a network of perfect links.
func NewNetwork(seed uint64) *Network {
	return &Network{
		random:    rand.New(rand.NewPCG(seed, 0)),
		endpoints: make(map[string]*endpoint),
		links:     make(map[[2]string]Link),
	}
}

// Join returns the endpoint of a node, which is a [BeatTransport]. A node that joins again gets
// the same one.
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

// Lost counts the messages and beats that did not arrive: because of loss, a cut, or a full
// queue, or because the addressee was not served, or its handler takes no beats.
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

// link is the quality of the link from one node to another. The network's lock is held.
func (n *Network) link(from, to string) Link {
	if l, ok := n.links[[2]string{from, to}]; ok {
		return l
	}
	return n.others
}

// endpoint is one node's transport: the messages and beats on their way to it, and their handler.
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
	other := n.endpoints[to]
	if other == nil || other.handler == nil {
		n.lost += uint64(len(batch))
		return
	}
	l, now := n.link(e.node, to), time.Now()
	for i := range batch {
		other.launch(e.node, l, flying{due: now, message: batch[i]})
	}
	other.wakeUp()
}

func (e *endpoint) SendBeat(to string, b *Beat) {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	other := n.endpoints[to]
	if other == nil || !other.takesBeats() {
		n.lost++
		return
	}
	other.launch(e.node, n.link(e.node, to), flying{due: time.Now(), beat: b})
	other.wakeUp()
}

// takesBeats says whether a handler is served that takes beats.
func (e *endpoint) takesBeats() bool {
	_, ok := e.handler.(BeatHandler)
	return ok
}

// launch sends a message or a beat to this node, over a link that may lose or duplicate it. It is
// due when it was sent.
func (e *endpoint) launch(from string, l Link, f flying) {
	n := e.network
	if l.Cut || n.random.Float64() < l.Loss {
		n.lost++
		return
	}
	e.enqueue(from, l, f)
	if n.random.Float64() < l.Duplicate {
		e.enqueue(from, l, f)
	}
}

// enqueue puts a message or a beat on its way to this node. When there is no room, everything
// else displaces heartbeats.
func (e *endpoint) enqueue(from string, l Link, f flying) {
	n := e.network
	if len(e.flying) >= maxInFlight && !e.makeRoom(f.message.Kind) {
		n.lost++
		return
	}
	f.due = f.due.Add(l.Delay)
	if l.Jitter > 0 {
		f.due = f.due.Add(time.Duration(n.random.Int64N(int64(l.Jitter))))
	}
	if l.Reorder > 0 && n.random.Float64() < l.Reorder {
		f.due = f.due.Add(l.Delay + l.Jitter + time.Millisecond)
	} else {
		if last := e.lastDue[from]; f.due.Before(last) {
			f.due = last
		}
		e.lastDue[from] = f.due
	}
	e.sent++
	f.number = e.sent
	if f.message.Kind.Periodic() {
		e.heartbeats++
	}
	if f.beat != nil {
		f.beat = f.beat.Clone() // the sender keeps the original, and the handler may keep this one
	}
	e.flying.push(f)
}

// makeRoom drops a heartbeat, or the answer to one, for a message of another kind. A beat has
// no kind.
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

// arrivals are what has arrived for a handler.
type arrivals struct {
	batch []Message
	beats []*Beat
	lost  []string // nodes whose processes are gone
}

// deliver passes what has arrived to the handler until stopping is closed.
func (e *endpoint) deliver(h Handler, stopping, stopped chan struct{}) {
	defer close(stopped)
	defer e.leave()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var came arrivals
	for {
		wait := e.arrived(&came)
		came.pass(h)
		timer.Reset(wait)
		select {
		case <-stopping:
			return
		case <-e.wake:
		case <-timer.C:
		}
	}
}

// arrived adds what is due, and returns the time until something is due next.
func (e *endpoint) arrived(came *arrivals) time.Duration {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for len(e.flying) > 0 && !e.flying[0].due.After(now) {
		f := e.flying.pop()
		if f.message.Kind.Periodic() {
			e.heartbeats--
		}
		if f.beat != nil {
			came.beats = append(came.beats, f.beat)
		} else {
			came.batch = append(came.batch, f.message)
		}
	}
	came.lost = append(came.lost, e.hints...)
	e.hints = e.hints[:0]
	if len(e.flying) == 0 {
		return time.Hour
	}
	return e.flying[0].due.Sub(now)
}

// pass passes everything to the handler, beats first, and forgets it.
func (a *arrivals) pass(h Handler) {
	if takes, ok := h.(BeatHandler); ok {
		for _, b := range a.beats {
			takes.ReceiveBeat(b)
		}
	}
	if len(a.batch) > 0 {
		h.Receive(a.batch)
		clear(a.batch)
	}
	for _, node := range a.lost {
		h.PeerLost(node)
	}
	a.batch, a.beats, a.lost = a.batch[:0], nil, a.lost[:0]
}

// leave drops everything that is still on its way.
func (e *endpoint) leave() {
	n := e.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost += uint64(len(e.flying))
	e.handler, e.flying, e.heartbeats, e.hints = nil, nil, 0, nil
}
