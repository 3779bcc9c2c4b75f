// The world: true time, the candidates in it, and what happens next.

package leases

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/simulation/internal/agenda"
)

// world is one run, in one goroutine.
type world struct {
	options    Options
	random     *rand.Rand
	now        int64 // true time, in nanoseconds
	queue      agenda.Events[event]
	missed     []event // of the candidates that stand still
	database   database
	leases     int
	candidates []*candidate
	hung       []*statement  // statements whose drivers do not return
	link       int64         // how long a message takes at most, one way
	waking     bool          // candidates are told of releases
	vouch      time.Duration // how long the word of a service counts; 0: it need not vouch
	asks       bool          // services are asked for their health
	judges     bool          // a function of each candidate judges its service, which need not vouch
	generation int           // of the connections
	calm       bool          // no fault strikes any more
	healed     int64         // since when

	enabled FaultSet
	rates   [faults]int64 // one statement in this many is struck
	every   int64         // how often something strikes
	struck  [faults]uint64

	check      checker
	conditions [conditions]uint64
	happened   uint64
	elections  uint64
	digest     uint64
	takenOver  time.Duration
	demanded   bool
}

// newWorld is a world in which all candidates are about to start.
func newWorld(o Options) *world {
	w := &world{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x6c65617365))}
	w.leases = o.Leases
	if w.leases == 0 {
		w.leases = []int{1, 1, 2, maxLeases}[w.draw(4)]
	}
	w.check.init()
	w.enable()
	w.database.init()
	w.link = w.between(0, 20_000_000) >> w.draw(8)
	w.link = max(w.link, 40_000)
	w.waking = w.draw(2) == 0
	for i := range o.Candidates {
		n := &candidate{world: w, index: i, options: manner{timing: timing, strict: o.Strict, limits: w.limits()}, seats: make([]seat, w.leases)}
		n.clock.rate = trueRate
		w.candidates = append(w.candidates, n)
	}
	w.setUp()
	for _, n := range w.candidates {
		w.at(w.draw(ttl), n.startIf(0))
	}
	w.schedule()
	return w
}

// limits are the shipped ones, or so small that a few leases reach them.
func (w *world) limits() protocol.Limits {
	l := protocol.DefaultLimits()
	if w.draw(2) == 0 {
		l.Batch = int(w.between(1, 3))
		for kind := range l.Calls {
			l.Calls[kind] = int(w.between(1, 3))
		}
	}
	return l
}

// draw is a random number below a limit, between one from least to most.
func (w *world) draw(below int64) int64 { return w.random.Int64N(below) }

func (w *world) between(least, most int64) int64 { return least + w.draw(most-least+1) }

// at schedules something for a true time.
func (w *world) at(when int64, do func()) { w.queue.Push(when, event{do: do}) }

// run plays until a time, or until an invariant is violated.
func (w *world) run(until int64) {
	for !w.check.over && w.next(until) {
	}
}

// next plays the next event, if there is one until a time, and else lets time pass until then.
func (w *world) next(until int64) bool {
	e, ok := w.queue.Next(until)
	if !ok {
		w.now = max(w.now, until)
		return false
	}
	w.now = e.At
	w.happen(e.What)
	return true
}

func (w *world) happen(e event) {
	if n := e.whose; n != nil {
		switch {
		case n.number != e.number:
			return
		case n.paused:
			w.missed = append(w.missed, e)
			return
		}
		w.mix(uint64(w.now), uint64(n.index))
	}
	w.happened++
	e.do()
	w.leasesHold()
}

// rouse tells the candidates that listen that a lease was released.
func (w *world) rouse(from *candidate, of int) {
	for _, n := range w.candidates {
		if n != from && !from.cut && n.alive && n.listening != 0 && !n.cut && !n.deaf {
			n.in(int64(n.delay()), func() { n.woken(of) })
		}
	}
}

// tell reports a line, if Options.Tell is set.
func (w *world) tell(format string, args ...any) {
	if w.options.Tell != nil {
		w.options.Tell(fmt.Sprintf("%13.6fs  ", time.Duration(w.now).Seconds()) + fmt.Sprintf(format, args...))
	}
}

// mix enters numbers into the digest. Two runs are the same if their digests are.
func (w *world) mix(a, b uint64) {
	h := (w.digest ^ a) * 0x9e3779b97f4a7c15
	w.digest = (h ^ h>>29 ^ b) * 0xbf58476d1ce4e5b9
}
