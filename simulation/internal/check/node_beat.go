// Beats between nodes: a beat is a heartbeat in each group that the sender leads and the addressee has
// bonded to it, and an answer is one in each group that follows. Nothing of that is taken from the bonds
// themselves: when a beat leaves, and when an answer does, the checks write down who leads and who
// follows, and look that up by the number of the beat.

package check

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// exchanged is what a process has said in its newest beats.
type exchanged struct {
	sent     []sentBeat
	arrived  [MaxNodes][]arrivedBeat  // by the node whose beats they are
	answered [MaxNodes][]answeredBeat // by that node, too
	epochs   [MaxNodes]told           // the newest that each node has told
	departed [MaxNodes]told           // how many departures each node has told

	own      uint64             // its incarnation
	standing [MaxNodes]standing // what each node has said of itself
}

// keptNumbers is how many beats are remembered, as a process does.
const keptNumbers = 64

// sentBeat is a beat that has left.
type sentBeat struct {
	by     uint64 // the sender's incarnation
	number uint64
	local  time.Duration      // by the sender's clock
	at     int64              // in true time
	leads  []memberstate.Term // by group; 0: another member does, or nobody
}

// arrivedBeat is a beat that has arrived.
type arrivedBeat struct {
	session rpc.Session
	number  uint64
	bonded  []memberstate.Term // in which groups were bonded to the sender when it arrived, each time if that was more than once
}

// answeredBeat is a beat that counted for a process that has answered it.
type answeredBeat struct {
	session rpc.Session // of the answer
	number  uint64
	follows []memberstate.Term // in which the process followed the sender, by group; 0: it did not
	until   []time.Duration    // for how long it has promised to stand by the sender, by group
}

// told is a number that a process has told another in a session: how often it has given it up, or how many of the bonds
// to it have ended.
type told struct {
	session rpc.Session
	number  uint32
}

// goesOn says whether a message is of this epoch. A later one begins a later epoch. A late message of an earlier session,
// of either process, does not bring that one back.
func (t *told) goesOn(s rpc.Session, number uint32) bool {
	if s != t.session {
		if s.Incarnation >= t.session.Incarnation && s.Of >= t.session.Of {
			*t = told{s, number}
		}
		return true
	}
	goesOn := number == t.number
	t.number = max(t.number, number)
	return goesOn
}

// tells notes the departures that a beat tells of, and says whether all are known that its sender has counted. Until then
// it answers for no group.
func (t *told) tells(b *rpc.Beat) (all bool) {
	if t.goesOn(b.Session, 0); t.session != b.Session {
		return false
	}
	for _, l := range b.Leavings {
		if !l.Released && l.Number == t.number+1 {
			t.number++
		}
	}
	return t.number == b.Departed
}

// BondArrives notes what the answer to a heartbeat says about the bond, before it is taken in.
func (c *Checker) BondArrives(at *Node, from int, b *rpc.Bond) {
	at.exchanged.epochs[from].goesOn(b.Session, b.Epoch)
}

// credits are the newest beats of a leader's node that voters have answered who followed it in the term.
type credits struct {
	voters [MaxVoters]credit
	heard  time.Duration // when the newest was sent that a majority has answered, by the leader's clock
}

type credit struct {
	sent, counted, until time.Duration
	at                   int64 // when the newest was sent, in true time
}

// Exchanges notes by which incarnation a process names itself in its beats; 0: it exchanges none.
func (n *Node) Exchanges(incarnation uint64) { n.exchanged.own = incarnation }

// BeatSent checks what a node sends to another one, at a time of its clock.
func (c *Checker) BeatSent(from, to *Node, b *rpc.Beat, local time.Duration) {
	s := kept(&from.exchanged.sent, b.Number)
	if b.Number > 0 && (s.number != b.Number || s.by != b.Incarnation) {
		*s = sentBeat{by: b.Incarnation, number: b.Number, local: local, at: *c.now, leads: c.terms(s.leads, from, (*Member).Leads)}
		c.leadsResting(from, local)
	}
	a := kept(&from.exchanged.answered[to.Index], b.Answers)
	if b.Answers == 0 || a.number == b.Answers && a.session == b.Session {
		return
	}
	follows := func(n *Member) bool { return n.Group.State().Leader == to.Seat && !n.Shown.Stopped }
	*a = answeredBeat{session: b.Session, number: b.Answers, follows: c.terms(a.follows, from, follows), until: a.until[:0]}
	beat, arrived := kept(&to.exchanged.sent, b.Answers), kept(&from.exchanged.arrived[to.Index], b.Answers)
	for place := range c.groups {
		n := c.at(from, place)
		a.until = append(a.until, n.Durable.Promise)
		if arrived.number != b.Answers || arrived.session.Incarnation != b.Of || !n.Group.Bonded() || n.Group.State().Term != arrived.bonded[place] {
			continue
		}
		c.Counts[invariant.BeatSound]++
		if beat.number == b.Answers && beat.by == b.Of && beat.leads[place] != n.Group.State().Term {
			c.Violated(invariant.BeatSound, n, "it takes beat %d of n%d for a heartbeat in term %d, but that node led term %d when it was sent (0: none)",
				b.Answers, to.Index, n.Group.State().Term, beat.leads[place])
		}
	}
}

