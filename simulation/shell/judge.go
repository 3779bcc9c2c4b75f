// This file has the judge. It sees everything that a world's members show, say, hear and save,
// and checks the invariants on it. It is independent of the code that it checks: it counts
// quorums itself, reads no field of an elector, and calls only Status and Lease, as users may.
//
// Goroutines run concurrently here, so a value that the judge sees may be about to change. Either
// an invariant promises the order in which values become visible, or the judge looks again
// when all goroutines have done their work of that moment, see settle.

package shell

import (
	"context"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// judge is the judge of one world. mu guards all its fields.
type judge struct {
	book
	groups   map[string]*history
	messages uint64
}

// history holds the events of a group.
type history struct {
	group   *groupPlan
	leaders map[memberstate.Term]tenure
	votes   map[ballot]string         // the votes that were shown or said
	kept    map[ballot]string         // the votes that became durable
	handed  map[memberstate.Term]bool // terms whose leader has told another member to stand
	rounds  map[round]*beat
	seats   map[int]*seat // by node
	commits []commit
	newest  memberstate.Term // the largest term that was led
}

// tenure names the leader of a term: one member, which joined once.
type tenure struct {
	node   string
	member uint64 // 0: not known, because only others have named the node
}

type ballot struct {
	voter string
	term  memberstate.Term
}

// commit is an entry that was committed, and the term in which it was.
type commit struct {
	entry
	in memberstate.Term
}

// seat holds the state that a node has shown and saved of a group, over all its processes.
type seat struct {
	term     memberstate.Term // as shown last
	vote     string
	saved    *memberstate.Record  // as acknowledged last; nil: none was
	unsure   []memberstate.Record // records given to a Save that has not returned, or has failed
	asked    map[round]request    // the heartbeats that it has heard lately
	promise  promise
	followed memberstate.Term            // the largest term whose leader it has heard
	stood    map[string]memberstate.Term // by candidate, the largest term in which it asked for this node's vote
}

// request is a heartbeat that asks for a promise.
type request struct {
	lease time.Duration
	at    time.Time // when it was heard first
}

// promise is a promise of a lease that a node has sent.
type promise struct {
	leader string
	term   memberstate.Term
	until  time.Time
}

// record holds the judge's knowledge of a member. The judge's mu guards it.
type record struct {
	shown     elector.Status
	shownAt   time.Time
	over      bool               // Done was closed
	calling   map[string]int     // callbacks that run
	waiting   map[*call]struct{} // calls that have not returned
	office    *tenancy
	inCharge  memberstate.Term // the last term that Lead was called for
	early     memberstate.Term // the term in which Lead returned by itself, ...
	earlyAt   time.Time        // ... and when
	pausing   []*pausing
	orders    map[string]int   // orders to hand over, by heir; "": to any voter
	rest      time.Time        // it has resigned, and must not stand before this time
	told      time.Time        // when it was last told to stand
	held      memberstate.Term // the term of a lease that was seen
	lapsed    memberstate.Term // the largest term whose lease was seen to be over
	covered   time.Time        // when the newest heartbeat, or beat of its node, for which a quorum has promised was sent
	credits   credits
	beat      memberstate.Term // the term of the last heartbeat, ...
	beatAt    time.Time        // ... and when it was sent, or a beat of its node instead
	ownBeatAt time.Time        // when the last heartbeat was sent
	owes      time.Time        // since when it owes an answer to its leader
	failing   bool             // a save has failed
	abrupt    bool             // it led until it stopped
	leaving   bool             // it is being stopped
	ableAt    time.Time        // since when it has been able to lead, if it is
	tookAt    time.Time        // when it began to lead last, ...
	lostAt    time.Time        // ... and when it stopped leading last

	newestRound uint32                      // of its heartbeats
	answers     map[string]roundAnswer      // by voter
	namedIn     map[string]memberstate.Term // by heir, the last term in which an order has named it
}

// tenancy is a call of Lead.
type tenancy struct {
	term memberstate.Term
	ctx  context.Context
}

// pausing is a call of Pause.
type pausing struct {
	term memberstate.Term
	ctx  context.Context
	at   time.Time
}

// call is one call of a method of an elector.
type call struct {
	what   string
	at     time.Time
	beside bool // another order about the same has been under way meanwhile, so nobody knows which one was carried out last
}

func newJudge(seed uint64, p *plan, live func(string)) *judge {
	j := &judge{groups: map[string]*history{}}
	j.open(seed, live)
	for _, g := range p.groups {
		j.named = append(j.named, g.name)
		h := &history{
			group: g, leaders: map[memberstate.Term]tenure{}, votes: map[ballot]string{}, kept: map[ballot]string{}, handed: map[memberstate.Term]bool{},
			rounds: map[round]*beat{}, seats: map[int]*seat{},
		}
		for _, n := range g.nodes() {
			h.seats[n] = &seat{asked: map[round]request{}, stood: map[string]memberstate.Term{}}
		}
		j.groups[g.name] = h
	}
	return j
}

// booted compares the records in the store of a new process with those that were saved.
func (j *judge) booted(p *process, made bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note("%s: process %d starts", p.node.name, p.number)
	for name, h := range j.groups {
		s := h.seats[p.node.index]
		if s == nil {
			continue
		}
		r, known, err := p.store.Load(name)
		who := p.node.name + " " + name
		if !j.holds(RecordsKept, err == nil, who, "its record cannot be read: %v", err) {
			continue
		}
		kept := known && s.saved != nil && r == *s.saved || !known && s.saved == nil
		for i := range s.unsure {
			kept = kept || known && r == s.unsure[i]
		}
		j.holds(RecordsKept, kept, who, "its store has %+v (known: %t), acknowledged was %+v", r, known, s.saved)
		s.unsure, s.saved = nil, nil
		if known {
			s.saved = &r
			h.keeps(p.node.name, &r)
			if r.Vote != "" && made {
				j.met[VoteRead]++
			}
		}
	}
}

// dies cuts the process off from everything.
func (j *judge) dies(p *process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !p.dead {
		p.dead = true
		close(p.died)
	}
}

// memberOf is a process's member of a group; nil if it has none.
func (j *judge) memberOf(p *process, group string) *member {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m := p.members[group]; m != nil && !m.over && !p.dead {
		return m
	}
	return nil
}

func (j *judge) membersOf(p *process) (list []*member) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range p.members {
		list = append(list, m)
	}
	return list
}

// joined notes that a group has joined a host, which must have forgotten its last member.
func (j *judge) joined(m *member, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds(StopWaits, err == nil || m.process.dead, m.name, "it cannot join: %v", err)
	m.calling, m.waiting, m.orders = map[string]int{}, map[*call]struct{}{}, map[string]int{}
	m.answers, m.namedIn = map[string]roundAnswer{}, map[string]memberstate.Term{}
}

// enters notes that the member is about to take part.
func (j *judge) enters(m *member) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !m.process.dead {
		m.process.members[m.group.name] = m
	}
}
