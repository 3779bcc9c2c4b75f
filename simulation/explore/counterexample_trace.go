// A violation for people: as text, and as a run that can be drawn.

package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// Violation is a broken invariant, and the path to it.
type Violation struct {
	Invariant invariant.Invariant
	What      string
	// Path is the path to it. If there is a Script, it is that of plain machines, without steps that
	// they did not need. Otherwise it is the explorer's: as few transitions as possible, with the
	// silent steps that they need.
	Path []Step
	// Script is the path for plain machines, which do not have the explorer's reductions. It is nil if
	// they do not reach the violation: stale messages are not remembered one by one, so it may be
	// impossible. There is none after [Live], whose network forgets, because a script's does not.
	Script *Script
}

// Text is the script with descriptions of its steps; empty if there is none.
func (v *Violation) Text() string {
	if v.Script == nil {
		return ""
	}
	return v.Script.text(v.Path)
}

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.Invariant, v.What) }

// Step is something that happened on the path.
type Step struct {
	Node int // -1: none
	What string
	// Heard is the message that was received, if any; By is the step that sent it, counted from 1,
	// or 0 if that is not known.
	Heard *protocol.Message
	By    int
	// State is the node's after this.
	State trace.NodeState
	// Tick says that time passed, and Missed has a bit for every node whose clock missed it.
	Tick   bool
	Missed int
	// Leases has a bit for every node that holds a lease after this.
	Leases int
}

func (s Step) String() string {
	if s.Node < 0 {
		return s.What
	}
	return fmt.Sprintf("n%d: %s", s.Node, s.What)
}

func tickStep(missing, members int) Step {
	text := []string{"a tick passes"}
	for i := range members {
		if missing>>i&1 == 1 {
			text = append(text, fmt.Sprintf("which the clock of n%d misses", i))
		}
	}
	return Step{Node: -1, What: strings.Join(text, ", "), Tick: true, Missed: missing}
}

// state is the part of a node that can be drawn.
func (n *node) state() trace.NodeState {
	index := func(s memberstate.Seat) int { return int(s) - 1 }
	m := &n.session.Machine
	state := trace.NodeState{
		Up: true, Incarnation: 1, Role: m.Role, Term: m.Term, Vote: index(m.Vote), Leader: index(m.Leader),
		Durable: m.Term, DurableVote: index(m.Vote), Ledger: n.ledger.end(),
	}
	if asks, preVote, accepted := m.Asking(); asks {
		if state.Asking = "vote"; preVote {
			state.Asking = "pre-vote"
		}
		state.Accepts = accepted.Len()
	}
	if n.driver.runs && !n.driver.ended {
		state.Serving = n.driver.lead
	}
	return state
}

// everyStep is how long a step takes in a trace.
const everyStep = 5 * time.Millisecond

// Trace is the path as a run that can be drawn. Its times mean nothing but an order, and it shows only messages
// that were received.
func (v *Violation) Trace(members int) *trace.Trace { return traceOf(members, v.Path, v) }

// traceOf draws a path, and the violation at its end, if any.
func traceOf(members int, path []Step, v *Violation) *trace.Trace {
	d := newDrawing(members, v != nil)
	t := d.trace
	for i := range path {
		t.End += everyStep
		d.step(&path[i])
		d.bands(path[i].Leases)
	}
	t.Virtual, t.Events = t.End, uint64(len(path))
	if v != nil {
		d.violated(v, path)
		t.End += everyStep // so that a lease that begins with the last step can be seen
	}
	d.bands(0)
	return t
}

// drawing is a trace under construction.
type drawing struct {
	trace  *trace.Trace
	past   bool  // all of it led to a violation
	last   []int // by node: its newest moment
	steps  []int // by step: its moment, if it has a node
	leases []int // by node: the band of its lease, or -1
}

func newDrawing(members int, past bool) *drawing {
	d := &drawing{trace: &trace.Trace{Nodes: members, Voters: members}, past: past}
	for i := range members {
		state := trace.NodeState{Up: true, Incarnation: 1, Vote: -1, Leader: -1, DurableVote: -1}
		d.last, d.leases = append(d.last, i), append(d.leases, -1)
		d.trace.Moments = append(d.trace.Moments, trace.Moment{Node: i, What: "starts", Kind: trace.Started, Passage: -1, Cause: -1, State: state})
	}
	return d
}

// step draws a step.
func (d *drawing) step(s *Step) {
	d.steps = append(d.steps, -1)
	if s.Tick {
		d.tick(s)
	}
	if s.Node < 0 {
		return
	}
	t := d.trace
	m := trace.Moment{Node: s.Node, What: s.What, Passage: -1, Cause: d.last[s.Node], State: s.State}
	if s.Heard != nil {
		if m.Passage, m.Cause = len(t.Passages), d.last[s.Heard.From-1]; s.By > 0 {
			m.Cause = d.steps[s.By-1]
		}
		t.Passages = append(t.Passages, d.passage(s.Heard, &m))
	}
	if s.State.Role == memberstate.Leader && t.Moments[d.last[s.Node]].State.Role != memberstate.Leader {
		t.Elections++
	}
	d.moment(m)
	d.steps[len(d.steps)-1] = d.last[s.Node]
}

// tick draws a tick at every node; a clock that misses it is a fault.
func (d *drawing) tick(s *Step) {
	for i := range d.last {
		m := trace.Moment{Node: i, What: "its clock ticks", Kind: trace.Ticked, Passage: -1, Cause: d.last[i], State: d.trace.Moments[d.last[i]].State}
		if s.Missed>>i&1 == 1 {
			m.What, m.Kind = "its clock misses a tick", trace.Struck
		}
		d.moment(m)
	}
}

// moment adds a moment.
func (d *drawing) moment(m trace.Moment) {
	m.At, m.Past = d.trace.End, d.past
	d.last[m.Node] = len(d.trace.Moments)
	d.trace.Moments = append(d.trace.Moments, m)
}

// bands begins and ends the bands of leases, from the members that hold one now.
func (d *drawing) bands(holders int) {
	t := d.trace
	for i, open := range d.leases {
		holds, term := holders>>i&1 == 1, t.Moments[d.last[i]].State.Term
		if open >= 0 {
			t.Bands[open].To = t.End
			if !holds || t.Bands[open].Term != term {
				open = -1
			}
		}
		if holds && open < 0 {
			open = len(t.Bands)
			t.Bands = append(t.Bands, trace.Band{Kind: trace.LeaseBand, Node: i, From: t.End, To: t.End, What: "lease", Term: term})
		}
		d.leases[i] = open
	}
}

// violated draws the violation, at the node that took the last step.
func (d *drawing) violated(v *Violation, path []Step) {
	t, node := d.trace, 0
	for i := range path {
		if path[i].Node >= 0 {
			node = path[i].Node
		}
	}
	t.Violation = &invariant.Violation{Invariant: v.Invariant, At: t.End, Node: node, What: v.What}
	d.moment(trace.Moment{Node: node, What: v.What, Kind: trace.Violated, Passage: -1, Cause: d.last[node], State: t.Moments[d.last[node]].State})
}

// passage is a message on its way from the moment that caused it.
func (d *drawing) passage(received *protocol.Message, m *trace.Moment) trace.Passage {
	return trace.Passage{
		From: int(received.From) - 1, To: m.Node, Kind: received.Kind, Mark: received.Mark, Result: received.Result, Term: received.Term, Round: received.Round,
		Sent: d.trace.Moments[m.Cause].At, Arrived: d.trace.End, Fate: trace.Delivered, SentBy: m.Cause, HeardBy: len(d.trace.Moments),
	}
}
