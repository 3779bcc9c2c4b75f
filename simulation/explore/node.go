// A node: the shipped session with its durable half, the state of its driver, and a small engine.

package explore

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// nodeID numbers a node; equal nodes have the same number.
type nodeID uint32

const noNode nodeID = 0

// node is the whole state of a node. It is compared with ==.
type node struct {
	seat     memberstate.Seat
	session  protocol.Snapshot
	ledger   ledger
	promised memberstate.Term // by the engine: no append of a smaller term is taken
	time     clocks
	driver   driver
}

// newNode is a node before its first start.
func newNode(index int) node {
	return node{seat: seatOf(index), time: clocks{now: protocol.CanonicalNow}}
}

// inRound says whether a round of votes of the node's is under way.
func (n *node) inRound() bool {
	ballot, _, _ := n.session.Open()
	return ballot != 0
}

// asks says whether the round under way is one for this term and with this mark.
func (n *node) asks(term memberstate.Term, with rpc.Mark) bool {
	ballot, asked, mark := n.session.Open()
	return ballot != 0 && asked == term && mark == with
}

// votedIn says whether the node has voted in a term, or has left it behind. Once true it stays true,
// because a step that loses a vote or a term would be a violation.
func (n *node) votedIn(term memberstate.Term) bool {
	return n.session.Term > term || n.session.Term == term && n.session.Vote != memberstate.Nobody
}

// canonize removes what does not affect the node's behaviour.
func (n *node) canonize(r *protocol.Rules) {
	n.session = n.session.Canonical(r, n.time.now)
	n.driver.canonize(n, r)
	n.time.now = protocol.CanonicalNow
	if n.promised <= n.session.Term {
		n.promised = 0 // the machine forbids the same
	}
}

// leads says whether the node leads a term.
func (n *node) leads(term memberstate.Term) bool {
	return n.session.Role == memberstate.Leader && n.session.Term == term
}

// writes says whether the node's engine may append an entry: it leads, and its engine has promised no
// larger term.
func (n *node) writes() bool {
	return n.session.Role == memberstate.Leader && n.promised <= n.session.Term
}

// append appends an entry, and sends the ledger to all others.
func (n *node) append() message {
	n.ledger = n.ledger.with(n.session.Term)
	return message{engine: true, ledger: n.ledger, body: protocol.Message{
		From: n.seat, Leader: n.seat, Body: rpc.Body{Kind: rpc.Heartbeat, Term: n.session.Term},
	}}
}

func seatOf(index int) memberstate.Seat { return memberstate.Seat(index + 1) }

func (n *node) index() int { return int(n.seat) - 1 }

// ledger is the terms of a ledger's entries, four bits each, from the first one on.
type ledger uint32

func (l ledger) len() (n int) {
	for ; l != 0; l >>= 4 {
		n++
	}
	return n
}

func (l ledger) end() memberstate.Position {
	if l == 0 {
		return memberstate.Position{}
	}
	n := l.len()
	return memberstate.Position{Term: memberstate.Term(l >> (4 * (n - 1)) & 15), Index: uint64(n)}
}

func (l ledger) with(term memberstate.Term) ledger { return l | ledger(term)<<(4*l.len()) }

// holds says whether a ledger begins with all of another one.
func (l ledger) holds(other ledger) bool { return l&(1<<(4*other.len())-1) == other }
