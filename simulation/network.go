// The network: every directed link may be cut, lose, delay and duplicate.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// parcel is a message on its way: one of the election, or one of the engines.
type parcel struct {
	message  elector.Message
	entries  entries
	from, to uint8
	engine   bool
}

type network struct {
	world *world
	pool  []parcel
	free  []uint32

	cuts     [][]uint8 // by sender and receiver: how many troubles cut the link
	troubles []trouble
	old      [oldParcels]parcel // some that were sent before
	sent     uint64

	delay, jitter, tail time.Duration
	loss, duplicate     float64
}

// oldParcels is how many messages are remembered, to be delivered again much later.
const oldParcels = 32

// trouble is a set of links that are cut for a while.
type trouble struct{ links [][2]uint8 }

func (n *network) init(w *world) {
	n.world = w
	n.cuts = make([][]uint8, w.options.Members)
	for i := range n.cuts {
		n.cuts[i] = make([]uint8, w.options.Members)
	}
	n.delay = 50*time.Microsecond + w.draw(2*time.Millisecond)
	n.jitter = w.draw(2 * time.Millisecond)
	if w.swarm.has(Delay) {
		n.tail = w.draw(w.options.Timing.Detection())
	}
	if w.swarm.has(Loss) {
		n.loss = w.random.Float64() * 0.3
	}
	if w.swarm.has(Duplicate) {
		n.duplicate = w.random.Float64() * 0.3
	}
}

// send puts a message of the election on its way.
func (n *network) send(from *node, to memberstate.Seat, m *elector.Message) {
	p := parcel{message: *m, from: uint8(from.index), to: uint8(to - 1)}
	p.message.From = from.seat
	n.post(&p)
}

// post decides what becomes of a parcel.
func (n *network) post(p *parcel) {
	w := n.world
	if n.sent++; n.sent%101 == 0 {
		n.old[n.sent/101%oldParcels] = *p
	}
	if n.cuts[p.from][p.to] > 0 {
		return
	}
	copies := 1
	if !w.calm {
		if n.loss > 0 && w.random.Float64() < n.loss {
			w.swarm.struck[Loss]++
			return
		}
		if n.duplicate > 0 && w.random.Float64() < n.duplicate {
			w.swarm.struck[Duplicate]++
			copies = 2
		}
	}
	for range copies {
		n.launch(p, n.takes())
	}
}

// takes is how long a message is on its way: mostly little, sometimes very long.
func (n *network) takes() time.Duration {
	w := n.world
	takes := n.delay + w.draw(n.jitter)
	if n.tail > 0 && !w.calm && w.random.IntN(20) == 0 {
		w.swarm.struck[Delay]++
		takes += w.draw(n.tail)
	}
	return takes
}

func (n *network) launch(p *parcel, takes time.Duration) {
	var place uint32
	if len(n.free) > 0 {
		place = n.free[len(n.free)-1]
		n.free = n.free[:len(n.free)-1]
	} else {
		place = uint32(len(n.pool))
		n.pool = append(n.pool, parcel{})
	}
	n.pool[place] = *p
	n.world.events.push(event{at: n.world.now + int64(takes), kind: parcelArrives, node: p.to, arg: place})
}

func (n *network) arrive(place uint32) {
	p := n.pool[place]
	n.pool[place].entries = nil
	n.free = append(n.free, place)
	to := &n.world.nodes[p.to]
	switch {
	case !to.alive || n.cuts[p.from][p.to] > 0:
	case p.engine:
		to.hear(&p)
	default:
		to.receive(&p.message)
	}
}

// cut cuts links for a while.
func (n *network) cut(links [][2]uint8, lasts time.Duration) {
	for _, l := range links {
		n.cuts[l[0]][l[1]]++
	}
	n.troubles = append(n.troubles, trouble{links})
	n.world.events.push(event{at: n.world.now + int64(lasts), kind: healing, arg: uint32(len(n.troubles) - 1)})
}

func (n *network) heal(number uint32) {
	for _, l := range n.troubles[number].links {
		n.cuts[l[0]][l[1]]--
	}
	n.troubles[number].links = nil
}

// healAll ends all troubles, and all that is on its way arrives soon.
func (n *network) healAll() {
	for i := range n.troubles {
		n.heal(uint32(i))
	}
}
