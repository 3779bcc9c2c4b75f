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
	errTooEarly = errors.New("the event is not possible yet")
	errNoWait   = errors.New("it is no step of a leader that waits for the end of the ledger")
	errItself   = errors.New("it cannot be its own target")
	errTooFar   = fmt.Errorf("that leads beyond term %d", mostTerms)
)

// player is a group that plays a script.
type player struct {
	model  *model // has the rules and the invariants
	nodes  []node
	alarms []uint32    // by node: the number of its alarm
	sent   [][]message // by step
	steps  []Step
	defect defect
}

func newPlayer(m *model) *player {
	p := &player{model: m, nodes: make([]node, m.bounds.Members), alarms: make([]uint32, m.bounds.Members)}
	for i := range p.nodes {
		p.nodes[i] = newNode(i)
		w := execution{model: m, node: &p.nodes[i]}
		w.start()
		p.alarms[i] = w.alarm
	}
	return p
}

func (p *player) clone() *player {
	c := *p
	c.nodes, c.alarms = slices.Clone(p.nodes), slices.Clone(p.alarms)
	c.sent, c.steps = slices.Clip(p.sent), slices.Clip(p.steps)
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
		t.Unmet = append(t.Unmet, fmt.Sprintf("expected but did not happen: violation %v", *s.breaks))
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
	if a.kind == clockTicks {
		p.tick(a.missing)
		return nil
	}
	if last := max(a.node, a.other); last >= len(p.nodes) {
		return fmt.Errorf("there is no n%d", last)
	}
	before := p.nodes[a.node]
	n := before
	d := new(interleaving).begin(anyEvents)
	w := execution{model: p.model, node: &n, before: n, interleaving: d}
	received, err := p.apply(&w, a)
	if err != nil {
		return err
	}
	p.nodes[a.node] = n
	if w.alarm != 0 {
		p.alarms[a.node] = w.alarm
	}
	p.sent = append(p.sent, w.sent)
	p.steps = append(p.steps, p.describe(a, &n, received))
	p.defect = w.defect
	if p.defect.none() {
		p.defect = p.model.checkInterleavings(d, &before, p.model.renamings[0], func(w *execution) { _, _ = p.apply(w, a) })
	}
	if !p.defect.none() {
		p.defect.what = fmt.Sprintf("n%d: %s", a.node, p.defect.what)
	} else {
		p.check()
	}
	return nil
}

// apply applies an act to one node, and returns the message that the node received, if any.
func (p *player) apply(w *execution, a *act) (received *message, err error) {
	w.ledgerHangs = a.inVain
	switch n := w.node; {
	case a.kind == delivered:
		if received, err = p.message(a); err != nil {
			return nil, err
		}
		if received.engine {
			w.receiveAppend(received)
		} else {
			w.apply(protocol.Input{Kind: protocol.Receive, Message: received.body}, delivered, received.body.From)
		}
	case a.kind == crashes:
		w.start()
	case a.kind == writes:
		if !n.writes() || n.ledger.len() == mostEntries {
			return nil, errNoWrite
		}
		w.sent = append(w.sent, n.append())
	case a.kind == alarmRings && n.time.wait > 0, a.kind == leaseExpires && !n.lapsed(), a.kind == leadReturns && !n.driver.runs,
		(a.kind == pauseDone || a.kind == pauseFails || a.kind == latePauseDone) && n.driver.pause == 0:
		return nil, errTooEarly
	case (a.kind == handsOver || a.kind == losesConnection) && a.other == a.node:
		return nil, errItself
	default:
		in, kind, from := p.model.given(input{kind: a.kind, seat: seatOf(a.other)}, p.model.renamings[0])
		in.Number = p.alarms[a.node]
		w.apply(in, kind, from)
	}
	if w.node.session.Term > mostTerms {
		return nil, errTooFar
	}
	if w.ledgerHangs {
		return nil, errNoWait
	}
	return received, nil
}

// message is the message that an act delivers.
func (p *player) message(a *act) (*message, error) {
	u := a.message
	if u.step > len(p.sent) || u.nth > len(p.sent[u.step-1]) {
		return nil, fmt.Errorf("step %d has sent no message %d", u.step, u.nth)
	}
	received := &p.sent[u.step-1][u.nth-1]
	if !received.isFor(seatOf(a.node)) {
		return nil, fmt.Errorf("message %d of step %d is not for n%d", u.nth, u.step, a.node)
	}
	return received, nil
}

// tick has time pass.
func (p *player) tick(missing int) {
	for i := range p.nodes {
		p.nodes[i] = p.nodes[i].ticked(missing>>i&1 == 1)
	}
	s := tickStep(missing, len(p.nodes))
	s.Leases = leaseholders(p.nodes)
	p.sent, p.steps = append(p.sent, nil), append(p.steps, s)
	p.check()
}

// check notes the invariant that the group breaks, if any.
func (p *player) check() {
	var s state
	for i := range p.nodes {
		n := p.nodes[i] // a copy
		s.nodes[i] = p.model.intern(&n)
	}
	for k, all := range p.sent {
		if p.defect = p.noteSent(&s, all); !p.defect.none() {
			p.defect.what = fmt.Sprintf("n%d: %s", p.steps[k].Node, p.defect.what)
			return
		}
	}
	if p.defect = p.model.stateDefect(&s); p.defect.none() && p.model.bounds.Leases {
		p.defect = leaseDefect(p.nodes, leasesLeft(p.nodes))
	}
}

// noteSent notes the messages of a step that the invariants need.
func (p *player) noteSent(s *state, sent []message) defect {
	var ids []messageID
	for _, msg := range sent {
		if msg.acknowledges() || msg.won {
			ids = append(ids, p.model.message(msg))
		}
	}
	d := p.model.sendDefect(s, ids)
	for _, id := range ids {
		s.sent.add(id)
	}
	return d
}

// describe describes an act.
func (p *player) describe(a *act, n *node, received *message) Step {
	s := Step{Node: a.node, State: n.state(), Leases: leaseholders(p.nodes)}
	switch {
	case received == nil:
		s.What = p.model.describe(input{kind: a.kind, seat: seatOf(a.other)}, p.model.renamings[0])
	case received.engine:
		s.What = describeAppend(received, seatName)
	default:
		s.What, s.Heard, s.By = describeMessage(&received.body, seatName), &received.body, a.message.step
	}
	if a.inVain {
		s.What += inVain
	}
	return s
}
