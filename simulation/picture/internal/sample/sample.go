// Package sample makes traces to draw: an election of a few lines, told in the terms of
// [simulation.Trace]. It is plausible and reproducible, and no election to learn from:
// the tests of the picture must not depend on what the simulator does.
package sample

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

// Options say what to make.
type Options struct {
	Nodes     int
	Observers int // of the nodes, the last ones
	Seed      uint64
	// Moments is how long the trace is; it ends sooner with a violation.
	Moments int
	// Calm is a world without faults.
	Calm bool
	// Broken lets a node win a term, after that many moments, in which another one leads.
	Broken int
}

// Make plays an election.
func Make(o Options) *simulation.Trace {
	w := newWorld(o)
	for i := range w.nodes {
		w.start(i)
	}
	if !o.Calm {
		w.after(2*time.Second, w.strike)
	}
	for w.trace.Result.Violation == nil && len(w.trace.Moments) < o.Moments && w.next() {
		if o.Broken > 0 && len(w.trace.Moments) >= o.Broken {
			w.usurp()
		}
	}
	w.finish()
	return w.trace
}

// Violation is a run in which two nodes lead a term, and the same made shorter.
func Violation() (original, shrunk *simulation.Trace) {
	return Make(Options{Nodes: 5, Seed: 11, Moments: 4000, Broken: 900}), Make(Options{Nodes: 3, Seed: 4, Moments: 400, Broken: 90, Calm: true})
}

// world is the election, and the trace that it leaves.
type world struct {
	options Options
	random  *rand.Rand
	trace   *simulation.Trace
	now     time.Duration
	events  events
	nodes   []node
	cut     map[[2]int]int
}

// node is one of them. Its state is that of the last moment.
type node struct {
	simulation.NodeState
	last    int // its last moment
	heard   time.Duration
	patient time.Duration // how long it waits for a heartbeat
	alarm   int           // the moment that set its alarm
	round   uint32
	acks    int
	lease   int // its band, or -1
	office  int // the same
}

func newWorld(o Options) *world {
	w := &world{
		options: o, random: rand.New(rand.NewPCG(o.Seed, 7)), nodes: make([]node, o.Nodes), cut: map[[2]int]int{},
		trace: &simulation.Trace{Scenario: scenario(o), Nodes: o.Nodes},
	}
	w.trace.Result = simulation.Result{
		Seed: o.Seed, Struck: map[simulation.Fault]uint64{}, Checked: map[simulation.Invariant]uint64{}, Met: map[simulation.Condition]uint64{},
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		n.Vote, n.Leader, n.DurableVote, n.last, n.lease, n.office = -1, -1, -1, -1, -1, -1
		if i >= o.Nodes-o.Observers {
			n.Role = memberstate.Observer
		}
	}
	return w
}

// scenario is a text as that of a scenario file.
func scenario(o Options) *simulation.Scenario {
	return &simulation.Scenario{Seed: o.Seed, Members: o.Nodes, Text: fmt.Sprintf(
		"seed %d\nmembers %d\nheartbeat 50ms\ndetection 300ms\n# <what> was drawn & why\nat 2s cut n0 n1\nat 2.4s heal n0 n1\nat 3s crash n2\n", o.Seed, o.Nodes)}
}

// moment notes what happened; the node's state is noted with it.
func (w *world) moment(i int, kind simulation.MomentKind, cause, passage int, format string, args ...any) int {
	n := &w.nodes[i]
	w.trace.Moments = append(w.trace.Moments, simulation.Moment{
		At: w.now, Node: i, What: fmt.Sprintf(format, args...), Kind: kind, Passage: passage, Cause: cause, State: n.NodeState,
	})
	n.last = len(w.trace.Moments) - 1
	w.trace.Result.Events++
	for _, v := range simulation.Invariants()[:7] {
		w.trace.Result.Checked[v]++
	}
	return n.last
}

// amend brings the state in the last moment up to date.
func (w *world) amend(i int) {
	if n := &w.nodes[i]; n.last >= 0 {
		w.trace.Moments[n.last].State = n.NodeState
	}
}

// band begins to tell of something that lasts; it is closed later.
func (w *world) band(b simulation.Band) int {
	b.From, b.To = w.now, -1
	w.trace.Bands = append(w.trace.Bands, b)
	return len(w.trace.Bands) - 1
}

func (w *world) ends(band *int) {
	if *band >= 0 {
		b := &w.trace.Bands[*band]
		b.To = w.now
		if b.Kind == simulation.LeaseBand {
			b.Local = (b.To - b.From) * 103 / 100
		}
		*band = -1
	}
}

func (w *world) finish() {
	w.trace.End = w.now
	w.trace.Result.Virtual = w.now
	for i := range w.trace.Bands {
		if b := &w.trace.Bands[i]; b.To < 0 {
			b.To = w.now
			b.Local = b.To - b.From
		}
	}
}

func (w *world) voters() int { return w.options.Nodes - w.options.Observers }

func (w *world) draw(below time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(below)))
}
