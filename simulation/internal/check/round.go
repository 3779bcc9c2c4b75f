// Rounds: each is won by answers to this round, be they votes or promises of a lease.
//
// The checks number the rounds themselves. Every request carries the number of its round, and every
// answer the number of the request that it answers. The number travels beside the message and not in
// it: copies have the same number, and only the checks read it. So it is noticed if a member gives two
// rounds the same number, or takes an answer to one round for an answer to another.

package check

import (
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// asking is what a member asks and answers, as its messages show.
type asking struct {
	vote   ballot // the newest round of votes
	before uint32 // the newest round of the previous process
	beats  beats  // the rounds of heartbeats of the term that it leads, or led last
	heard  request
	waits  []waiting // the messages that its group has taken, and no step yet
	awake  int64     // since when the process has not stood still
	spoken []reply   // the answers that no message carries yet
}

// arrival is a message that arrives, with the number of its round and the index of its sender.
type arrival struct {
	round uint32
	from  uint8
	body  *rpc.Body
}

// waiting is an arrival that no step has taken yet.
type waiting struct {
	round uint32
	from  uint8
	body  rpc.Body
}

// request is the newest message that a step has taken: what it answers, if it answers anything.
type request struct {
	round uint32
	from  uint8
	lease time.Duration // the lease that it asks for
}

// reply is an answer that was given in this turn.
type reply struct {
	to    memberstate.Seat
	round uint32
}

// ballot is a round of votes.
type ballot struct {
	number   uint32
	over     bool // it was judged, or abandoned: the next request begins another one
	mark     rpc.Mark
	term     memberstate.Term
	ledger   memberstate.Position // where the candidate's ledger ends
	accepted voters
}

// restart forgets what was only in memory. The numbers of rounds continue.
func (a *asking) restart() {
	a.vote.over, a.before = true, a.vote.number
	a.beats.term = 0
	a.heard, a.waits, a.spoken = request{}, a.waits[:0], a.spoken[:0]
}

// Tag is the number that goes with a message of a member to the node with a seat: of the round in
// which the member asks, or of the one that it answers, or of a request to take over; 0 if it
// belongs to none.
func (n *Member) Tag(m *rpc.Message, to memberstate.Seat) uint32 {
	a := &n.asking
	switch m.Kind {
	case rpc.Heartbeat:
		return a.beats.of(m)
	case rpc.VoteRequest:
		return a.vote.number
	case rpc.TakeLeadership:
		return n.handing.word
	case rpc.HeartbeatResponse, rpc.VoteResponse:
		return a.carries(to)
	default:
		return 0
	}
}

// carries takes out the first answer to a member that no message carries yet. Answers to one
// member leave in the order in which they were given.
func (a *asking) carries(to memberstate.Seat) uint32 {
	if len(a.spoken) == 1 && a.spoken[0].to == to { // the usual case
		a.spoken = a.spoken[:0]
		return a.spoken[:1][0].round
	}
	for i := range a.spoken {
		if r := a.spoken[i]; r.to == to {
			a.spoken = slices.Delete(a.spoken, i, i+1)
			return r.round
		}
	}
	return 0
}

// Hears is called before a step that takes a message when it arrives.
func (c *Checker) Hears(n *Member, round uint32, from uint8, m *rpc.Body) {
	c.hears(n, arrival{round, from, m})
}

// HearsWaiting is called before a step that takes the first of the messages that have waited.
func (c *Checker) HearsWaiting(n *Member) {
	a := &n.asking
	if len(a.waits) == 0 {
		return
	}
	first := a.waits[0]
	a.waits = slices.Delete(a.waits, 0, 1)
	c.hears(n, arrival{first.round, first.from, &first.body})
}

// Waits notes a message that the member's group has taken while a step of it waits.
func (n *Member) Waits(round uint32, from uint8, m *rpc.Body) {
	n.asking.waits = append(n.asking.waits, waiting{round, from, *m})
}

func (c *Checker) hears(n *Member, p arrival) {
	n.asking.heard = request{p.round, p.from, p.body.Lease}
	switch p.body.Kind {
	case rpc.VoteResponse:
		c.accepted(n, p)
	case rpc.HeartbeatResponse:
		c.followed(n, p)
	default: // it is no answer
	}
}

// asks checks a request for votes. It begins a round, unless it repeats one that is not over, which
// only an alarm causes.
func (c *Checker) asks(n *Member, m *protocol.Message) {
	r := &n.asking.vote
	if rings := n.Input == protocol.Ring; !rings || r.over || r.mark != m.Mark || r.term != m.Term {
		*r = ballot{r.number + 1, false, m.Mark, m.Term, n.Engine.Ledger.End(), voters(0).with(n.Node.Index)}
	}
	c.Counts[invariant.LeaderComplete]++
	if m.Ledger != n.Engine.Told {
		c.Violated(invariant.LeaderComplete, n, "its vote request claims a ledger up to %v, but its engine reported %v", m.Ledger, n.Engine.Told)
	}
}

// accepted notes a vote, before the step that takes it.
func (c *Checker) accepted(n *Member, p arrival) {
	if a := &n.asking; p.body.Result == rpc.Accept && c.votes(int(p.from)) && a.counts(p) {
		a.vote.accepted = a.vote.accepted.with(int(p.from))
	}
}

// counts says whether a vote is for the newest round: it answers that round, or the old leader has
// vouched for the candidate's ledger.
//
// Every process numbers its rounds from the beginning. So a process may take the answer to a pre-vote
// of the previous process for its own, if both are for the same term. This is harmless, because the
// question was the same and the answer is no vote.
func (a *asking) counts(p arrival) bool {
	switch r, m := &a.vote, p.body; {
	case m.Mark == rpc.Vouched:
		return r.mark == rpc.Handed && m.Asked == r.term && !behind(r.ledger, m.Ledger)
	case r.mark == rpc.PreVote && p.round <= a.before:
		return m.Mark == rpc.PreVote && m.Asked == r.term
	default:
		return p.round == r.number
	}
}

// judged checks a round that is over. A lone voter needs no answer.
func (c *Checker) judged(n *Member, x *protocol.Output) {
	r := &n.asking.vote
	if x.Judged == protocol.Passed && c.Voters > 1 {
		c.Counts[invariant.WonByQuorum]++
		if r.over || r.mark != x.Asked || !Elected(r.accepted.count(), c.Voters) {
			c.Violated(invariant.WonByQuorum, n, "it takes its round for term %d as won with %d acceptances", r.term, r.accepted.count())
		}
	}
	r.over = true
}

// speaks notes an answer.
func (a *asking) speaks(to memberstate.Set) {
	for seat := range to.Seats() {
		a.spoken = append(a.spoken, reply{seat, a.heard.round})
	}
}

// Ballot is the newest round of votes that a member has asked for.
func (n *Member) Ballot() (mark rpc.Mark, term memberstate.Term) {
	return n.asking.vote.mark, n.asking.vote.term
}
