// What members say and hear: nothing is said that a crash could take back, and what must be
// said at once is.

package shell

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// round is one round of heartbeats, by its leader's number. A leader that gave two of them one
// number would be believed for the first one alone, and its lease would be too long for that.
type round struct {
	leader string
	term   memberstate.Term
	number uint32
}

// beat is what is known of a round: when it was sent first, and who has promised for it.
type beat struct {
	at       time.Time
	promised map[string]bool
}

// said looks at what a process is about to send, and says whether it can.
func (j *judge) said(p *process, to string, batch []rpc.Message) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return false
	}
	j.messages += uint64(len(batch))
	for i := range batch {
		q := &batch[i]
		h := j.groups[q.Group]
		who := p.node.name + " " + q.Group
		s := h.seats[p.node.index]
		if !j.holds(SaidDurable, q.From == p.node.name && q.To == to && s != nil && s.saved != nil, who, "it says %+v to %s", q, to) {
			continue
		}
		j.durable(h, s, who, q)
		j.keeps(h, s, who, q)
		if m := p.members[q.Group]; m != nil && !m.over {
			j.says(h, m, q)
		}
	}
	return true
}

// candidateOf is for whom a message says that its sender has voted; empty if for nobody.
func candidateOf(q *rpc.Message) string {
	switch {
	case q.Mark == rpc.PreVote:
	case q.Kind == rpc.VoteRequest || q.Kind == rpc.Heartbeat || q.Kind == rpc.TakeLeadership:
		return q.From
	case q.Kind == rpc.VoteResponse && q.Result == rpc.Accept:
		return q.To
	}
	return ""
}

// durable holds what is said against what the disk has.
func (j *judge) durable(h *history, s *seat, who string, q *rpc.Message) {
	if q.Kind != rpc.VoteRequest || q.Mark != rpc.PreVote {
		j.holds(SaidDurable, q.Term <= s.saved.Term, who, "it says %v in term %d, its disk has term %d", q.Kind, q.Term, s.saved.Term)
	}
	if c := candidateOf(q); c != "" {
		j.votes(h, q.From, q.Term, c)
		kept := s.saved.Term > q.Term || s.saved.Term == q.Term && s.saved.Vote == c
		j.holds(SaidDurable, kept, who, "it says %v, which is a vote for %s in term %d; its disk has %+v", q.Kind, c, q.Term, s.saved)
	}
	if q.Kind == rpc.HeartbeatResponse && q.Promised {
		if asked, known := s.asked[round{q.To, q.Asked, q.Round}]; known {
			j.holds(SaidDurable, s.saved.Promise >= asked.lease, who, "it promises a lease of %v, its disk has %v", asked.lease, s.saved.Promise)
			until := asked.at.Add(asked.lease)
			over := s.followed > q.Asked || s.stood[q.To] > q.Asked // it is a late answer
			if !over && (until.After(s.promise.until) || s.promise.leader != q.To) {
				s.promise = promise{q.To, q.Asked, until}
			}
		}
	}
}

// keeps checks that a voter stands by the leader that it has promised a lease, unless that
// has told another one to stand.
func (j *judge) keeps(h *history, s *seat, who string, q *rpc.Message) {
	c := candidateOf(q)
	if c == "" || s.promise.leader == "" || c == s.promise.leader || q.Term <= s.promise.term || h.handed[s.promise.term] {
		return
	}
	j.holds(PromiseKept, !time.Now().Before(s.promise.until), who, "it votes for %s in term %d, and has promised a lease to %s, for %v more",
		c, q.Term, s.promise.leader, time.Until(s.promise.until))
}

// says looks at what a member says that takes part.
func (j *judge) says(h *history, m *member, q *rpc.Message) {
	switch q.Kind {
	case rpc.Heartbeat:
		j.namesLeader(h, m.name, q.Term, q.From, m.id)
		j.beats(h, m, q)
	case rpc.TakeLeadership:
		j.namesLeader(h, m.name, q.Term, q.From, m.id)
		j.names(m, q)
		if q.Mark == rpc.Plain {
			h.handed[q.Term] = true
			m.lapsed = max(m.lapsed, q.Term)
			term, _, held := m.el.Lease()
			j.holds(LeaseOver, !held || term != q.Term, m.name, "it tells %s to stand, and shows a lease of term %d", q.Leader, q.Term)
		}
	case rpc.VoteRequest:
		if q.To == h.firstOther(q.From) {
			j.note("%s: asks for votes in term %d (%v)", m.name, q.Term, q.Mark)
		}
		j.holds(Rests, !time.Now().Before(m.rest), m.name, "it asks for votes in term %d while it should rest after it has resigned", q.Term)
	case rpc.HeartbeatResponse:
		if q.To == m.shown.Leader {
			m.owes = time.Time{}
		}
	default: // it is answers to rounds, which say no more than what was looked at
	}
}

