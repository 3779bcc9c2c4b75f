// Packed groups: what counts of a group that leaves its beats to nodes.
//
// Of the session of such a group hardly anything does. There is no round of votes, no handover and no order, and what a
// leader remembers of its heartbeats is counted anew when it wakes: see goOnBeating. When a group is packed, and when it
// is opened, is in packing.go.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// packed is a quiet group's session and its duties. The number of its alarm is in the group's row.
type packed struct {
	term     memberstate.Term
	promise  time.Duration
	ledger   ledgerLog
	until    time.Duration // a leader's lease lasts; a follower's alarm is due, if its bond ends
	beat     uint32
	ballot   uint32
	trip     uint32
	expected uint32

	role         memberstate.Role
	vote, leader memberstate.Seat
	last         memberstate.Seat
	departure    Departure
	revotes      uint8
	declined     uint8
	is           flags
}

const (
	isSpent flags = 1 << iota
	isHinted
	isFromHint
	isRestartHold
	isServing
	hasLead // the engine's Lead runs
)

// pack returns what is packed of a session.
func pack(s *Session) (p packed) {
	m := &s.Machine
	p = packed{
		term: m.Term, promise: m.Promise, ledger: s.ledger,
		beat: m.office.beat, ballot: m.ballot, trip: m.roundTrip, expected: m.expected,
		role: m.Role, vote: m.Vote, leader: m.Leader, last: s.last, departure: s.departure,
		revotes: m.round.instantRevotes, declined: m.office.declined,
	}
	p.is.set(isSpent, m.Spent)
	p.is.set(isHinted, m.hinted)
	p.is.set(isFromHint, m.fromHint)
	p.is.set(isRestartHold, m.restartHold)
	p.is.set(isServing, m.serving)
	if d := s.duties; d != nil {
		p.until = d.lease.until
		p.is.set(hasLead, d.lead.running)
	}
	return p
}

// state is that of the machine.
func (p *packed) state() memberstate.State {
	return memberstate.State{
		HardState: memberstate.HardState{Term: p.term, Vote: p.vote, Promise: p.promise},
		Role:      p.role, Leader: p.leader, Spent: p.is.has(isSpent),
	}
}

// session is that of a packed group. A leader has its duties and its bonds in room.
func (p *packed) session(g *Group, room *Duties, bonds *officeBonds) (s Session) {
	m := &s.Machine
	m.State = p.state()
	m.office = office{beat: p.beat, declined: p.declined}
	m.alarm, m.ballot, m.roundTrip, m.expected = g.alarm, p.ballot, p.trip, p.expected
	m.round.instantRevotes, m.lot = p.revotes, lotOf(g.name)
	m.hinted, m.fromHint = p.is.has(isHinted), p.is.has(isFromHint)
	m.restartHold, m.serving = p.is.has(isRestartHold), p.is.has(isServing)
	s.ledger, s.last, s.departure = p.ledger, p.last, p.departure
	if p.role == memberstate.Leader {
		m.office.challenge, m.office.nextOffer = p.beat-uint32(g.Rules.Timing.Leak), p.beat
		m.office = m.office.resting(g.Rules)
		*bonds = officeBonds{term: p.term, made: g.everyoneElse()}
		*room = Duties{lead: lead{term: p.term, running: p.is.has(hasLead)}, offers: bonds}
		if g.Rules.Lease > 0 {
			room.lease.until = p.until
		}
		s.duties = room
	}
	return s
}

// isPackedOf says whether a session made from p is the group's.
func (p *packed) isPackedOf(g *Group) bool {
	var room Duties
	var bonds officeBonds
	again, s := p.session(g, &room, &bonds), g.Session
	if (s.duties == nil) != (again.duties == nil) {
		return false
	}
	if s.duties != nil {
		d := *s.duties
		if d.offers == nil || *d.offers != bonds {
			return false
		}
		d.offers, room.offers = nil, nil
		if d != room {
			return false
		}
	}
	s.duties, again.duties = nil, nil
	return s == again
}

// unpack lays out what counts of a group on a desk.
func (p *packed) unpack(g *Group, on *desk) {
	if p.role != memberstate.Leader {
		on.Session, on.due = p.session(g, nil, nil), p.until
		return
	}
	on.Session = p.session(g, new(Duties), new(officeBonds))
}

// everyoneElse is all members but this one.
func (g *Group) everyoneElse() memberstate.Set { return g.Rules.All.Without(g.Rules.Self) }

// State is that of the group's machine.
func (g *Group) State() memberstate.State {
	switch {
	case g.desk != nil:
		return g.Machine.State
	case g.packed != nil:
		return g.packed.state()
	}
	return memberstate.State{}
}

// Peek returns a copy of the group's session.
func (g *Group) Peek() Session {
	switch {
	case g.desk != nil:
		return g.Session
	case g.packed == nil:
		return Session{}
	}
	return g.packed.session(g, new(Duties), new(officeBonds))
}
