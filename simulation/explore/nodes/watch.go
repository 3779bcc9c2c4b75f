// What must hold. The checks know what members show, who said what to whom, and when. Of bonds, links and cohorts
// they know only two things, which [protocol.Node] tells: when a follower gives its leader up, and which answers a
// resting leader counts.
//
//	BeatSound      a beat prolongs the wait of a follower of A in T only if A led T when it was sent
//	AnswerSound    a resting leader counts an answer for B in T only if B followed it in T when it was given, and waited for it
//	               as if the beat had been a heartbeat
//	CreditBacked   while A leads T, and counts B's answer to what it sent at s, B gives no vote above T before s and a lease
//	OneLease       no two leases of a group at a time; and while one is held, a quorum has given no vote above its term
//
// The first two are seen at one node, given what the sender wrote on the beat, and reported as invariant.BeatSound, because
// an answer is a beat, too. The other two compare nodes, and are reported as invariant.OneLease: a lease rests on what its
// leader counts.

package nodes

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// watch is what the checks remember of one incarnation of a process.
type watch struct {
	number  uint64                       // the newest beat
	led     [mostGroups]memberstate.Term // that the process has led since that was sent first
	took    [mostMembers]taken           // what it has answered each node last
	answers [mostMembers]answer          // the newest of each node
}

// taken is a beat that the process has answered.
type taken struct {
	number uint64
	at     time.Duration // when it was answered first
}

// answer is a node's answer that the link has counted.
type answer struct {
	by      uint64                       // the node's incarnation
	sent    time.Duration                // when the beat was sent
	follows [mostGroups]memberstate.Term // in which the node followed
}

// leads is the term that a group's member leads; 0: it does not.
func (m *member) leads() memberstate.Term {
	if m.running() && m.group.State().Role == memberstate.Leader {
		return m.group.State().Term
	}
	return 0
}

// follows is the term in which the member follows another and can answer it; 0: it does not.
func (m *member) follows(index int) memberstate.Term {
	if m.running() && m.group.State().Role == memberstate.Follower && m.group.State().Leader == seat(index) && !m.group.Waits() {
		return m.group.State().Term
	}
	return 0
}

// says writes down what a beat to a node must not say more than.
func (p *process) says(to int, b *rpc.Beat) (s saying) {
	begins := b.Number != p.watch.number
	p.watch.number = b.Number
	if t := &p.watch.took[to]; t.number != b.Answers {
		*t = taken{b.Answers, p.now}
	}
	for place, m := range p.members {
		if leads := m.leads(); begins {
			p.watch.led[place] = leads
		} else if p.watch.led[place] != leads {
			p.watch.led[place] = 0
		}
		s.leads[place] = p.watch.led[place]
		if p.node.SilentAt(m.group) >= p.watch.took[to].at+timing.Detection() {
			s.follows[place] = m.follows(to)
		}
	}
	return s
}

// hears takes in a beat, and checks what it does.
func (p *process) hears(q *parcel) {
	var before [mostGroups]time.Duration
	var term [mostGroups]memberstate.Term
	for place, m := range p.members {
		if term[place] = m.follows(q.from); term[place] != 0 {
			before[place] = p.node.SilentAt(m.group)
		}
	}
	p.node.Beat(q.beat)
	for place, m := range p.members {
		if t := m.follows(q.from); t == 0 || t != term[place] || p.node.SilentAt(m.group) <= before[place] {
			continue
		}
		if led := q.said.leads[place]; led != term[place] {
			p.violated(invariant.BeatSound, "in group %s it takes beat %d of n%d for a heartbeat in term %d, but that node led term %d (0: none)",
				m.group.Name(), q.beat.Number, q.from, term[place], led)
		}
	}
	p.counts(q)
}

// counts notes whose answer the link counts from now on.
func (p *process) counts(q *parcel) {
	sent := p.node.Answered(p.ids[q.from])
	if had := &p.watch.answers[q.from]; sent != had.sent || sent != 0 && q.beat.Incarnation > had.by {
		*had = answer{q.beat.Incarnation, sent, q.said.follows}
	}
}

