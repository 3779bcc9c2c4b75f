// This file judges what nodes know of each other: what they show of that, and that no leader hands over to a node of which it knows that
// it does not serve.

package shell

import (
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// asks notes that a process is asked something, and returns what is to be called with the answer. It is checked unless the
// process has died meanwhile.
func asks[T any](j *judge, p *process, what string, check func(began time.Time, answer T)) (answered func(T, error)) {
	began, c := time.Now(), &call{what: what, at: time.Now()}
	p.service.waiting[c] = struct{}{}
	return func(answer T, err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(p.service.waiting, c)
		if p.dead {
			return
		}
		j.holds(Prompt, time.Since(began) == 0 || !p.busy.noneSince(began), p.node.name, "%s took %v although nothing had held it up", what, time.Since(began))
		j.holds(OrdersTold, err == nil, p.node.name, "%s returns %v", what, err)
		check(began, answer)
	}
}

// asksNodes checks what a node knows of the others: they are those with which it shares groups.
func (j *judge) asksNodes(p *process) (answered func([]protocol.Peer, error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.running(p)
	return asks(j, p, "Nodes", func(_ time.Time, known []protocol.Peer) {
		now, least, most := j.running(p), map[string]int{}, map[string]int{}
		for _, g := range j.groups {
			if !g.group.has(p.node.index) {
				continue
			}
			runs := slices.ContainsFunc(before, func(m *member) bool { return m.group == g.group && slices.Contains(now, m) })
			for _, n := range g.group.nodes() {
				most[nodeName(n)]++
				if runs {
					least[nodeName(n)]++
				}
			}
		}
		delete(least, p.node.name)
		delete(most, p.node.name)
		last := ""
		for i := range known {
			k := &known[i]
			j.holds(NodesKnown, k.ID > last && k.Groups >= max(1, least[k.ID]) && k.Groups <= most[k.ID], p.node.name,
				"it shows %s after %q, with %d groups; they share %d to %d", k.ID, last, k.Groups, least[k.ID], most[k.ID])
			j.holds(NodesKnown, k.Known || k.Standing == rpc.Standing{}, p.node.name, "it shows that %s is %v, and that it does not know", k.ID, k.Standing)
			last = k.ID
			delete(least, k.ID)
		}
		j.holds(NodesKnown, len(least) == 0, p.node.name, "it does not show nodes with which it shares groups: %v", least)
	})
}

// knows checks what a node knows of another one's standing when no fault strikes. It has to know if groups leave their
// heartbeats to the two nodes. Otherwise the two may have exchanged no beat since one of them was started.
func (j *judge) knows(p, about *process, known *protocol.Peer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.dead || about.dead {
		return
	}
	says := about.host.Progress().Standing
	same := known.Known && known.Incarnation == about.host.Incarnation() // a node that follows only may not have heard of a new process
	j.holds(NodesKnown, !same || known.Standing == says, p.node.name, "it shows %+v; that is %v", *known, says)
	relies := known.Lead+known.Follow > 0
	j.holds(NodesKnown, same || !relies, p.node.name, "groups rely on beats of the two nodes, and it does not know whether the other serves: %+v", *known)
}

// toldStanding is what a process has said of its standing last.
type toldStanding struct {
	of, to  uint64 // its process, and that which it was said to
	changes uint32
	serves  bool
	sure    bool      // the receiver was free to take it in at once
	at      time.Time // when it arrived so
}

// standingHeard notes what a beat that arrives says of its sender's standing.
func (j *judge) standingHeard(p *process, b *rpc.Beat) {
	t, last := &p.beating, p.beating.told[b.From]
	if b.Of != t.incarnation || t.incarnation == 0 || b.Incarnation < last.of {
		return
	}
	newer := b.Incarnation > last.of || last.to != b.Of || int32(b.Standing.Changes-last.changes) > 0
	if newer || b.Standing.Changes == last.changes && !last.sure {
		t.told[b.From] = toldStanding{b.Incarnation, b.Of, b.Standing.Changes, b.Standing.State == rpc.Serving, p.busy.noneSince(time.Now()), time.Now()}
	}
}

// toldBy says what a process has been told of another one that runs, if it has had the time to take that in.
func (p *process) toldBy(other *process) (t toldStanding, known bool) {
	if other == nil || other.dead {
		return t, false
	}
	t = p.beating.told[other.node.name]
	known = t.sure && t.of == other.beating.incarnation && t.to == p.beating.incarnation && t.at.Before(time.Now())
	return t, known
}

// offers checks a question whether a voter could take over, unless an order has named it. The voter's node must serve as far
// as the leader knows, unless no other one does that has answered the newest heartbeat. While beats of its node stand for a leader's
// heartbeats, they tell it who answers, so this says nothing then.
func (j *judge) offers(m *member, q *rpc.Message) {
	if m.orders[q.Leader] > 0 {
		m.namedIn[q.Leader] = q.Term
	}
	p, nodes := m.process, m.process.world().nodes
	heir, now := nodeOf(q.Leader), time.Now()
	if q.Mark != rpc.PreVote || m.namedIn[q.Leader] == q.Term || !m.group.votes(heir) || !p.busy.noneSince(now) || m.beatAt != m.ownBeatAt || now.Sub(m.ownBeatAt) >= 2*m.timing.Heartbeat {
		return
	}
	other := nodes[heir].process.Load()
	asked, known := p.toldBy(other)
	if asked.serves || !known || other.service.mayServe() {
		return // if it serves again, an answer may have said so before a beat
	}
	for _, voter := range m.group.voters {
		a := m.answers[nodeName(voter)]
		if voter == heir || voter == p.node.index || a.term != q.Term || a.round != m.newestRound || !a.at.Before(now) {
			continue
		}
		better, sure := p.toldBy(nodes[voter].process.Load())
		j.holds(NotToLeaving, !better.serves || !sure, m.name, "it asks %s to take over term %d, which said %v ago (change %d) that it does not serve, and not %s, which said %v ago (change %d) that it does, and has answered %v ago",
			q.Leader, q.Term, now.Sub(asked.at), asked.changes, nodeName(voter), now.Sub(better.at), better.changes, now.Sub(a.at))
	}
}

// roundAnswer is the newest heartbeat of a leader that a voter has answered.
type roundAnswer struct {
	term  memberstate.Term
	round uint32
	at    time.Time // when the answer arrived
}
