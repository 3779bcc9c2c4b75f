// The network between engines, and the end of what a dead process may say.

package simulated

import (
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/rpc"
)

// network carries messages between engines over links like those of the electors.
type network struct {
	mu     sync.Mutex
	random *rand.Rand
	links  map[[2]string]rpc.Link
	nodes  map[string]*engine.Engine
	flying sync.WaitGroup // messages
}

func newNetwork(seed uint64) *network {
	return &network{random: rand.New(rand.NewPCG(seed, 7)), links: map[[2]string]rpc.Link{}, nodes: map[string]*engine.Engine{}}
}

// set sets a link, also for the electors.
func (n *network) set(elections *rpc.Network, from, to string, l rpc.Link) {
	n.mu.Lock()
	n.links[[2]string{from, to}] = l
	n.mu.Unlock()
	elections.SetLink(from, to, l)
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

// Send delivers a copy of the message after the link's delay, now and then twice, or not at all.
func (w wire) Send(to string, m *ledgerpb.Message) {
	n := w.network
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[[2]string{w.self, to}]
	if isClosed(w.died) || l.Cut || n.random.Float64() < l.Loss {
		return
	}
	times := 1
	if n.random.Float64() < l.Duplicate {
		times = 2
	}
	for range times {
		delay := l.Delay
		if l.Jitter > 0 {
			delay += rand.N(l.Jitter)
		}
		m := proto.CloneOf(m)
		n.flying.Add(1)
		time.AfterFunc(delay, func() {
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