// forget forgets in which terms others followed that are over here.
func (p *process) forget() {
	for place, m := range p.members {
		for other := range p.watch.answers {
			if f := &p.watch.answers[other].follows[place]; *f < m.group.State().Term {
				*f = 0
			}
		}
	}
}

// counted is when the newest beat was sent of which a resting leader counts a node's answer; 0: of none.
func (p *process) counted(m *member, other int) time.Duration {
	if m.leads() == 0 || !m.group.RestsOn().Has(seat(other)) {
		return 0
	}
	return p.node.Answered(p.ids[other])
}

// checkAnswers checks the answers that resting leaders count.
func (p *process) checkAnswers() {
	for place, m := range p.members {
		term := m.leads()
		for other := range p.ids {
			if p.counted(m, other) == 0 {
				continue
			}
			if followed := p.watch.answers[other].follows[place]; followed != term {
				p.violated(invariant.BeatSound, "it rests in group %s in term %d, and counts an answer of n%d, which followed it in term %d when it gave that, as if it had heard a heartbeat (0: it did not)",
					m.group.Name(), term, other, followed)
			}
		}
	}
}

// facts are what the checks that compare nodes need to know of one.
type facts struct {
	terms   [mostGroups]memberstate.Term
	leads   [mostGroups]memberstate.Term
	hold    [mostGroups]time.Duration
	held    [mostGroups]memberstate.Term
	counted [mostGroups][mostMembers]time.Duration
	votes   [mostGroups][mostTerms + 2]time.Duration
}

func (p *process) facts() (f facts) {
	f.votes = p.disk.votes
	for place, m := range p.members {
		f.terms[place] = max(m.group.State().Term, p.disk.records[place].Term)
		f.leads[place] = m.leads()
		if m.running() {
			f.hold[place], f.held[place] = time.Duration(m.lease()), m.held
		}
		for other := range p.ids {
			f.counted[place][other] = p.counted(m, other)
		}
	}
	return f
}

// votedAbove is when a member first gave a vote above a term; 0: it did not.
func (f *facts) votedAbove(place int, term memberstate.Term) (first time.Duration) {
	for t := term + 1; t < memberstate.Term(len(f.votes[place])); t++ {
		if at := f.votes[place][t]; at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// compareAll compares all nodes with each other at a time.
func compareAll(all []*facts, groups int, now time.Duration) *defect {
	for i, f := range all {
		for j, other := range all {
			if i == j {
				continue
			}
			if d := f.compare(other, j, now); d != nil {
				d.what = fmt.Sprintf("n%d: ", i) + d.what
				return d
			}
		}
		if d := unbacked(all, i, groups, now); d != nil {
			return d
		}
	}
	return nil
}

// compare checks two nodes with each other at a time: whether one, which leads, may count on the other.
func (f *facts) compare(other *facts, index int, now time.Duration) *defect {
	for place := range f.leads {
		if check.Overlap(f.hold[place], other.hold[place], now) {
			return &defect{invariant.OneLease, fmt.Sprintf("in group %s leases of the terms %d and %d are held", groupNames[place], f.held[place], other.held[place])}
		}
		sent, voted := f.counted[place][index], other.votedAbove(place, f.leads[place])
		if sent != 0 && voted != 0 && voted < sent+timing.Detection() {
			return &defect{invariant.OneLease, fmt.Sprintf("in group %s the leader of term %d counts the answer of n%d to the beat of moment %d, but that node gave a vote above the term in moment %d",
				groupNames[place], f.leads[place], index, moment(sent), moment(voted))}
		}
	}
	return nil
}

// unbacked says what is wrong with a lease that a node holds, if no quorum stands by it.
func unbacked(nodes []*facts, holder, groups int, now time.Duration) *defect {
	f := nodes[holder]
	for place := range groups {
		if f.hold[place] <= now {
			continue
		}
		stand := 0
		for _, other := range nodes {
			if other == f || other.votedAbove(place, f.held[place]) == 0 {
				stand++
			}
		}
		if !check.Elected(stand, len(nodes)) {
			return &defect{invariant.OneLease, fmt.Sprintf("n%d: in group %s it holds a lease of term %d, and no quorum stands by it", holder, groupNames[place], f.held[place])}
		}
	}
	return nil
}
