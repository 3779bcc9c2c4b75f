// Balance: a node that has much more to do than another one hands some of the groups that it leads over to it (D29).
//
// Turns by group (D18) share groups evenly when a node dies or drains. But a node that serves again leads nothing until
// that happens to another one. If its operator wants it, a node compares now and then what it leads with what
// others say in their beats: the weight of all these groups, for the node's capacity. That is the number of groups unless the engine says
// otherwise, see weight.go. No node decides for another: each only gives, and by these rules:
//
//   - A group goes to that of its voters whose node has the smallest load, if that is smaller than its own by more than two usual
//     groups, and by more than a tenth of the mean. One group in a hundred goes each time, and to one node at most its part of the difference: if all nodes
//     are equal, the difference divided by the number of nodes. So all of them may give to the same one, although none
//     knows of the others, and it does not get too much.
//   - A group that weighs more than that part goes only if none goes that weighs less, and as much more seldom as it weighs
//     more. Otherwise it would stay for ever where each of many nodes may give little.
//   - A group goes only if the larger of the two loads is less afterwards. So it does not come back, unless others change.
//   - A group stays for thirty intervals at a node that has begun to lead it. So none comes and goes.
//   - A group with preferred members goes from one of them to another one, or stays.
//   - A node that drains, or is protected, gives nothing in this way. Nor does one while more than a third of the others are
//     silent: what may be dying is not rearranged.
//
// Each of these handovers is like one on the order of an operator to that node: if its member is not caught up, the
// group stays.

package protocol

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/rpc"
)

// balancing is what a node remembers for balance.
type balancing struct {
	every  time.Duration // 0: it is off
	due    time.Duration
	moving int // handovers under way
	first  int // of the groups that are looked at, to begin with other ones each time
	round  uint32
	begun  []begun
	calm   time.Duration // nothing is given before, because so much has changed
}

// begun is a group that the node has begun to lead.
type begun struct {
	group *Group
	at    time.Duration
}

const (
	// stays is for how many intervals a group is not given away by a node that has begun to lead it.
	stays = 30
	// mostBegun bounds the groups that are remembered for that. If there are more, all stay.
	mostBegun = 4096
)

// CheckBalance complains about an interval at which no node can balance.
func CheckBalance(bad *Complaints, every time.Duration) {
	switch {
	case every < 0:
		bad.Add("Balance", "is negative: %v", every)
	case every > maxDetection:
		bad.Add("Balance", "is %v, %v is the most", every, maxDetection)
	}
}

// Balance has the node compare what it leads with others so often; 0: never, as at first.
func (n *Node) Balance(every time.Duration) {
	b := &n.balancing
	*b = balancing{every: every, due: n.now + every, moving: b.moving}
}

// begins remembers that the node has begun to lead a group.
func (b *balancing) begins(g *Group, now time.Duration) {
	if b.every == 0 {
		return
	}
	if b.forget(now); len(b.begun) == mostBegun {
		b.begun, b.calm = nil, now+stays*b.every
		return
	}
	b.begun = append(b.begun, begun{g, now})
}

// forget forgets groups that the node has led for long enough.
func (b *balancing) forget(now time.Duration) {
	for len(b.begun) > 0 && now-b.begun[0].at >= stays*b.every {
		b.begun = b.begun[1:]
	}
}

// turn is a number below n, another one for each node and each time. The steps of the golden ratio have small and large ones
// follow each other, so that whatever is done at some numbers only is done now and then.
func (b *balancing) turn(self string, n int64) int64 {
	fraction := uint32(lotOf(self))<<16 + b.round*0x9e3779b9
	high, _ := bits.Mul64(uint64(fraction)<<32, uint64(n))
	return int64(high)
}

// lately are the groups that the node has begun to lead lately.
func (b *balancing) lately(now time.Duration) map[*Group]bool {
	b.forget(now)
	all := make(map[*Group]bool, len(b.begun))
	for _, one := range b.begun {
		all[one.group] = true
	}
	return all
}

// BalancePlan is what a node would hand over now.
type BalancePlan struct {
	// Every is how often it balances; 0: it does not.
	Every time.Duration
	// Shares are by the ids of the nodes that would be given some.
	Shares []BalanceShare
	// Why is why nothing would be handed over.
	Why string
}

// BalanceShare is how many groups one node would be given.
type BalanceShare struct {
	To     string
	Groups int
}

// PlanBalance is what the node would hand over now if it balanced.
func (n *Node) PlanBalance() BalancePlan {
	gifts, why := n.toGive()
	plan := BalancePlan{Every: n.balancing.every, Why: why}
	for _, one := range gifts {
		at := slices.IndexFunc(plan.Shares, func(s BalanceShare) bool { return s.To == one.to.id })
		if at < 0 {
			at, plan.Shares = len(plan.Shares), append(plan.Shares, BalanceShare{To: one.to.id})
		}
		plan.Shares[at].Groups++
	}
	slices.SortFunc(plan.Shares, func(a, b BalanceShare) int { return strings.Compare(a.To, b.To) })
	return plan
}

