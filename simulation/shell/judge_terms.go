// This file judges terms, votes and leaders, as members show them and as their disks have them.

package shell

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// shown receives every status of a member before the member acts on it.
func (j *judge) shown(p *process, s elector.Status) {
	defer yield()
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return
	}
	m, h := p.members[s.Group], j.groups[s.Group]
	if !j.holds(StopWaits, m != nil && !m.over, p.node.name+" "+s.Group, "it shows %+v after its end", s) {
		return
	}
	before := m.shown
	j.note("%s: %v of term %d, leader %q, vote %q%s", m.name, s.Role, s.Term, s.Leader, s.Vote, story(&before, &s))
	j.grows(m, h.seats[p.node.index], &s)
	if s.Leader != "" {
		j.namesLeader(h, m.name, s.Term, s.Leader, 0)
	}
	if s.Role == memberstate.Leader {
		j.namesLeader(h, m.name, s.Term, p.node.name, m.id)
		j.wins(h, m, s.Term)
		j.holds(Rests, !time.Now().Before(m.rest), m.name, "it leads term %d while it should rest after it has resigned", s.Term)
	}
	m.shown, m.shownAt = s, time.Now()
	if s.Role == memberstate.Leader && (before.Role != memberstate.Leader || s.Term != before.Term) {
		m.tookAt = m.shownAt
	}
	if before.Inability != protocol.Able || before.Revision == 0 {
		m.ableAt = m.shownAt
	}
	if before.Role == memberstate.Leader && (s.Role != memberstate.Leader || s.Term != before.Term) {
		j.loses(m, &before, &s)
	}
	if s.Departure != before.Departure || s.LastLeader != before.LastLeader || s.Term != before.Term {
		j.departs(&s)
	}
	if s.Term > before.Term || s.Leader != "" {
		m.rest, m.owes = time.Time{}, time.Time{}
	}
}

// story is what a status says beside its role: what has changed of the reasons that it gives.
func story(before, s *elector.Status) (text string) {
	if s.Departure != before.Departure {
		text += fmt.Sprintf(", last leader gone: %v", s.Departure)
	}
	if s.Inability != before.Inability {
		text += fmt.Sprintf(", ability: %v", s.Inability)
	}
	if s.Stopped {
		text += ", stopped"
	}
	return text
}

// grows compares a status with all that the node has shown before, and with its saved record.
func (j *judge) grows(m *member, seat *seat, s *elector.Status) {
	j.holds(TermsGrow, s.Term >= seat.term, m.name, "it shows term %d after term %d", s.Term, seat.term)
	j.holds(TermsGrow, s.Revision > m.shown.Revision, m.name, "it shows revision %d after %d", s.Revision, m.shown.Revision)
	j.holds(VotesKept, s.Term != seat.term || seat.vote == "" || s.Vote == seat.vote, m.name, "it shows a vote for %q in term %d after one for %q", s.Vote, s.Term, seat.vote)
	seat.term, seat.vote = s.Term, s.Vote
	if s.Vote != "" {
		j.votes(j.groups[s.Group], m.process.node.name, s.Term, s.Vote)
	}
	durable := seat.saved != nil && (seat.saved.Term > s.Term || seat.saved.Term == s.Term && (s.Vote == "" || s.Vote == seat.saved.Vote))
	j.holds(SaidDurable, durable, m.name, "it shows term %d and a vote for %q, its disk has %+v", s.Term, s.Vote, seat.saved)
}

// votes notes a vote. A voter may have only one in each term.
func (j *judge) votes(h *history, voter string, term memberstate.Term, candidate string) {
	b := ballot{voter, term}
	given, known := h.votes[b]
	j.holds(VotesKept, !known || given == candidate, voter+" "+h.group.name, "it votes for %q in term %d after it has voted for %q", candidate, term, given)
	h.votes[b] = candidate
}

// keeps notes a vote that is durable.
func (h *history) keeps(voter string, r *memberstate.Record) {
	if r.Vote != "" {
		h.kept[ballot{voter, r.Term}] = r.Vote
	}
}

// wins counts the durable votes for a leader, whichever votes it has received.
func (j *judge) wins(h *history, m *member, term memberstate.Term) {
	votes := 0
	for _, voter := range h.group.voters {
		if h.kept[ballot{nodeName(voter), term}] == m.process.node.name {
			votes++
		}
	}
	j.holds(WonByQuorum, votes >= h.group.quorum(), m.name, "it leads term %d with %d durable votes of %d voters", term, votes, len(h.group.voters))
}