// firstOther is the voter whose messages stand for those to all.
func (h *history) firstOther(name string) string {
	for _, v := range h.group.voters {
		if nodeName(v) != name {
			return nodeName(v)
		}
	}
	return ""
}

// names checks to whom a leader hands over: whom somebody has named, unless somebody will
// have anyone, or a preferred member.
func (j *judge) names(m *member, q *rpc.Message) {
	wanted := m.leaving || m.orders[""] > 0 || m.orders[q.Leader] > 0 || m.early == q.Term
	for _, id := range m.group.preferred {
		wanted = wanted || id == q.Leader
	}
	j.holds(NamedHeir, wanted, m.name, "it hands over to %s in term %d, and was told %v", q.Leader, q.Term, m.orders)
}

// beats notes a heartbeat, which must not come too late.
func (j *judge) beats(h *history, m *member, q *rpc.Message) {
	now := time.Now()
	r := round{q.From, q.Term, q.Round}
	if h.rounds[r] != nil {
		return // it goes to another one, too
	}
	for old := range h.rounds {
		if old.leader == q.From && (old.term < q.Term || old.number+128 < q.Round) {
			delete(h.rounds, old)
		}
	}
	h.rounds[r] = &beat{at: now, promised: map[string]bool{q.From: true}}
	if m.beat == q.Term {
		j.holds(Prompt, !m.process.busy.noneSince(m.beatAt) || now.Sub(m.beatAt) <= m.timing.Heartbeat, m.name,
			"its heartbeat of term %d is sent %v after the last one, and nothing has held it up", q.Term, now.Sub(m.beatAt))
	}
	m.beat, m.beatAt = q.Term, now
}

// heard looks at what is about to be handed to a host, and says whether it can be.
func (j *judge) heard(p *process, batch []rpc.Message) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return false
	}
	now := time.Now()
	for i := range batch {
		q := &batch[i]
		h, m := j.groups[q.Group], p.members[q.Group]
		s := h.seats[p.node.index]
		if s == nil || m == nil || m.over {
			continue
		}
		switch {
		case q.Kind == rpc.Heartbeat:
			j.hearsBeat(m, s, q, now)
		case q.Kind == rpc.VoteRequest && q.Mark != rpc.PreVote:
			// Who stands in a later term has given the lease up.
			s.stood[q.From] = max(s.stood[q.From], q.Term)
			if q.From == s.promise.leader && q.Term > s.promise.term {
				s.promise = promise{}
			}
		case q.Kind == rpc.HeartbeatResponse && q.Promised:
			b := h.rounds[round{q.To, q.Asked, q.Round}]
			if b == nil || !h.group.votes(nodeOf(q.From)) {
				continue
			}
			b.promised[q.From] = true
			if len(b.promised) >= h.group.quorum() && b.at.After(m.covered) {
				m.covered = b.at
			}
		}
	}
	return true
}

// hearsBeat notes a heartbeat that a member hears, and that it owes an answer to.
func (j *judge) hearsBeat(m *member, s *seat, q *rpc.Message, now time.Time) {
	s.follows(q.Term)
	r := round{q.From, q.Term, q.Round}
	if _, known := s.asked[r]; !known && q.Lease > 0 {
		for old := range s.asked {
			if old.term < q.Term || old.number+128 < q.Round {
				delete(s.asked, old)
			}
		}
		s.asked[r] = request{q.Lease, now}
	}
	if m.owes.IsZero() && m.shown.Leader == q.From && m.shown.Term == q.Term && !m.shown.Stopped && m.process.busy.noneSince(now) {
		m.owes = now
	}
}

// hearing notes that an engine is about to hear of an append.
func (j *judge) hearing(m *member, term memberstate.Term) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !m.process.dead {
		j.groups[m.group.name].seats[m.process.node.index].follows(term)
	}
}

// follows notes that a node hears of the leader of a term. A quorum has replaced those
// before, to whom it may have made a promise.
func (s *seat) follows(term memberstate.Term) {
	s.followed = max(s.followed, term)
	if term > s.promise.term {
		s.promise = promise{}
	}
}