// balance hands some groups over, if it is time to and there is reason to.
func (n *Node) balance() {
	b := &n.balancing
	if b.every == 0 || n.now < b.due {
		return
	}
	b.due, b.round = n.now+b.every, b.round+1
	gifts, _ := n.toGive()
	for _, one := range gifts {
		b.first = one.next
		b.moving++
		n.Obey(one.group, &Order{To: one.to.id, Settled: func(error) { b.moving-- }})
	}
}

// gift is a group that is to be handed over to another node.
type gift struct {
	group *Group
	to    *peer
	next  int // where among all groups the next search begins
}

// toGive are groups to be handed over, or why there are none.
func (n *Node) toGive() (gifts []gift, why string) {
	b := &n.balancing
	switch {
	case n.stands.own.State != rpc.Serving:
		return nil, "the node does not serve"
	case n.stands.protected:
		return nil, "the node is protected"
	case b.moving > 0:
		return nil, "handovers are under way"
	case n.now < b.calm:
		return nil, "very many groups have changed their leaders lately"
	case n.tooManySilent():
		return nil, "more than a third of the other nodes are silent"
	}
	room := n.takers()
	if len(room) == 0 {
		return nil, "no other node that serves leads much less for its capacity"
	}
	if gifts = n.chooseGifts(room); len(gifts) == 0 {
		return nil, "no group may go to the nodes that lead less, each is too heavy for the difference, or others give them some"
	}
	return gifts, ""
}

// tooManySilent says whether more than a third of the nodes that have to answer this one are silent. Two nodes that lead
// nothing which the other follows have nothing to say to each other.
func (n *Node) tooManySilent() bool {
	known, silent := 0, 0
	for _, p := range n.beats.peers {
		if p.offers == 0 {
			continue
		}
		if known++; n.silent(p) {
			silent++
		}
	}
	return 3*silent > known
}

// taker is a node that leads much less than this one.
type taker struct {
	load load  // with what it is given
	part int64 // its part of the difference, a weight, times the capacity of all nodes
	room int64 // the weight that it may be given now
	all  int64 // the capacity of all nodes
}

// takers are the nodes that lead much less than this one for their capacity. What is left of a division is given by some of
// the nodes, another time by others.
func (n *Node) takers() map[*peer]*taker {
	own := n.load()
	sum := own
	var all []*peer
	for _, p := range n.beats.peers {
		if p.told && !p.leaves() && !n.silent(p) && p.leads > 0 {
			all = append(all, p)
			sum = load{sum.weight + p.load().weight, sum.capacity + p.load().capacity}
		}
	}
	slack := max(2, sum.weight*UsualCapacity/sum.capacity/10)
	takers := make(map[*peer]*taker)
	for _, p := range all {
		if l := p.load(); own.above(l) > slack {
			part := own.excess(l)
			takers[p] = &taker{load: l, part: part, room: (part + n.balancing.turn(n.self, sum.capacity)) / sum.capacity, all: sum.capacity}
		}
	}
	return takers
}

// chooseGifts chooses groups for nodes that lead much less.
func (n *Node) chooseGifts(takers map[*peer]*taker) []gift {
	most := max(1, n.stands.led/100)
	gifts := n.chooseSome(takers, most, func(t *taker, weight int64) bool { return weight <= t.room })
	if len(gifts) > 0 {
		return gifts
	}
	return n.chooseSome(takers, 1, func(t *taker, weight int64) bool {
		return t.part+n.balancing.turn(n.self, weight*t.all) >= weight*t.all
	})
}

// chooseSome chooses groups that fit.
func (n *Node) chooseSome(takers map[*peer]*taker, most int, fits func(t *taker, weight int64) bool) (gifts []gift) {
	b, all, own := &n.balancing, n.edge.Groups(), n.load()
	stay := b.lately(n.now)
	for i := range all {
		at := (b.first + i) % len(all)
		g := all[at]
		if !g.notes.has(isLed) || stay[g] {
			continue
		}
		weight := g.weight()
		to := n.takerOf(g, takers, func(t *taker) bool { return own.mayGive(weight, t.load) && fits(t, weight) })
		if to == nil {
			continue
		}
		t := takers[to]
		own, t.load, t.room = own.with(-weight), t.load.with(weight), t.room-weight
		if gifts = append(gifts, gift{g, to, at + 1}); len(gifts) == most {
			break
		}
	}
	return gifts
}

// takerOf is, of the nodes that may take a group, the one that then has the smallest load; nil if none may.
func (n *Node) takerOf(g *Group, takers map[*peer]*taker, fits func(*taker) bool) (to *peer) {
	may := g.answering()
	if preferred := g.Rules.Preferred; preferred != 0 {
		if may &= preferred; !preferred.Has(g.Rules.Self) {
			return nil // it is offered to a preferred member anyway
		}
	}
	var lightest load
	for seat := range may.Seats() {
		p := n.peerOf(g, seat)
		if t := takers[p]; t != nil && fits(t) {
			if then := t.load.with(g.weight()); to == nil || then.excess(lightest) < 0 {
				to, lightest = p, then
			}
		}
	}
	return to
}
