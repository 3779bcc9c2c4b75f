// Playing a script with the shipped sessions, in a network that keeps all messages. Nothing is renamed,
// renumbered, forgotten, left out or merged, so a violation here is a real one.

package explore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/internal/text"
	"github.com/hustings/hustings/simulation/trace"
)

// Why a step is impossible.
var (
	errNoWrite  = fmt.Errorf("it does not lead, or may not write, or has %d entries", mostEntries)
	errTooEarly = errors.New("it is too early for that")
	errItself   = errors.New("it cannot be its own target")
	errTooFar   = fmt.Errorf("that leads beyond term %d", mostTerms)
)

// player is a group that plays a script.
type player struct {
	model  *model // has the rules and the invariants
	nodes  []node
	alarms []uint32    // by node: the number of its alarm
	said   [][]message // by step
	steps  []Step
	defect defect
}

func newPlayer(m *model) *player {
	p := &player{model: m, nodes: make([]node, m.bounds.Members), alarms: make([]uint32, m.bounds.Members)}
	for i := range p.nodes {
		p.nodes[i] = newNode(i)
		w := stepping{model: m, node: &p.nodes[i]}
		w.start()
		p.alarms[i] = w.alarm
	}
	return p
}

func (p *player) clone() *player {
	c := *p
	c.nodes, c.alarms = slices.Clone(p.nodes), slices.Clone(p.alarms)
	c.said, c.steps = slices.Clip(p.said), slices.Clip(p.steps)
	return &c
}

// play plays a script to its end, or to the first violation.
func (s *Script) play(m *model) (*player, error) {
	p := newPlayer(m)
	for i := range s.acts {
		if err := p.act(&s.acts[i]); err != nil {
			return nil, s.acts[i].refused(i+1, err)
		}
		if !p.defect.none() {
			break
		}
	}
	return p, nil
}

// Trace plays the script, and returns the run for drawing. Its times mean nothing but an order.
func (s *Script) Trace() (*trace.Trace, error) {
	p, err := s.play(newModel(s.bounds(), newRegistry()))
	if err != nil {
		return nil, err
	}
	t := traceOf(s.members, p.steps, p.violation())
	if s.breaks != nil && (p.defect.none() || p.defect.invariant != *s.breaks) {
		t.Unmet = append(t.Unmet, fmt.Sprintf("expected, and did not happen: violation %v", *s.breaks))
	}
	return t, nil
}

// refused names the step that is impossible, and its line.
func (a *act) refused(number int, err error) error {
	if a.line > 0 {
		l := text.Line{Number: a.line, Text: fmt.Sprintf("%d %v", number, a)}
		return l.Refused(err)
	}
	return fmt.Errorf("step %d, %v: %w", number, a, err)
}

func (p *player) violation() *Violation {
	if p.defect.none() {
		return nil
	}
	return &Violation{Invariant: p.defect.invariant, What: p.defect.what, Path: p.steps}
}

// act carries out an act. An error means that it is impossible.
func (p *player) act(a *act) error {
	if a.kind == passes {
		p.tick(a.missing)
		return nil
	}
	if last := max(a.node, a.other); last >= len(p.nodes) {
		return fmt.Errorf("there is no n%d", last)
	}
	before := p.nodes[a.node]
	n := before
	d := &interleaving{}
	w := stepping{model: p.model, node: &n, before: n, interleaving: d}
	heard, err := p.happens(&w, a)
	if err != nil {
		return err
	}
	p.nodes[a.node] = n
	if w.alarm != 0 {
		p.alarms[a.node] = w.alarm
	}
	p.said = append(p.said, w.says)
	p.steps = append(p.steps, p.told(a, &n, heard))
	p.defect = w.defect
	if p.defect.none() {
		p.defect = p.model.alsoWaiting(d, &before, p.model.renamings[0], func(w *stepping) { _, _ = p.happens(w, a) })
	}
	if !p.defect.none() {
		p.defect.what = fmt.Sprintf("n%d: %s", a.node, p.defect.what)
	} else {
		p.check()
	}
	return nil
}

