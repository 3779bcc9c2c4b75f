// Requests to a node, and reports, that come between two turns. Each is a value that waits in the
// node's intake.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// RequestKind says what is asked of a node, or reported to it.
type RequestKind uint8

const (
	// AskStart: the group is restored, and is to take part. Number is how many watchers will say
	// TellDone.
	AskStart RequestKind = iota + 1
	// AskStop: the group is to hand over and end.
	AskStop
	// AskEnd: the group is to end at once.
	AskEnd
	// AskStand: this member is to stand.
	AskStand
	// AskOrder: this member is to carry out Order.
	AskOrder
	// AskWithdraw: Order is withdrawn, because of Err.
	AskWithdraw
	// AskElectable: this member is to lead whenever it is elected; or, if Never, only if no other
	// can.
	AskElectable
	// AskTiming: the group's intervals are to be these of Timing from now on.
	AskTiming
	// AskPreferred: the voters in Preferred are to be the group's preferred leaders from now on.
	AskPreferred
	// AskWeight: the group's weight is to be Number from now on.
	AskWeight
	// AskFigures: the group is to be measured.
	AskFigures
	// AskDrain: the node is to hand over all that it leads, Number groups at a time.
	AskDrain
	// AskServe: the node is to take its share of leading.
	AskServe
	// AskProtect: the node is to hand over nothing of its own accord; or, if Never, to do so again.
	AskProtect
	// AskBalance: the node is to compare what it leads with others each Every, and hand over some of it; 0: never.
	AskBalance
	// AskBalancePlan: what the node would hand over for balance is to be shown.
	AskBalancePlan
	// AskPeers: what the node knows of the others is to be shown.
	AskPeers
	// AskStuck: groups are to be named that cannot be handed over.
	AskStuck

	// TellHeard: the engine has heard Leader, in Term.
	TellHeard
	// TellPeerLost: the process of Node is gone, as far as the transport can tell.
	TellPeerLost
	// TellLedgerEnd: the engine's ledger ends at Ledger, or there is no answer, because of Err.
	// Term is the largest whose leader the engine has heard of.
	TellLedgerEnd
	// TellSaved: the batch is durable, or is not, because of Err.
	TellSaved
	// TellLeaseOver: the lease of Term has run out.
	TellLeaseOver
	// TellSharedLeaseOver: the shared lease of Number has run out.
	TellSharedLeaseOver
	// TellLeadReturned: the engine's Lead of Term has returned Err, and Early if its context had
	// not ended.
	TellLeadReturned
	// TellPauseEnded: the engine has paused its writes, for the Pause of Number, or has not,
	// because of Err.
	TellPauseEnded
	// TellHealth: the engine has answered AskHealth: it is able to lead, or is not, because of Err.
	TellHealth
	// TellStalled: the engines of the groups in Stalled cannot work, and all others can.
	TellStalled
	// TellDone: one who watched the group has seen its end.
	TellDone
)

// Request is something that waits for a node's next turn. Only the fields that its kind mentions
// count.
type Request struct {
	Subject
	Order  *Order
	Number uint32
	Early  bool
	Never  bool
	Ledger memberstate.Position
	Err    error
	Timing *Timing // of AskTiming
	Every  time.Duration
	// Preferred are the ids of voters.
	Preferred []string
	// Stalled are groups whose engines cannot work.
	Stalled []*Group
	// Settled is called with the outcome of AskTiming, AskPreferred and AskWeight.
	Settled func(error)
	// Then, if not nil, is called when it is done, or when the group has ended.
	Then func()
	// For receives what is to be shown.
	For Reader
}

// Subject is what a request is about. Of requests that anybody may repeat, those with one subject
// are one.
type Subject struct {
	Kind   RequestKind
	Group  *Group
	Term   memberstate.Term
	Leader memberstate.Seat
	Node   string
}

// Reader receives what it has asked a node to show.
type Reader interface{ Shown(s Shown) }

// Shown is what a node shows on request: a group's Figures, the other nodes, or groups that cannot be handed over.
type Shown struct {
	Figures Figures      // of AskFigures
	Peers   []Peer       // of AskPeers
	Stuck   []StuckGroup // of AskStuck
	Balance BalancePlan  // of AskBalancePlan
}

// Figures are measured on request. A group that does not take part has none.
type Figures struct {
	Ledger           memberstate.Position // where the engine's ledger ended when it was last asked
	Lease, QuorumAge time.Duration        // see Session
	Unable           time.Duration        // for how long the member has not been able to lead
	Preferred        bool                 // the member should lead whenever it can
	LastChoice       bool                 // it leads only if no other can, see Node.Electable
}

// Do carries out a request that has waited for its turn.
func (n *Node) Do(r *Request) {
	g := r.Group
	switch r.Kind {
	case AskStart:
		g.working = r.Number
		n.Start(g)
		if r.Then != nil {
			r.Then()
		}
	case AskStop:
		n.Stop(g)
	case AskEnd:
		n.End(g)
	case AskStand:
		n.Give(g, &Input{Kind: Stand}, nil)
	case AskOrder:
		n.Obey(g, r.Order)
	case AskWithdraw:
		n.Withdraw(g, r.Order, r.Err)
	case AskElectable:
		n.Electable(g, !r.Never)
	case AskTiming:
		r.Settled(n.SetTiming(g, *r.Timing))
	case AskPreferred:
		r.Settled(n.SetPreferred(g, r.Preferred))
	case AskWeight:
		r.Settled(n.SetWeight(g, int(r.Number)))
	case AskFigures:
		r.For.Shown(Shown{Figures: n.figures(g)})
	case AskDrain:
		n.Drain(int(r.Number))
		r.Then()
	case AskServe:
		n.Serve()
		r.Then()
	case AskProtect:
		n.Protect(!r.Never)
		r.Then()
	case AskBalance:
		n.Balance(r.Every)
		r.Then()
	case AskBalancePlan:
		r.For.Shown(Shown{Balance: n.PlanBalance()})
	case AskPeers:
		r.For.Shown(Shown{Peers: n.Peers()})
	case AskStuck:
		r.For.Shown(Shown{Stuck: n.StuckGroups()})
	case TellHeard:
		n.Give(g, &Input{Kind: Heard, Term: r.Term, Seat: r.Leader}, r.Then)
	case TellPeerLost:
		n.PeerLost(r.Node)
	case TellLedgerEnd:
		n.LedgerEnd(g, r.Ledger, r.Term, r.Err)
	case TellSaved:
		n.Saved(r.Err)
	case TellLeaseOver:
		n.LeaseOver(g, r.Term)
	case TellSharedLeaseOver:
		n.SharedLeaseOver(r.Number)
	case TellLeadReturned:
		n.LeadReturned(g, r.Term, r.Early, r.Err)
	case TellPauseEnded:
		n.PauseEnded(g, r.Number, r.Err)
	case TellHealth:
		n.Health(g, r.Err)
	case TellStalled:
		n.Stalled(r.Stalled)
	case TellDone:
		n.done(g)
	}
}

// figures measures a group.
func (n *Node) figures(g *Group) (f Figures) {
	if g.running {
		s, a := g.Peek(), g.ability()
		f = Figures{
			Ledger: s.LedgerEnd(), Lease: n.leaseLeft(g), QuorumAge: n.quorumAge(g),
			Preferred: g.Rules.Preferred.Has(g.Rules.Self), LastChoice: a != nil && a.ordered,
		}
		if s.Inability() != Able {
			f.Unable = n.now - a.since
		}
	}
	return f
}
