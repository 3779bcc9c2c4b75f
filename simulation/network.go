// The network. Every directed link may be cut or slow, and may lose, delay, duplicate and
// reorder messages.

package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/trace"
)

// parcel is on its way: a message of the election or of the engines, or a beat.
type parcel struct {
	message  rpc.Message
	beat     *rpc.Beat // if it is no message; never changed
	ledger   ledger.Ledger
	number   uint32 // on its link, from 1
	passage  int32  // its place in the trace, or -1
	round    uint32 // the checks' number of the round in which its sender asks, or that it answers
	rest     uint32 // the place, plus one, of the next parcel of its packet; 0: it is the last
	from, to uint8
	group    uint8
	engine   bool
	slowed   bool // it has been delayed already because its addressee is slow
}

// rare says whether messages of this kind are seldom sent, so that each is kept.
func (p *parcel) rare() bool {
	return p.message.Kind == rpc.TakeLeadership || p.message.Mark >= rpc.Handed
}

// address is that of the choice of the parcel's fate.
func (p *parcel) address() choice.Address {
	return choice.Address{Kind: p.kind(), Node: p.from, To: p.to, Number: p.number}
}

// kind is that of the choice of the parcel's fate.
func (p *parcel) kind() choice.Kind {
	if p.engine {
		return choice.Copy
	}
	return choice.Fate
}

type network struct {
	world *world
	pool  []*parcel // a parcel never moves
	free  []uint32
	beats []rpc.Beat // for the next ones that are sent
	links [maxNodes][maxNodes]link

	troubles []trouble
	old      [oldParcels]parcel         // some of those that were sent
	wanted   map[choice.Address]*parcel // those that a scenario sends again
	sent     uint64
	kept     uint64 // in old
	word     delayedTransfer

	// How the network behaves, as the seed has drawn it. Probabilities are in parts of 65,536.
	delay, jitter, tail             time.Duration
	loss, duplicate, delayed, heavy uint32
	rough                           bool // any of the four is not 0
	mayBeReordered                  bool

	slowest int64 // the longest that a message has taken since the faults are over, which a record of the run has, too
}

// link is one direction between two nodes.
type link struct {
	cuts    uint8         // how many troubles cut it
	damage  uint8         // how the next message is to be damaged; 0: not at all
	slow    time.Duration // how much longer every message takes
	last    int64         // when the previous message arrives
	arrived uint32        // the largest number that has arrived
}

// delayedTransfer delays an order to take over: all that a leader sends until a time are lost, except to
// one member, where they arrive late.
type delayedTransfer struct {
	from, to       uint8
	group          uint8
	until, arrives int64
}

// holds says whether a parcel is such an order.
func (l *delayedTransfer) holds(p *parcel, now int64) bool {
	m := &p.message
	return now < l.until && p.from == l.from && p.group == l.group && !p.engine && m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain
}

// oldParcels is how many messages are kept, to be delivered again much later.
const oldParcels = 32

// defaultDelay is how long a message takes in a scenario.
const defaultDelay = time.Millisecond