// kept is the place of a number among those that are remembered.
func kept[T any](all *[]T, number uint64) *T {
	if *all == nil {
		*all = make([]T, keptNumbers)
	}
	return &(*all)[number%keptNumbers]
}

// terms are the terms of those groups at a node of which something is true, and zero for the others, by group. They
// take the room of a list that is needed no more, because there are as many beats as heartbeats.
func (c *Checker) terms(room []memberstate.Term, at *Node, is func(*Member) bool) []memberstate.Term {
	all := room[:0]
	for place := range c.groups {
		var term memberstate.Term
		if n := c.at(at, place); is(n) {
			term = n.Group.State().Term
		}
		all = append(all, term)
	}
	return all
}

func (c *Checker) at(node *Node, place int) *Member { return c.groups[place].members[node.Index] }

// BeatArrives notes what arrives, before it is taken in.
func (c *Checker) BeatArrives(at, from *Node, b *rpc.Beat) {
	at.exchanged.standing[from.Index].hears(b, at.exchanged.own)
	bonded := func(n *Member) bool { return n.Group.Bonded() && n.Group.State().Leader == from.Seat }
	arrived := kept(&at.exchanged.arrived[from.Index], b.Number)
	if arrived.number == b.Number && arrived.session == b.Session {
		c.stillBonded(arrived, at, bonded)
	} else {
		*arrived = arrivedBeat{b.Session, b.Number, c.terms(arrived.bonded, at, bonded)}
	}
	all := at.exchanged.departed[from.Index].tells(b)
	if !at.exchanged.epochs[from.Index].goesOn(b.Session, b.Epoch) || !all {
		return // it has given this node up, so it answers for no group
	}
	a, beat := kept(&from.exchanged.answered[at.Index], b.Answers), kept(&at.exchanged.sent, b.Answers)
	if b.Answers == 0 || a.number != b.Answers || a.session != b.Session || beat.number != b.Answers || beat.by != b.Of || !c.votes(from.Index) {
		return
	}
	for place := range c.groups {
		left := func(l rpc.Leaving) bool { return !l.Released && l.Group == c.at(at, place).Group.Name() }
		if n := c.at(at, place); n.Leads() && n.Group.State().Term == a.follows[place] && !slices.ContainsFunc(b.Leavings, left) {
			c.credited(n, from.Index, credit{sent: beat.local, at: beat.at, until: beat.local + min(n.Rules.Lease, a.until[place])})
		}
	}
}

// stillBonded notes that a beat has arrived again. It counts once, and only the process knows which time.
func (c *Checker) stillBonded(arrived *arrivedBeat, at *Node, bonded func(*Member) bool) {
	for place, term := range arrived.bonded {
		if n := c.at(at, place); !bonded(n) || n.Group.State().Term != term {
			arrived.bonded[place] = 0
		}
	}
}

// credited counts the answer of a voter to a beat.
func (c *Checker) credited(n *Member, voter int, answer credit) {
	b := &n.asking.beats
	if b.term != n.Group.State().Term {
		return
	}
	had := &b.credits.voters[voter]
	had.sent, had.at, had.until = max(had.sent, answer.sent), max(had.at, answer.at), max(had.until, answer.until)
	b.covered = max(b.covered, c.majorityOf(n, func(one *credit) time.Duration { return one.until }))
	if !n.Group.RestsOn().Has(memberstate.Seat(voter + 1)) {
		return // it counts the answers to its own heartbeats
	}
	had.counted = max(had.counted, answer.sent)
	b.credits.heard = max(b.credits.heard, c.majorityOf(n, func(one *credit) time.Duration { return one.counted }))
	if b.credits.heard > b.newest {
		b.heard = b.number // all heartbeats of its own were sent before
	}
}

// majorityOf is the latest time that a majority has reached, the leader included.
func (c *Checker) majorityOf(leader *Member, of func(*credit) time.Duration) time.Duration {
	if c.Majority() == 1 {
		return 0
	}
	var room [MaxVoters]time.Duration
	all := room[:0]
	for voter := range c.Voters {
		if voter != leader.Node.Index {
			all = append(all, of(&leader.asking.beats.credits.voters[voter]))
		}
	}
	slices.Sort(all)
	return all[len(all)-(c.Majority()-1)]
}

// leadsResting checks leaders that leave their heartbeats to the node. None leads on without a quorum.
func (c *Checker) leadsResting(at *Node, local time.Duration) {
	for place := range c.groups {
		n := c.at(at, place)
		if !n.Leads() || !n.Group.Rests() || c.Majority() == 1 {
			continue
		}
		c.Counts[invariant.LeaderHeard]++
		most := time.Duration(n.Rules.Timing.Leak+1) * n.Rules.Timing.Heartbeat
		heard := c.majorityOf(n, func(one *credit) time.Duration { return one.sent })
		if silent := local - max(heard, n.asking.beats.newest); silent > most+n.Rules.Timing.Heartbeat {
			c.Violated(invariant.LeaderHeard, n, "it leads term %d and sends no heartbeats, although no quorum has answered the beats of its node for %v", n.Group.State().Term, silent)
		}
	}
}
