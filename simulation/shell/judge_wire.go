// This file judges messages. A member may send nothing that a crash could take back, and must
// send heartbeats and their answers in time.

package shell

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// round is one round of heartbeats, by its leader's number. If a leader gave two rounds one number,
// the judge would count promises for the first alone, and would find the lease too long for it.
type round struct {
	leader string
	term   memberstate.Term
	number uint32
}

// beat holds the judge's knowledge of a round.
type beat struct {
	at       time.Time       // when it was sent first
	promised map[string]bool // the members that have promised for it
}

// said judges the messages that a process is about to send, and says whether it is alive to send.
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
		// A member says nothing before it has shown its first status. If it has shown none, this is what the member
		// before it left to be sent, while the process stood still.
		if m := p.members[q.Group]; m != nil && !m.over && m.shown.Revision > 0 {
			j.says(h, m, q)
		}
	}
	return true
}

// candidateOf is the candidate for which the sender of a message must have voted; empty if none.
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

// durable compares a message with the sender's saved record.
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
			over := s.followed > q.Asked || s.stood[q.To] > q.Asked // the answer is late
			if !over && (until.After(s.promise.until) || s.promise.leader != q.To) {
				s.promise = promise{q.To, q.Asked, until}
			}
		}
	}
}

// keeps checks that a voter votes for no other candidate while a lease that it has promised
// lasts, unless the leader has told another member to stand.
func (j *judge) keeps(h *history, s *seat, who string, q *rpc.Message) {
	c := candidateOf(q)
	if c == "" || s.promise.leader == "" || c == s.promise.leader || q.Term <= s.promise.term || h.handed[s.promise.term] {
		return
	}
	j.holds(PromiseKept, !time.Now().Before(s.promise.until), who, "it votes for %s in term %d although it has promised a lease to %s, for %v more",
		c, q.Term, s.promise.leader, time.Until(s.promise.until))
}

// says judges a message of a member that has not ended.
func (j *judge) says(h *history, m *member, q *rpc.Message) {
	switch q.Kind {
	case rpc.Heartbeat:
		j.namesLeader(h, m.name, q.Term, q.From, m.id)
		j.beats(h, m, q)
	case rpc.TakeLeadership:
		j.namesLeader(h, m.name, q.Term, q.From, m.id)
		j.names(m, q)
		j.offers(m, q)
		if q.Mark == rpc.Plain {
			h.handed[q.Term] = true
			m.lapsed = max(m.lapsed, q.Term)
			term, _, held := m.el.Lease()
			j.holds(LeaseOver, !held || term != q.Term, m.name, "it orders %s to stand while it shows a lease of term %d", q.Leader, q.Term)
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
	default: // other answers, which durable and keeps have judged
	}
}

// firstOther is the voter whose copy of a broadcast is noted for all.
func (h *history) firstOther(name string) string {
	for _, v := range h.group.voters {
		if nodeName(v) != name {
			return nodeName(v)
		}
	}
	return ""
}

// names checks the heir of a handover. An order must have named it, unless an order, a stop, a drain of the node, its balance or
// the return of Lead allows any voter, the leader is not able, or the heir is preferred. A leader that something holds up may
// let any voter take over, whatever the end of its ledger is, because it cannot work.
func (j *judge) names(m *member, q *rpc.Message) {
	wanted := m.leaving || m.orders[""] > 0 || m.orders[q.Leader] > 0 || m.early == q.Term
	wanted = wanted || m.falters() || m.process.handsOver(m) || m.process.balances(m)
	heldUp := m.process.busy.freeFor(time.Time{}) < 4*m.detection()
	wanted = wanted || heldUp && q.Ledger == (memberstate.Position{})
	for _, id := range m.group.preferred {
		wanted = wanted || id == q.Leader
	}
	j.holds(NamedHeir, wanted, m.name, "it hands over to %s in term %d, but its orders name %v", q.Leader, q.Term, m.orders)
}

// beats notes a heartbeat, which must not be late.
func (j *judge) beats(h *history, m *member, q *rpc.Message) {
	now := time.Now()
	r := round{q.From, q.Term, q.Round}
	if h.rounds[r] != nil {
		return // it is another copy of the same round
	}
	for old := range h.rounds {
		if old.leader == q.From && (old.term < q.Term || old.number+128 < q.Round) {
			delete(h.rounds, old)
		}
	}
	h.rounds[r] = &beat{at: now, promised: map[string]bool{q.From: true}}
	if m.beat == q.Term {
		j.holds(Prompt, !m.process.busy.noneSince(m.beatAt) || now.Sub(m.beatAt) <= m.timing.Heartbeat, m.name,
			"its heartbeat of term %d is sent %v after the last one although nothing has held it up", q.Term, now.Sub(m.beatAt))
	}
	m.beat, m.beatAt, m.ownBeatAt, m.newestRound = q.Term, now, now, q.Round
}

// heard judges the messages that a host is about to receive, and says whether it is alive.
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
		if q.Kind == rpc.HeartbeatResponse && q.Result == rpc.Success && q.Round == m.newestRound {
			m.answers[q.From] = roundAnswer{q.Asked, q.Round, now}
		}
		switch {
		case q.Kind == rpc.Heartbeat:
			j.hearsBeat(m, s, q, now)
		case q.Kind == rpc.VoteRequest && q.Mark != rpc.PreVote:
			// A leader that stands in a later term has given its lease up.
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

// hearsBeat notes a heartbeat that a member hears, and the answer that it owes.
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

// hearing notes that an engine is about to pass an append to Heard.
func (j *judge) hearing(m *member, term memberstate.Term) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !m.process.dead {
		j.groups[m.group.name].seats[m.process.node.index].follows(term)
	}
}

// follows notes that a node hears of the leader of a term. A quorum has replaced the earlier
// leaders, so a promise to one of them binds no more.
func (s *seat) follows(term memberstate.Term) {
	s.followed = max(s.followed, term)
	if term > s.promise.term {
		s.promise = promise{}
	}
}

// forges checks that a host counts all that was forged among what it has ignored, unless something holds it up.
func (j *judge) forges(p *process) (ignored func(forged int)) {
	count := func() (all uint64) {
		for why := range protocol.Drop(protocol.DropReasons) {
			all += p.host.Dropped(why)
		}
		return all
	}
	began, before := time.Now(), count()
	return func(forged int) {
		now := count()
		j.check(Ignored, now-before >= uint64(forged) || p.isDead() || !p.busy.noneSince(began), p.node.name, "it has ignored %d inputs, and %d were forged", now-before, forged)
	}
}
