// Balance: a node that leads many more groups than another one hands some of them over to it (D29).
//
// Turns by group (D18) share groups evenly when a node dies or drains. But a node that serves again leads nothing until
// that happens to another one. If its operator wants it, a node compares now and then how many groups it leads with what
// others say in their beats. No node decides for another: each only gives, and by these rules:
//
//   - A group goes to that of its voters whose node leads the fewest groups, if that is less than its own number by more than a
//     tenth of the mean. One group in a hundred goes each time, and to one node at most the difference divided by the number of
//     nodes. So all of them may give to the same one, although none knows of the others, and it does not get too much.
//   - A group stays for thirty intervals at a node that has begun to lead it. So none comes and goes.
//   - A group with preferred members goes from one of them to another one, or stays.
//   - A node that drains, or is protected, gives nothing in this way. Nor does one while more than a third of the others are
//     silent: what may be dying is not rearranged.
//
// Each of these handovers is like one on the order of an operator to that node: if its member is not caught up, the
// group stays.

package protocol

import (
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

// turn is a number below n, another one for each node and each time.
func (b *balancing) turn(self string, n int) int {
	return int((uint32(lotOf(self)) + b.round*40503) >> 3 % uint32(n))
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
		b.moving++
		n.Obey(one.group, &Order{To: one.to.id, Settled: func(error) { b.moving-- }})
	}
}

// gift is a group that is to be handed over to another node.
type gift struct {
	group *Group
	to    *peer
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
		return nil, "no other node that serves leads many fewer groups"
	}
	if gifts = n.chooseGifts(room); len(gifts) == 0 {
		return nil, "no group may go to the nodes that lead fewer, or others give them some"
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

// takers are the nodes that lead many fewer groups than this one, and how many each may be given. What is left of a division
// is given by some of the nodes, another time by others.
func (n *Node) takers() (room map[*peer]int) {
	own, sum := n.stands.led, n.stands.led
	var all []*peer
	for _, p := range n.beats.peers {
		if p.told && !p.leaves() && !n.silent(p) && p.leads > 0 {
			all = append(all, p)
			sum += p.led()
		}
	}
	nodes := len(all) + 1
	slack := max(2, sum/nodes/10)
	room = make(map[*peer]int)
	for _, p := range all {
		if fewer := own - p.led(); fewer > slack {
			room[p] = (fewer + n.balancing.turn(n.self, nodes)) / nodes
		}
	}
	return room
}

// led is how many groups a peer has said that it leads.
func (p *peer) led() int { return int(p.leads) - 1 }

// chooseGifts chooses groups for nodes that have room for so many each.
func (n *Node) chooseGifts(room map[*peer]int) (gifts []gift) {
	b, all, most := &n.balancing, n.edge.Groups(), max(1, n.stands.led/100)
	stay := b.lately(n.now)
	for i := range all {
		at := (b.first + i) % len(all)
		g := all[at]
		if !g.notes.has(isLed) || stay[g] {
			continue
		}
		to := n.taker(g, room)
		if to == nil {
			continue
		}
		room[to]--
		if gifts = append(gifts, gift{g, to}); len(gifts) == most {
			b.first = at + 1
			break
		}
	}
	return gifts
}

// taker is the node with room for a group that leads the fewest; nil if none may lead it.
func (n *Node) taker(g *Group, room map[*peer]int) (least *peer) {
	may := g.answering()
	if preferred := g.Rules.Preferred; preferred != 0 {
		if may &= preferred; !preferred.Has(g.Rules.Self) {
			return nil // it is offered to a preferred member anyway
		}
	}
	for seat := range may.Seats() {
		if p := n.peerOf(g, seat); room[p] > 0 && (least == nil || p.led() < least.led()) {
			least = p
		}
	}
	return least
}
