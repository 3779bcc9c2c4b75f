// Confirming a violation: plain sessions, without the reductions, follow the path that the explorer found.
// Some reductions allow more than can happen, so this may fail.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector/protocol"
)

// confirm finds steps by which plain sessions reach the violation, and removes those that are not needed. If they
// do not reach it, only the explorer's path is reported.
func (v *Violation) confirm(m *model, way []move) {
	v.Path = m.describeSteps(way)
	s := m.scripted(way)
	if s == nil {
		return
	}
	s.breaks = &v.Invariant
	s.shrink(m)
	p, err := s.play(m)
	if err != nil || p.defect.none() {
		return // impossible: it was there a moment ago
	}
	v.Script, v.Path, v.What = s, p.steps, p.defect.what
}

// scripted is a script by which plain machines reach a violation on the explorer's path; nil if they do not.
func (m *model) scripted(way []move) *Script {
	for _, first := range m.firstInabilities() {
		if s := m.scriptedAfter(first, way); s != nil {
			return s
		}
	}
	return nil
}

// scriptedAfter is such a script that begins with these acts.
func (m *model) scriptedAfter(first []act, way []move) *Script {
	s := &Script{members: m.bounds.Members, leak: m.bounds.Leak, noPreVote: m.bounds.NoPreVote, leases: m.bounds.Leases, pauses: m.bounds.Pauses}
	p := newPlayer(m)
	for _, a := range first {
		if p.act(&a) != nil {
			return nil
		}
		s.acts = append(s.acts, a)
	}
	for i, of := range way {
		for _, a := range p.follow(of, i == len(way)-1) {
			if err := p.act(&a); err != nil {
				return nil
			}
			s.acts = append(s.acts, a)
		}
		if !p.defect.none() {
			return s
		}
	}
	return nil
}

// follow returns the acts by which plain machines do what the explorer did. If a stale message arrives that was
// never sent, its sender is first made to send one like it.
//
// Lead returns as late as possible, and abilities change as late: when the next move is possible only after that.
func (p *player) follow(of move, last bool) []act {
	for _, a := range p.candidates(of) {
		if p.matches(&a, of, last) {
			return []act{a}
		}
	}
	for i := range p.nodes {
		first, q := act{kind: leadReturns, node: i}, p.clone()
		if q.nodes[i].driver.runs && q.nodes[i].driver.ended && q.act(&first) == nil && q.defect.none() {
			if rest := q.follow(of, last); rest != nil {
				return append([]act{first}, rest...)
			}
		}
	}
	if acts := p.followAs(of, last); acts != nil || p.model.inputs[of.input].kind != stale {
		return acts
	}
	from := p.model.body(p.model.inputs[of.input]).Renamed(of.name.of).From
	to := int(of.name.of(p.model.nodes[of.after].seat)) - 1
	for _, first := range p.possibleActs(int(from) - 1) {
		q := p.clone()
		if q.act(&first) != nil || !q.defect.none() {
			continue
		}
		for k, msg := range q.sent[len(q.sent)-1] {
			second := act{kind: delivered, node: to, message: messageRef{len(q.sent), k + 1}}
			if msg.isFor(seatOf(to)) && q.matches(&second, of, last) {
				return []act{first, second}
			}
		}
	}
	return nil
}

// possibleActs are the acts that are possible at a node.
func (p *player) possibleActs(node int) (all []act) {
	for _, id := range p.model.own[node] {
		in := p.model.inputs[id]
		all = append(all, act{kind: in.kind, node: node, other: int(in.seat) - 1})
	}
	return append(all, p.deliveries(node, func(*message) bool { return true })...)
}

// deliveries are the deliveries to a node of messages that were sent to it, the newest first.
func (p *player) deliveries(node int, fit func(*message) bool) (all []act) {
	for step := len(p.sent); step > 0; step-- {
		for k := range p.sent[step-1] {
			if msg := &p.sent[step-1][k]; msg.isFor(seatOf(node)) && fit(msg) {
				all = append(all, act{kind: delivered, node: node, message: messageRef{step, k + 1}})
			}
		}
	}
	return all
}

// candidates are the acts that could be the explorer's move. Messages have other numbers there, so of those that
// look alike the newest is tried first. A stale message may be any that has the same effect.
func (p *player) candidates(of move) (all []act) {
	in := p.model.inputs[of.input]
	a := act{kind: in.kind, missing: p.model.missed(&of)}
	if in.kind == clockTicks {
		return []act{a}
	}
	at := p.model.nodes[of.after].renamed(of.name)
	if a.node = at.index(); in.seat != 0 {
		a.other = int(of.name.of(in.seat)) - 1
	}
	if in.kind != delivered && in.kind != stale {
		return p.orInVain([]act{a})
	}
	all = p.deliveries(a.node, func(msg *message) bool { return p.model.looksLike(of, msg) })
	if in.kind == stale {
		all = append(all, p.deliveries(a.node, func(msg *message) bool { return !p.model.looksLike(of, msg) })...)
	}
	return p.orInVain(all)
}

// looksLike says whether a message that was sent equals the explorer's, apart from the numbers of rounds.
func (m *model) looksLike(of move, sent *message) bool {
	in := m.inputs[of.input]
	if in.kind == delivered && m.messages[in.message].engine {
		return sent.engine && *sent == m.messages[in.message].renamed(of.name)
	}
	unnumbered := func(body protocol.Message) protocol.Message {
		body.Round = 0
		if m.forgetsAbility() {
			body.Unable = 0
		}
		return body
	}
	return !sent.engine && unnumbered(sent.body) == unnumbered(m.body(in).Renamed(of.name.of))
}

// matches says whether an act does to plain machines what a move did to the explorer's: its node becomes the same,
// or an invariant is broken.
func (p *player) matches(a *act, of move, last bool) bool {
	q := p.clone()
	if q.act(a) != nil {
		return false
	}
	if last || a.kind == clockTicks || !q.defect.none() {
		return !q.defect.none() || !last
	}
	now, want := q.nodes[a.node], p.model.nodes[of.after].renamed(of.name)
	p.model.canonize(&now)
	return now == want || p.model.returned(&now) == want
}

// shrink removes acts that the violation does not need.
func (s *Script) shrink(m *model) {
	for again := true; again; {
		again = false
		for k := range slices.Backward(s.acts) {
			if smaller := s.without(k); smaller != nil && smaller.breaksStill(m) {
				s.acts, again = smaller.acts, true
			}
		}
	}
}

func (s *Script) breaksStill(m *model) bool {
	p, err := s.play(m)
	return err == nil && !p.defect.none() && p.defect.invariant == *s.breaks
}

// without is the script without a step; nil if a later step needs a message of it.
func (s *Script) without(step int) *Script {
	smaller := *s
	smaller.acts = slices.Delete(slices.Clone(s.acts), step, step+1)
	for i := range smaller.acts {
		switch received := &smaller.acts[i].message; {
		case received.step == step+1:
			return nil
		case received.step > step+1:
			received.step--
		}
	}
	return &smaller
}
