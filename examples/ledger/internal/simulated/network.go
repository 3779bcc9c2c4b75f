// The network between engines, and the end of what a dead process may say.

package simulated

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/rpc"
)

// dice are random numbers of a seed, for goroutines that run in any order.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{random: rand.New(rand.NewPCG(seed, 7))} }

// IntN is a number from 0 below n.
func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// falls says whether something happens that has this probability.
func (d *dice) falls(probability float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64() < probability
}

// network carries messages between engines over links like those of the electors.
type network struct {
	random *dice
	mu     sync.Mutex
	links  map[[2]string]rpc.Link
	last   map[[2]string]time.Time // when the newest message arrives
	nodes  map[string]*engine.Engine
	flying sync.WaitGroup // messages
	sent   atomic.Int64   // messages
	parts  atomic.Int64   // of states, among them
}

func newNetwork(seed uint64) *network {
	return &network{random: newDice(seed), links: map[[2]string]rpc.Link{}, last: map[[2]string]time.Time{}, nodes: map[string]*engine.Engine{}}
}

// set sets a link.
func (n *network) set(from, to string, l rpc.Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = l
}

// serve delivers to a node from now on; nil: to none.
func (n *network) serve(node string, e *engine.Engine) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[node] = e
}

// wire is the network as one process has it.
type wire struct {
	network *network
	self    string
	died    <-chan struct{}
}

// Send delivers a copy of the message after the link's delay, now and then twice, or not at all. On a link with jitter messages overtake one another.
func (w wire) Send(to string, m *ledgerpb.Message) {
	n := w.network
	n.sent.Add(1)
	if m.GetChunk() != nil {
		n.parts.Add(1)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	link := [2]string{w.self, to}
	l := n.links[link]
	if isClosed(w.died) || l.Cut || n.random.falls(l.Loss) {
		return
	}
	times := 1
	if n.random.falls(l.Duplicate) {
		times = 2
	}
	for range times {
		arrives := time.Now().Add(l.Delay)
		if l.Jitter > 0 {
			arrives = arrives.Add(time.Duration(n.random.IntN(int(l.Jitter))))
		} else if !arrives.After(n.last[link]) {
			arrives = n.last[link].Add(1)
		}
		n.last[link] = arrives
		m := proto.CloneOf(m)
		n.flying.Add(1)
		time.AfterFunc(time.Until(arrives), func() {
			defer n.flying.Done()
			n.deliver(w.self, to, m)
		})
	}
}

func (n *network) deliver(from, to string, m *ledgerpb.Message) {
	n.mu.Lock()
	e := n.nodes[to]
	if n.links[[2]string{from, to}].Cut {
		e = nil
	}
	n.mu.Unlock()
	if e != nil {
		e.Receive(m)
	}
}

// mouth is the electors' transport as one process has it. A dead process sends nothing.
type mouth struct {
	rpc.BeatTransport
	died <-chan struct{}
	mu   sync.Mutex
	stop func()
}

func (m *mouth) Send(to string, batch []rpc.Message) {
	if !isClosed(m.died) {
		m.BeatTransport.Send(to, batch)
	}
}

func (m *mouth) SendBeat(to string, b *rpc.Beat) {
	if !isClosed(m.died) {
		m.BeatTransport.SendBeat(to, b)
	}
}

func (m *mouth) Serve(h rpc.Handler) (stop func(), err error) {
	end, err := m.BeatTransport.Serve(h)
	if err != nil {
		return nil, err
	}
	end = sync.OnceFunc(end)
	m.mu.Lock()
	m.stop = end
	m.mu.Unlock()
	return end, nil
}

// cut ends the hearing of a process that has died.
func (m *mouth) cut() {
	m.mu.Lock()
	end := m.stop
	m.mu.Unlock()
	if end != nil {
		end()
	}
}
