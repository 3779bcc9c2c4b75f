// This file judges beats between nodes. A beat is a heartbeat of every leader at its sender's node, and
// its answer is one of every member that follows. The judge does not look at bonds, so it may
// take a beat for a heartbeat in a group that does not rely on it: it counts too many promises, and
// never too few.

package shell

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// beating holds the judge's knowledge of what a process says in beats. The judge's mu guards it.
type beating struct {
	incarnation uint64
	sent        map[uint64]*nodeBeat    // by number, the newest ones
	number      uint64                  // of the newest
	answered    map[string]answered     // by node, the newest of its beats that this process has answered
	heard       map[string]rpc.Beat     // by node, the newest beat of its newest process
	owes        map[string]time.Time    // by node, since when this process owes it an answer
	told        map[string]toldStanding // by node, what it has said of its standing last
}

// answered is a beat that was answered: of which process, and its number.
type answered struct{ of, number uint64 }

// nodeBeat is a beat that was sent.
type nodeBeat struct {
	at      time.Time                              // when it was sent first
	follows map[string]map[string]memberstate.Term // by group and node, the term in which the node has answered it as a follower
}

const keptBeats = 128

// saidBeat judges a beat that a process is about to send, and says whether it is alive to send.
func (j *judge) saidBeat(p *process, to string, b *rpc.Beat) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return false
	}
	j.messages++
	who, starts := p.node.name, uint64(p.node.counted)
	j.holds(SaidDurable, b.From == who && b.To == to && b.Incarnation>>26 == starts, who, "it says %+v to %s, its disk has %d starts", b, to, starts)
	t := &p.beating
	t.incarnation = b.Incarnation
	delete(t.owes, to)
	if b.Number > t.number {
		t.number = b.Number
		t.sent[b.Number] = &nodeBeat{at: time.Now(), follows: map[string]map[string]memberstate.Term{}}
		delete(t.sent, b.Number-keptBeats)
	}
	if b.Number == t.number && t.sent[b.Number] != nil && t.sent[b.Number].at.Equal(time.Now()) {
		j.leadsBy(p, to)
	}
	if a := (answered{b.Of, b.Answers}); b.Answers > 0 && t.answered[to] != a {
		t.answered[to] = a
		j.answers(p, to, b)
	}
	return true
}

// leadsBy notes that a beat stands for the heartbeats of this process's leaders.
func (j *judge) leadsBy(p *process, to string) {
	now := time.Now()
	for _, m := range p.members {
		if m.over || m.shown.Role != memberstate.Leader || m.beat != m.shown.Term || !m.group.has(nodeOf(to)) {
			continue
		}
		m.beatAt = now
		if now.Sub(m.ownBeatAt) > 2*m.timing.Heartbeat {
			j.met[Rested]++
		}
	}
}

// answers notes in which groups a process answers a beat of another node, as a follower.
func (j *judge) answers(p *process, to string, b *rpc.Beat) {
	q := p.world().nodes[nodeOf(to)].process.Load()
	if q == nil || q.beating.incarnation != b.Of || q.beating.sent[b.Answers] == nil {
		return
	}
	follows := q.beating.sent[b.Answers].follows
	for _, m := range p.members {
		if !m.over && m.shown.Leader == to && m.shown.Role != memberstate.Leader {
			if follows[m.group.name] == nil {
				follows[m.group.name] = map[string]memberstate.Term{}
			}
			follows[m.group.name][p.node.name] = m.shown.Term
		}
	}
}

// heardBeat judges a beat that a host is about to receive, and says whether it is alive.
func (j *judge) heardBeat(p *process, b *rpc.Beat) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead {
		return false
	}
	if p.mute {
		return true // it takes no notice
	}
	j.standingHeard(p, b)
	t := &p.beating
	if b.Of>>16 == uint64(p.node.counted) {
		j.owed(p, b)
	}
	if beat := t.sent[b.Answers]; beat != nil && b.Of == t.incarnation {
		for _, m := range p.members {
			j.covers(m, b.From, beat)
		}
	}
	return true
}

// owed notes that a process owes an answer to a beat that is newer than all before. It owes none to a process that
// another one has replaced since: it may know of that by now, from whatever the other one has said.
func (j *judge) owed(p *process, b *rpc.Beat) {
	if q := p.world().nodes[nodeOf(b.From)].process.Load(); q == nil || q.beating.incarnation != b.Incarnation {
		return
	}
	known := false
	for _, m := range p.members {
		known = known || m.knows(b.From)
	}
	if !known {
		return
	}
	t, last := &p.beating, p.beating.heard[b.From]
	newest := last.Number
	if b.Incarnation > last.Incarnation {
		newest = 0
	}
	if b.Incarnation < last.Incarnation || b.Number <= newest {
		return
	}
	t.heard[b.From] = *b
	if now := time.Now(); t.owes[b.From].IsZero() && p.busy.noneSince(now) {
		t.owes[b.From] = now
	}
}

// owesBeat says whether a member's process has not answered a beat of another member's node.
func (m *member) owesBeat(now time.Time) bool {
	for node, at := range m.process.beating.owes {
		if m.knows(node) && now.After(at) && m.process.busy.noneSince(at) {
			return true
		}
	}
	return false
}

// knows says whether a member's node has to know another one for its sake. A node forgets those that no group names which takes part.
func (m *member) knows(node string) bool {
	return m.shown.Revision > 0 && !m.shown.Stopped && m.group.has(nodeOf(node))
}

// credits are the newest beats that a leader's nodes have answered in its term.
type credits struct {
	term memberstate.Term
	sent map[string]time.Time // by node, when that was sent
}

// covers notes that a node's answer to a beat has arrived, which may promise a lease to a leader. It
// promises no less than an answer to an earlier beat would.
func (j *judge) covers(m *member, from string, beat *nodeBeat) {
	term, follows := beat.follows[m.group.name][from]
	if m.over || m.shown.Role != memberstate.Leader || !follows || term != m.shown.Term || !m.group.votes(nodeOf(from)) {
		return
	}
	if c := &m.credits; c.term != term {
		*c = credits{term, map[string]time.Time{}}
	}
	if beat.at.After(m.credits.sent[from]) {
		m.credits.sent[from] = beat.at
	}
	var times []time.Time
	for _, at := range m.credits.sent {
		times = append(times, at)
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	if others := m.group.quorum() - 1; len(times) >= others && times[others-1].After(m.covered) {
		m.covered = times[others-1]
	}
}