// draw draws how the network behaves.
func (n *network) draw(r *rand.Rand, enabled FaultSet) {
	n.delay = n.world.hurried(50*time.Microsecond + time.Duration(r.Int64N(int64(2*time.Millisecond))))
	n.jitter = n.world.hurried(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
	n.tail = time.Duration(r.Int64N(int64(n.world.options.Timing.Detection())))
	rate := func(f Fault, most uint32) uint32 {
		drawn := r.Uint32N(most) + 1
		if !enabled.Has(f) {
			return 0
		}
		n.rough = true
		return drawn
	}
	n.loss, n.duplicate = rate(Loss, 20_000), rate(Duplicate, 20_000)
	n.delayed, n.heavy = rate(Delay, 6_500), rate(HeavyTail, 6_500)
	n.mayBeReordered = enabled.Has(Reorder)
}

// send sends messages of the election to one node. Where nodes have several groups, the messages
// are one packet, with one fate, and arrive in one turn. Where nodes have one group, each message
// goes by itself, which is harder on the group.
func (n *network) send(from *node, to string, batch []rpc.Message) {
	w, seat := n.world, n.world.seatOf(to)
	if seat == memberstate.Nobody {
		return // there is no such node
	}
	if len(w.groups) > 1 {
		n.pack(from, w.at(seat, n.sent), batch)
		return
	}
	for i := range batch {
		n.dispatch(n.enter(from, w.at(seat, n.sent), &batch[i]))
	}
}

// pack sends a batch as one packet, except for messages that have a fate of their own.
func (n *network) pack(from, to *node, batch []rpc.Message) {
	first, last, several := -1, uint32(0), false
	for i := range batch {
		place := n.enter(from, to, &batch[i])
		p := n.pool[place]
		if _, named := n.world.choices.Script[p.address()]; n.word.holds(p, n.world.now) || named && first >= 0 {
			n.dispatch(place)
			continue
		}
		if first < 0 {
			first = int(place)
		} else {
			n.pool[last].rest = place + 1
			several = several || p.group != n.pool[first].group
		}
		last = place
	}
	if several {
		n.world.met(SentTogether)
	}
	if first >= 0 {
		n.dispatch(uint32(first))
	}
}

// next is the next parcel of a packet, or nil.
func (n *network) next(p *parcel) *parcel {
	if p.rest == 0 {
		return nil
	}
	return n.pool[p.rest-1]
}

// enter makes a parcel of a message.
func (n *network) enter(from, to *node, m *rpc.Message) uint32 {
	place := n.room()
	p := n.pool[place]
	p.message, p.beat = *m, nil
	p.from, p.to, p.group = uint8(from.Index), uint8(to.Index), uint8(n.world.place(p.message.Group))
	p.engine, p.slowed, p.rest = false, false, 0
	p.round = from.members[p.group].Tag(m, to.Seat)
	n.count(p)
	return place
}

// ship sends a message of an engine: a ledger, or how far one reaches.
func (n *network) ship(from *member, to uint8, kind rpc.Kind, term memberstate.Term, l ledger.Ledger) {
	place := n.room()
	p := n.pool[place]
	p.message.Kind, p.message.Term, p.ledger, p.beat = kind, term, l, nil
	p.from, p.to, p.group = uint8(from.Index), to, uint8(from.Place)
	p.engine, p.slowed, p.rest = true, false, 0
	n.count(p)
	n.dispatch(place)
}

// room is a place for a parcel. Places are used again, and not cleared before.
func (n *network) room() uint32 {
	if last := len(n.free) - 1; last >= 0 {
		place := n.free[last]
		n.free = n.free[:last]
		return place
	}
	n.pool = append(n.pool, new(parcel))
	return uint32(len(n.pool) - 1)
}

// release frees the places of a parcel and of the rest of its packet.
func (n *network) release(place uint32) {
	for {
		p := n.pool[place]
		if p.engine {
			p.ledger.Before = nil
		}
		n.free = append(n.free, place)
		if p.rest == 0 {
			return
		}
		place, p.rest = p.rest-1, 0
	}
}

// count gives a parcel its number, and keeps a copy if the parcel may be sent again.
func (n *network) count(p *parcel) {
	w := n.world
	s := w.choices.Stream(p.kind(), p.from, p.to)
	s.Count++
	p.number, p.passage = s.Count, -1
	if n.sent++; !p.engine && (n.sent%101 == 0 || p.rare()) {
		n.old[n.kept%oldParcels] = *p // without the rest of its packet
		n.kept++
	}
	if w.scripted {
		n.remember(p)
		w.account.sent(p)
	}
	if w.tracer != nil && !p.engine && p.beat == nil && int(p.group) == w.tracer.group {
		p.passage = w.tracer.posted(p, false)
	}
}

// dispatch decides the fate of a parcel and of the rest of its packet.
func (n *network) dispatch(place uint32) {
	w, p := n.world, n.pool[place]
	l := &n.links[p.from][p.to]
	if l.cuts > 0 {
		n.ended(p, trace.Severed)
		n.release(place)
		return
	}
	if l.damage > 0 && !p.engine && p.beat == nil {
		damage(&p.message.Body, l.damage)
		l.damage = 0
	}
	fate := n.fate(p, l)
	if fate.Second != 0 {
		n.again(p, time.Duration(fate.Second))
	}
	if word := &n.word; word.holds(p, w.now) {
		fate.First = choice.Lost
		if p.to == word.to {
			fate.First = word.arrives - w.now
		}
	}
	if fate.First == choice.Lost {
		n.ended(p, trace.Lost)
		n.release(place)
		return
	}
	if w.calm {
		n.slowest = max(n.slowest, fate.First)
	}
	n.launch(place, time.Duration(fate.First))
}

// ended enters the fate of a packet in the trace.
func (n *network) ended(p *parcel, f trace.Fate) {
	if n.world.tracer == nil {
		return
	}
	for ; p != nil; p = n.next(p) {
		n.world.tracer.ended(p, f)
	}
}

// again sends another copy of a parcel, with the rest of its packet.
func (n *network) again(p *parcel, takes time.Duration) { n.launch(n.copy(p), takes) }

func (n *network) copy(p *parcel) uint32 {
	place := n.room()
	other := n.pool[place]
	*other = *p
	if t := n.world.tracer; t != nil && !p.engine && p.beat == nil && int(p.group) == t.group {
		other.passage = n.world.tracer.posted(p, true)
	}
	if next := n.next(p); next != nil {
		other.rest = n.copy(next) + 1
	}
	return place
}

// fate chooses the fate of a message of a link.
func (n *network) fate(p *parcel, l *link) (fate choice.Value) {
	w := n.world
	normal := int64(n.delay)
	fate.First = normal
	switch {
	case w.choices.Script != nil:
		if given, ok := w.choices.Script[p.address()]; ok {
			fate = given
		}
	default:
		fate = n.drawFate(w.choices.Stream(p.kind(), p.from, p.to))
		if !n.mayBeReordered && fate.First != choice.Lost {
			fate.First = max(fate.First, l.last+1-w.now)
			l.last = w.now + fate.First
		}
	}
	if w.choices.Tape != nil && fate != (choice.Value{First: normal}) {
		w.choices.Tape[p.address()] = fate
	}
	return fate
}

// drawFate draws how the network treats a message: most messages take little time, and some
// very much.
func (n *network) drawFate(s *choice.Stream) (fate choice.Value) {
	w, random := n.world, s.Next()
	fate.First = int64(n.delay) + int64(choice.Below(random, uint64(n.jitter)+1))
	if !n.rough || w.calm {
		return fate
	}
	random = choice.Scramble(random)
	if choice.Chance(random, n.delayed) {
		w.swarm.struck[Delay]++
		fate.First += int64(choice.Below(choice.Scramble(random), uint64(n.tail)+1))
	}
	if choice.Chance(random>>16, n.heavy) {
		w.swarm.struck[HeavyTail]++
		fate.First += int64(heavyTail(n.delay+n.jitter, choice.Scramble(random+1)))
	}
	if choice.Chance(random>>32, n.duplicate) {
		w.swarm.struck[Duplicate]++
		fate.Second = fate.First + int64(n.copyLags(choice.Scramble(random+2)))
	}
	if choice.Chance(random>>48, n.loss) {
		w.swarm.struck[Loss]++
		fate.First = choice.Lost
	}
	return fate
}

// copyLags is how much later than the first copy the second one arrives: in half of the cases soon,
// so that both arrive in the same round; in the others when that round may long be over.
func (n *network) copyLags(random uint64) time.Duration {
	most := n.jitter
	if random&1 == 0 {
		most += n.tail
	}
	return time.Duration(choice.Below(random, uint64(most)+1))
}

// heavyTail is a time that may be very long: every doubling is half as likely.
func heavyTail(from time.Duration, random uint64) time.Duration {
	const mostDoublings = 12
	d := from
	for range mostDoublings {
		if random&1 == 0 {
			break
		}
		d, random = 2*d, random>>1
	}
	return d
}

// launch has a parcel arrive after this time.
func (n *network) launch(place uint32, takes time.Duration) {
	p := n.pool[place]
	takes += n.links[p.from][p.to].slow
	n.world.events.Push(n.world.now+int64(takes), newEvent(parcelArrives, p.to, place))
}

// arrive gives a parcel to its addressee, and frees its place.
func (n *network) arrive(place uint32) {
	w, p := n.world, n.pool[place]
	to, l := &w.nodes[p.to], &n.links[p.from][p.to]
	if to.Sluggish > 0 && !p.slowed {
		p.slowed = true
		n.launch(place, to.Sluggish)
		return
	}
	if n.mayBeReordered && !p.engine {
		if p.number < l.arrived {
			w.swarm.struck[Reorder]++
		}
		l.arrived = max(l.arrived, p.number)
	}
	switch {
	case !to.Alive:
		n.ended(p, trace.Unanswered)
	case l.cuts > 0:
		n.ended(p, trace.Severed)
	case p.engine:
		to.members[p.group].hear(p)
	case p.beat != nil:
		to.takeBeat(p)
	default:
		to.take(p)
	}
	n.release(place)
}

// remember keeps a message that a scenario sends again.
func (n *network) remember(p *parcel) {
	if _, ok := n.wanted[p.address()]; ok {
		kept := *p
		n.wanted[p.address()] = &kept
	}
}
