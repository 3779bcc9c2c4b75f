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

// settled returns the group's session and its duties without what does not count, as long as the group is quiet or
// goes on from that. The bonds of an office are not among the duties.
func (g *Group) settled() (s Session, d Duties) {
	s = g.Session
	if s.duties != nil {
		d = *s.duties
	}
	s.duties, d.offers = nil, nil
	m := &s.Machine
	if m.round.phase == idle {
		m.round = round{instantRevotes: m.round.instantRevotes}
	}
	if m.known <= m.Term {
		m.known = 0
	}
	if m.handover.Phase == NoHandover {
		m.handover = Handover{}
	}
	m.hurried, m.notReady = 0, 0
	if m.Role != memberstate.Leader {
		m.office = office{beat: m.office.beat, declined: m.offersDeclined()}
		return s, d
	}
	m.office = m.office.settled(g.Rules, g.cohort.seats)
	d.sent = SentTimes{}
	if d.pause.running == 0 && !d.pause.asked {
		d.pause = pause{}
	}
	return s, d
}

// settled is the office of a leader that rests on these followers.
func (o *office) settled(r *Rules, seats memberstate.Set) office {
	rests := restingOffice(r, o.beat, seats, o.declined)
	if r.Preferred == 0 {
		rests.declined = 0 // it offers nothing
	} else if int32(o.beat-o.nextOffer) < 0 {
		rests.nextOffer = o.nextOffer
	}
	if o.beat-o.challenge < uint32(r.Timing.Leak) {
		rests.challenge = o.challenge
	}
	rests.leaseVoid = o.leaseVoid
	return rests
}

// restingOffice is the office of a leader that rests. All on whom it rests have answered its newest heartbeat.
func restingOffice(r *Rules, beat uint32, seats memberstate.Set, declined uint8) office {
	self := memberstate.SetOf(r.Self)
	all := seats&r.Voters | self
	o := office{
		beat: beat, heardBeat: beat, challenge: beat - uint32(r.Timing.Leak), nextOffer: beat, declined: declined, sticky: self,
	}
	o.acks[beat%recentBeats] = all
	if r.Lease > 0 {
		o.sticky, o.leaseBeat = all, beat
	}
	return o
}

// pack returns what is packed of a settled session and its duties.
func pack(s *Session, d *Duties) (p packed) {
	m := &s.Machine
	p = packed{
		term: m.Term, promise: m.Promise, ledger: s.ledger, until: d.lease.until,
		beat: m.office.beat, ballot: m.ballot, trip: m.roundTrip, expected: m.expected,
		role: m.Role, vote: m.Vote, leader: m.Leader, last: s.last, departure: s.departure,
		revotes: m.round.instantRevotes, declined: m.office.declined,
	}
	p.is.set(isSpent, m.Spent)
	p.is.set(isHinted, m.hinted)
	p.is.set(isFromHint, m.fromHint)
	p.is.set(isRestartHold, m.restartHold)
	p.is.set(isServing, m.serving)
	p.is.set(hasLead, d.lead.running)
	return p
}

// state is that of the machine.
func (p *packed) state() memberstate.State {
	return memberstate.State{
		HardState: memberstate.HardState{Term: p.term, Vote: p.vote, Promise: p.promise},
		Role:      p.role, Leader: p.leader, Spent: p.is.has(isSpent),
	}
}

// session is that of a packed group, with its duties apart.
func (p *packed) session(g *Group) (s Session, d Duties) {
	m := &s.Machine
	m.State = p.state()
	m.office = office{beat: p.beat, declined: p.declined}
	m.alarm, m.ballot, m.roundTrip, m.expected = g.alarm, p.ballot, p.trip, p.expected
	m.round.instantRevotes, m.lot = p.revotes, lotOf(g.name)
	m.hinted, m.fromHint = p.is.has(isHinted), p.is.has(isFromHint)
	m.restartHold, m.serving = p.is.has(isRestartHold), p.is.has(isServing)
	s.ledger, s.last, s.departure = p.ledger, p.last, p.departure
	if p.role == memberstate.Leader {
		m.office = restingOffice(g.Rules, p.beat, g.cohort.seats, p.declined)
		d.lead = lead{term: p.term, running: p.is.has(hasLead)}
		if g.Rules.Lease > 0 {
			d.lease.until = p.until
		}
	}
	return s, d
}

// unpack lays out what counts of a group on a desk.
func (p *packed) unpack(g *Group, on *desk) {
	s, d := p.session(g)
	on.Session = s
	if p.role != memberstate.Leader {
		on.due = p.until
		return
	}
	on.duties = new(Duties)
	*on.duties = d
	on.duties.offers = &officeBonds{term: p.term, made: g.everyoneElse(), taken: g.cohort.seats}
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
	s, d := g.packed.session(g)
	if g.packed.role == memberstate.Leader {
		s.duties = &d
	}
	return s
}