// namesLeader notes that a node leads a term. member is 0 if another node says so.
func (j *judge) namesLeader(h *history, who string, term memberstate.Term, node string, member uint64) {
	led, known := h.leaders[term]
	same := !known || led.node == node && (led.member == member || led.member == 0 || member == 0)
	j.holds(OneLeader, same, who, "%s leads term %d as member %d; %s leads it, too, as member %d", node, term, member, led.node, led.member)
	if !known || member != 0 {
		h.leaders[term] = tenure{node, member}
	}
	h.newest = max(h.newest, term)
}

// loses checks that Lead's context and the lease have ended before a member shows that it leads
// no more.
func (j *judge) loses(m *member, before, s *elector.Status) {
	if o := m.office; o != nil && o.term == before.Term {
		j.holds(LeadInOffice, o.ctx.Err() != nil, m.name, "it shows that it has stopped leading term %d, but Lead's context has not ended", o.term)
	}
	term, _, held := m.el.Lease()
	j.holds(LeaseOver, !held || term != before.Term, m.name, "it shows a lease of term %d after it has stopped leading that term", before.Term)
	m.lapsed, m.lostAt = max(m.lapsed, before.Term), m.shownAt
	// A member that was told to stand and has not handled the order yet will stand, so it has no rest.
	if s.Departure == protocol.DepartedResigned && !s.Stopped && s.Term == before.Term && m.told.IsZero() {
		m.rest = time.Now().Add(2 * m.detection())
	}
	if s.Stopped {
		m.abrupt = true
		j.met[StoppedLeading]++
	}
}

// departs counts the departures of leaders by their reasons.
func (j *judge) departs(s *elector.Status) {
	switch s.Departure {
	case protocol.DepartedHandedOver:
		j.met[HandedOver]++
	case protocol.DepartedNoQuorum:
		j.met[NoQuorum]++
	case protocol.DepartedLeaseLapsed:
		j.met[LeaseLapsed]++
	case protocol.DepartedResigned:
		j.met[Resigned]++
	case protocol.DepartedNotAble:
		j.met[GaveUp]++
	default: // the other reasons occur in any world
	}
}

// saving notes the records that a store is about to save. A member must show that it leads no more
// before it saves a larger term, because the disk may be slow.
func (j *judge) saving(p *process, batch []memberstate.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return
	}
	for _, r := range batch {
		if r.Group == "" {
			continue // it is the node's own
		}
		s := j.groups[r.Group].seats[p.node.index]
		s.unsure = append(s.unsure, r)
		m := p.members[r.Group]
		if m == nil || m.shown.Revision == 0 {
			continue
		}
		leads := m.shown.Role == memberstate.Leader && m.shown.Term < r.Term
		j.holds(LossShown, !leads, m.name, "it waits for the disk to save term %d, but shows that it leads term %d", r.Term, m.shown.Term)
		if o := m.office; o != nil && o.term < r.Term {
			j.holds(LossShown, o.ctx.Err() != nil, m.name, "it waits for the disk to save term %d before it has ended the context of the Lead of term %d", r.Term, o.term)
		}
	}
}

// counts notes that a node has counted a start of its process. An order to keep it drained saves the same count again.
func (j *judge) counts(p *process, starts memberstate.Term, err error) {
	if err != nil {
		p.failing = true
		return
	}
	again := starts == p.node.counted && p.service.ordersKeep()
	j.holds(TermsGrow, starts > p.node.counted || again, p.node.name, "it counts start %d after start %d", starts, p.node.counted)
	p.node.counted = starts
}

// saved notes the records that are durable.
func (j *judge) saved(p *process, batch []memberstate.Record, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return
	}
	for _, r := range batch {
		if r.Group == "" {
			j.counts(p, r.Term, err)
			continue
		}
		s, m := j.groups[r.Group].seats[p.node.index], p.members[r.Group]
		who := p.node.name + " " + r.Group
		if err != nil {
			j.note("%s: saving term %d fails: %v", who, r.Term, err)
			p.failing = true
			if m != nil {
				m.failing = true
			}
			continue
		}
		if old := s.saved; old != nil {
			j.holds(TermsGrow, r.Term >= old.Term, who, "it saves term %d over %d", r.Term, old.Term)
			j.holds(VotesKept, r.Term != old.Term || old.Vote == "" || r.Vote == old.Vote, who, "it saves a vote for %q in term %d over one for %q", r.Vote, r.Term, old.Vote)
			j.holds(PromiseKept, r.Term != old.Term || r.Promise >= old.Promise, who, "it saves a promise of %v in term %d over one of %v", r.Promise, r.Term, old.Promise)
		}
		s.saved, s.unsure = &r, nil
		j.groups[r.Group].keeps(p.node.name, &r)
	}
}
