// Packed groups: a group that leaves its beats to nodes needs little room.
//
// Of the session of such a group hardly anything counts: there is no round of votes, no handover and no
// order, and what a leader remembers of its heartbeats is counted anew when it wakes. So a node packs a
// group that has been quiet for a while: it keeps what counts in a few fields, and drops the group's desk,
// where all the rest lies. Whatever happens to the group opens it first.
//
// Nothing may be lost by that. So a group is packed only if a session made from those fields is equal to its
// own, apart from what settled drops, which does not affect behaviour (session_canonical.go argues it).

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// desk is what a group needs while anything happens to it.
type desk struct {
	Session
	due, look time.Duration // when the alarm rings, and when to look at it next; 0: never
	alarm     uint32        // number of the alarm that is set
	looked    bool          // its ability is to be looked at when the turn ends
	used      bool          // something has happened to the group since the node last thought of packing it
	transient *transient    // nil while there is nothing of it
	ability   *ability      // nil while nothing needs to be remembered of it
}

// packed is what counts of a group that is quiet. The zero value is that of a group that has not been restored.
type packed struct {
	term     memberstate.Term
	promise  time.Duration
	ledger   ledgerLog
	until    time.Duration // a leader's lease lasts; a follower's alarm is due, if its bond ends
	beat     uint32
	number   uint32 // of the alarm
	ballot   uint32
	trip     uint32
	expected uint32

	role         memberstate.Role
	vote, leader memberstate.Seat
	last         memberstate.Seat
	departure    Departure
	revotes      uint8
	declined     uint8
	flags        packedFlags
}

type packedFlags uint8

const (
	packedSpent packedFlags = 1 << iota
	packedHinted
	packedFromHint
	packedRestartHold
	packedServing
	packedTold // its Lead runs
)

func flag(on bool, f packedFlags) packedFlags {
	if on {
		return f
	}
	return 0
}

func (f packedFlags) has(one packedFlags) bool { return f&one != 0 }

// quiet says whether a group leaves its beats to nodes.
func (g *Group) quiet() bool { return g.Rests() || g.Bonded() }

// open gives a packed group its desk back. Something is about to happen to it.
func (n *Node) open(g *Group) {
	if g.desk == nil {
		g.desk = take(&n.spare.desks)
		g.packed.unpack(g, g.desk)
		n.toPack(g)
	}
	g.used = true
}

// toPack has a quiet group packed when nothing has happened to it for a while.
func (n *Node) toPack(g *Group) {
	if !g.listed {
		g.listed = true
		n.quiet = append(n.quiet, g)
	}
	if n.packs == 0 {
		n.packs = n.now + g.Rules.Timing.Heartbeat
	}
}

// pack packs the groups to which nothing has happened since it was called last.
func (n *Node) pack() {
	if n.packs == 0 || n.now < n.packs {
		return
	}
	kept := n.quiet[:0]
	for _, g := range n.quiet {
		switch {
		case g.desk == nil || !g.running || !g.quiet(): // it may have ended, and begun anew
			g.listed = false
		case g.used:
			g.used = false
			kept = append(kept, g)
		default:
			g.listed = false
			n.packOne(g)
		}
	}
	clear(n.quiet[len(kept):])
	if n.quiet, n.packs = kept, 0; len(kept) == 0 {
		n.quiet = emptied(kept)
	} else {
		n.packs = n.now + kept[0].Rules.Timing.Heartbeat
	}
}

// packOne packs a quiet group, unless something of it counts for which there is no room.
func (n *Node) packOne(g *Group) {
	d := g.desk
	if d.transient != nil || d.ability != nil || d.looked || d.look != 0 || d.alarm != d.Machine.alarm {
		return
	}
	s, duties := g.settled()
	p := packSession(&s, &duties)
	if p.until == 0 {
		p.until = d.due
	}
	again, anew := p.session(g)
	if s.duties, again.duties = nil, nil; s != again || duties != anew {
		return
	}
	g.packed = p
	*d = desk{}
	g.desk = nil
	give(&n.spare.desks, d)
}