// happens applies an act to one node, and returns the message that the node received, if any.
func (p *player) happens(w *stepping, a *act) (heard *message, err error) {
	switch n := w.node; {
	case a.kind == delivered:
		if heard, err = p.utterance(a); err != nil {
			return nil, err
		}
		if heard.engine {
			w.hear(heard)
		} else {
			w.happens(protocol.Input{Kind: protocol.Receive, Message: heard.body}, delivered, heard.body.From)
		}
	case a.kind == crashes:
		w.start()
	case a.kind == writes:
		if !n.writes() || n.ledger.len() == mostEntries {
			return nil, errNoWrite
		}
		w.says = append(w.says, n.append())
	case a.kind == rings && n.time.wait > 0, a.kind == lapses && !n.lapsed(), a.kind == returns && !n.driver.runs,
		(a.kind == pauses || a.kind == fails || a.kind == lags) && n.driver.pause == 0:
		return nil, errTooEarly
	case (a.kind == handsOver || a.kind == loses) && a.other == a.node:
		return nil, errItself
	default:
		in, kind, from := p.model.given(input{kind: a.kind, seat: seatOf(a.other)}, p.model.renamings[0])
		in.Number = p.alarms[a.node]
		w.happens(in, kind, from)
	}
	if w.node.session.Term > mostTerms {
		return nil, errTooFar
	}
	return heard, nil
}

// utterance is the message that an act delivers.
func (p *player) utterance(a *act) (*message, error) {
	u := a.heard
	if u.step > len(p.said) || u.nth > len(p.said[u.step-1]) {
		return nil, fmt.Errorf("step %d has sent no message %d", u.step, u.nth)
	}
	heard := &p.said[u.step-1][u.nth-1]
	if !heard.isFor(seatOf(a.node)) {
		return nil, fmt.Errorf("message %d of step %d is not for n%d", u.nth, u.step, a.node)
	}
	return heard, nil
}

// tick has time pass.
func (p *player) tick(missing int) {
	for i := range p.nodes {
		p.nodes[i] = p.nodes[i].ticked(missing>>i&1 == 1)
	}
	s := tickStep(missing, len(p.nodes))
	s.Leases = leaseholders(p.nodes)
	p.said, p.steps = append(p.said, nil), append(p.steps, s)
	p.check()
}

// check notes the invariant that the group breaks, if any.
func (p *player) check() {
	var s state
	for i := range p.nodes {
		n := p.nodes[i] // a copy
		s.nodes[i] = p.model.intern(&n)
	}
	for k, all := range p.said {
		if p.defect = p.enter(&s, all); !p.defect.none() {
			p.defect.what = fmt.Sprintf("n%d: %s", p.steps[k].Node, p.defect.what)
			return
		}
	}
	if p.defect = p.model.wrong(&s); p.defect.none() && p.model.bounds.Leases {
		p.defect = wrongLeases(p.nodes, leasesLeft(p.nodes))
	}
}

// enter notes the messages of a step that the invariants need.
func (p *player) enter(s *state, says []message) defect {
	var ids []messageID
	for _, msg := range says {
		if msg.acknowledges() || msg.won {
			ids = append(ids, p.model.message(msg))
		}
	}
	d := p.model.wrongSaying(s, ids)
	for _, id := range ids {
		s.said.add(id)
	}
	return d
}

// told describes an act.
func (p *player) told(a *act, n *node, heard *message) Step {
	s := Step{Node: a.node, State: n.state(), Leases: leaseholders(p.nodes)}
	switch {
	case heard == nil:
		s.What = p.model.describe(input{kind: a.kind, seat: seatOf(a.other)}, p.model.renamings[0])
	case heard.engine:
		s.What = describeAppend(heard, seatName)
	default:
		s.What, s.Heard, s.By = describeMessage(&heard.body, seatName), &heard.body, a.heard.step
	}
	return s
}
