// The world: true time, the nodes in it, and what happens next.

package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// world is one run. It is single-threaded.
type world struct {
	options Options
	random  *rand.Rand
	now     int64 // true time, in nanoseconds
	events  events
	nodes   []node
	network network
	swarm   swarm
	check   checker
	calm    bool // no fault strikes any more

	step     elector.Execution // the one under way
	count    uint64            // events
	digest   uint64
	election uint64

	conditions [conditions]uint64
}

func newWorld(o Options) *world {
	w := &world{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x6875737469)), digest: o.Seed}
	w.swarm = drawSwarm(w.random, &o)
	w.network.init(w)
	w.check.init(w)
	voters := memberstate.Set(1<<o.Members - 1)
	w.nodes = make([]node, o.Members)
	for i := range w.nodes {
		w.nodes[i].init(w, i, voters)
	}
	for i := range w.nodes {
		w.nodes[i].start()
	}
	w.swarm.schedule(w)
	return w
}

// run plays until a time, or until an invariant is violated.
func (w *world) run(until time.Duration) {
	end := int64(until)
	for w.check.violation == nil {
		alarm, queue := w.nextAlarm(), &w.events
		switch {
		case len(queue.heap) > 0 && queue.heap[0].at <= end && (alarm == nil || queue.heap[0].at <= alarm.due):
			e := queue.pop()
			w.now = e.at
			w.happen(&e)
		case alarm != nil && alarm.due <= end:
			w.now = alarm.due
			alarm.ring()
		default:
			w.now = max(w.now, end)
			return
		}
		w.count++
	}
}

// nextAlarm is the node whose alarm rings first, of those that ring at once the one
// with the smallest id. There are few nodes: looking is faster than sorting.
func (w *world) nextAlarm() *node {
	var first *node
	for i := range w.nodes {
		if n := &w.nodes[i]; n.due > 0 && (first == nil || n.due < first.due) {
			first = n
		}
	}
	return first
}

func (w *world) happen(e *event) {
	n := &w.nodes[e.node]
	switch e.kind {
	case parcelArrives:
		w.network.arrive(e.arg)
	case saveEnds:
		n.saveEnded(e.arg)
	case leaseEnds:
		n.leaseEnded(e.arg)
	case engineTicks:
		n.tick(e.arg)
	case entriesWritten:
		n.wrote(e.arg)
	case faultStrikes:
		w.swarm.strike(w)
	case nodeRestarts:
		if !n.alive {
			n.start()
		}
	case pauseEnds:
		n.resume(e.arg)
	case healing:
		w.network.heal(e.arg)
	}
}

// after schedules an event.
func (w *world) after(wait time.Duration, kind eventKind, n *node, arg uint32) {
	w.events.push(event{at: w.now + int64(wait), kind: kind, node: uint8(n.index), arg: arg})
}

// draw is a random time below a limit.
func (w *world) draw(below time.Duration) time.Duration {
	if below <= 0 {
		return 0
	}
	return time.Duration(w.random.Int64N(int64(below)))
}

// mix enters numbers into the digest, which is what two runs are compared by.
func (w *world) mix(a, b uint64) {
	h := (w.digest ^ a) * 0x9e3779b97f4a7c15
	w.digest = (h ^ h>>29 ^ b) * 0xbf58476d1ce4e5b9
}