// settled returns the group's session and its duties without what does not affect what the group does next, as long as
// it is quiet or goes on from that. The offers are not among the duties.
func (g *Group) settled() (s Session, duties Duties) {
	s = g.Session
	m := &s.Machine
	m.round = round{instantRevotes: m.round.instantRevotes} // it is over
	if m.known <= m.Term {
		m.known = 0
	}
	m.hurried = 0
	if m.Role != memberstate.Leader {
		m.office, m.notReady = office{beat: m.office.beat, declined: m.offersDeclined()}, 0
		if m.handover.Phase == NoHandover {
			m.handover = Handover{}
		}
		if s.duties != nil {
			duties = *s.duties
		}
		return s, duties
	}
	r, o := g.Rules, &m.office
	beats := restingOffice(r, o.beat, g.cohort.seats, o.declined)
	if r.Preferred == 0 {
		beats.declined = 0 // it offers nothing
	}
	if o.beat-o.challenge < uint32(r.Timing.Leak) || r.Preferred != 0 && int32(o.beat-o.nextOffer) < 0 {
		beats.challenge = o.challenge + 1 // which has no room
	}
	m.office, m.notReady = beats, 0
	duties = *s.duties
	duties.sent, duties.offers = SentTimes{}, nil
	if duties.pause.running == 0 && !duties.pause.asked {
		duties.pause = pause{}
	}
	return s, duties
}

// restingOffice is the office of a leader that rests. All that rest in its cohort have answered its newest heartbeat.
func restingOffice(r *Rules, beat uint32, seats memberstate.Set, declined uint8) office {
	all := seats&r.Voters | memberstate.SetOf(r.Self)
	o := office{
		beat: beat, heardBeat: beat, challenge: beat - uint32(r.Timing.Leak), nextOffer: beat, declined: declined,
		sticky: memberstate.SetOf(r.Self),
	}
	o.acks[beat%recentBeats] = all
	if r.Lease > 0 {
		o.sticky, o.leaseBeat = all, beat
	}
	return o
}

func packSession(s *Session, d *Duties) packed {
	m := &s.Machine
	return packed{
		term: m.Term, promise: m.Promise, ledger: s.ledger, until: d.lease.until,
		beat: m.office.beat, number: m.alarm, ballot: m.ballot, trip: m.roundTrip, expected: m.expected,
		role: m.Role, vote: m.Vote, leader: m.Leader, last: s.last, departure: s.departure,
		revotes: m.round.instantRevotes, declined: m.office.declined,
		flags: flag(m.Spent, packedSpent) | flag(m.hinted, packedHinted) | flag(m.fromHint, packedFromHint) |
			flag(m.restartHold, packedRestartHold) | flag(m.serving, packedServing) | flag(d.lead.running, packedTold),
	}
}

// session is the session of a packed group, with its duties apart.
func (p *packed) session(g *Group) (s Session, d Duties) {
	m := &s.Machine
	m.State = p.state()
	m.office = office{beat: p.beat, declined: p.declined}
	m.alarm, m.ballot, m.roundTrip, m.expected = p.number, p.ballot, p.trip, p.expected
	m.round.instantRevotes, m.lot = p.revotes, lotOf(g.name)
	m.hinted, m.fromHint = p.flags.has(packedHinted), p.flags.has(packedFromHint)
	m.restartHold, m.serving = p.flags.has(packedRestartHold), p.flags.has(packedServing)
	s.ledger, s.last, s.departure = p.ledger, p.last, p.departure
	if p.role == memberstate.Leader {
		m.office = restingOffice(g.Rules, p.beat, g.cohort.seats, p.declined)
		d.lead = lead{term: p.term, running: p.flags.has(packedTold)}
		if g.Rules.Lease > 0 {
			d.lease.until = p.until
		}
	}
	return s, d
}

// state is that of a packed group's machine.
func (p *packed) state() memberstate.State {
	return memberstate.State{
		HardState: memberstate.HardState{Term: p.term, Vote: p.vote, Promise: p.promise},
		Role:      p.role, Leader: p.leader, Spent: p.flags.has(packedSpent),
	}
}

// unpack lays out what counts of a group on a desk.
func (p *packed) unpack(g *Group, d *desk) {
	s, duties := p.session(g)
	d.Session, d.alarm = s, p.number
	if p.role == memberstate.Leader {
		d.duties = new(Duties)
		*d.duties = duties
		d.duties.offers = &officeBonds{term: p.term, made: g.Rules.All.Without(g.Rules.Self), taken: g.cohort.seats}
	} else {
		d.due = p.until
	}
	*p = packed{}
}

// State is that of the group's machine.
func (g *Group) State() memberstate.State {
	if g.desk == nil {
		return g.packed.state()
	}
	return g.Machine.State
}

// Peek returns a copy of the group's session.
func (g *Group) Peek() Session {
	if g.desk != nil {
		return g.Session
	}
	s, duties := g.packed.session(g)
	if g.packed.role == memberstate.Leader {
		s.duties = &duties
	}
	return s
}
