// What happened on the way to a violation, told: for people, and as a run that can be drawn.

package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

// Violation is an invariant that did not hold, and the way there.
type Violation struct {
	Invariant simulation.Invariant
	What      string
	// Path is the way. If there is a Script it is what plain machines did, without what they
	// did not need. Else it is what the explorer did: of steps that somebody notices there
	// are as few as can be, and with them is what they need.
	Path []Step
	// Script is the way for machines that know nothing of the explorer. It is nil if they
	// could not be led there: since messages that come too late are not remembered one by
	// one, a violation may be one that cannot be. Nobody tries after [Live], whose network
	// forgets, and a script's does not.
	Script *Script
}

// Text is the script with what its steps are; empty if there is none.
func (v *Violation) Text() string {
	if v.Script == nil {
		return ""
	}
	return v.Script.text(v.Path)
}

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.Invariant, v.What) }

// Step is something that happened on the way.
type Step struct {
	Node int // -1: time passed
	What string
	// Heard is the message that was received, if one was; By is in which step it was said,
	// counted from 1, or 0 if that is not known.
	Heard *elector.Message
	By    int
	// State is the node's after this.
	State simulation.NodeState
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
	return Step{Node: -1, What: strings.Join(text, ", ")}
}

// state is what can be seen of a node.
func (n *node) state() simulation.NodeState {
	index := func(s memberstate.Seat) int { return int(s) - 1 }
	m := &n.machine
	state := simulation.NodeState{
		Up: true, Incarnation: 1, Role: m.Role, Term: m.Term, Vote: index(m.Vote), Leader: index(m.Leader),
		Durable: m.Term, DurableVote: index(m.Vote), Ledger: n.ledger.end(),
	}
	if asks, preVote, accepted := m.Asking(); asks {
		if state.Asking = "vote"; preVote {
			state.Asking = "pre-vote"
		}
		state.Accepts = accepted.Len()
	}
	if m.Role == memberstate.Leader {
		state.Serving = m.Term
	}
	return state
}

// everyStep is how long a step takes in a trace.
const everyStep = 5 * time.Millisecond

// Trace is the way as a run that can be drawn. Its times mean nothing but an order; and of
// messages it shows only those that were received.
func (v *Violation) Trace(members int) *simulation.Trace { return trace(members, v.Path, v) }

// trace draws a way, and what is violated in the end, if anything is.
func trace(members int, path []Step, v *Violation) *simulation.Trace {
	t := &simulation.Trace{Nodes: members, Voters: members}
	last := make([]int, members)
	for i := range members {
		last[i] = i
		state := simulation.NodeState{Up: true, Incarnation: 1, Vote: -1, Leader: -1, DurableVote: -1}
		t.Moments = append(t.Moments, simulation.Moment{Node: i, What: "starts", Kind: simulation.Started, Passage: -1, Cause: -1, State: state})
	}
	node, moments := 0, make([]int, len(path)) // by step
	for i, s := range path {
		if t.End += everyStep; s.Node < 0 {
			continue
		}
		node = s.Node
		m := simulation.Moment{At: t.End, Node: node, What: s.What, Passage: -1, Cause: last[node], State: s.State, Past: v != nil}
		if s.Heard != nil {
			if m.Passage, m.Cause = len(t.Passages), last[s.Heard.From-1]; s.By > 0 {
				m.Cause = moments[s.By-1]
			}
			t.Passages = append(t.Passages, passage(s.Heard, t, &m))
		}
		if s.State.Role == memberstate.Leader && t.Moments[last[node]].State.Role != memberstate.Leader {
			t.Result.Elections++
		}
		last[node], moments[i] = len(t.Moments), len(t.Moments)
		t.Moments = append(t.Moments, m)
	}
	t.Result.Virtual, t.Result.Events = t.End, uint64(len(path))
	if v == nil {
		return t
	}
	t.Result.Violation = &simulation.Violation{Invariant: v.Invariant, At: t.End, Node: node, What: v.What}
	end := simulation.Moment{At: t.End, Node: node, What: v.What, Kind: simulation.Violated, Passage: -1, Cause: last[node], Past: true}
	end.State = t.Moments[last[node]].State
	t.Moments = append(t.Moments, end)
	return t
}

// passage is a message on its way from the moment that caused it.
func passage(heard *elector.Message, t *simulation.Trace, m *simulation.Moment) simulation.Passage {
	return simulation.Passage{
		From: int(heard.From) - 1, To: m.Node, Kind: heard.Kind, Mark: heard.Mark, Result: heard.Result, Term: heard.Term, Round: heard.Round,
		Sent: t.Moments[m.Cause].At, Arrived: m.At, Fate: simulation.Delivered, SentBy: m.Cause, HeardBy: len(t.Moments),
	}
}
