// How a node sends beats, and what it does with those that arrive (D15).
//
// A node that leads groups sends one beat an interval to every node that it has offered bonds to. The
// interval is the shortest heartbeat among these groups. All beats of one interval have the same number.
// An answer goes out in the turn that took the beat in.

package protocol

import (
	"math"
	"slices"
	"time"

	"github.com/hustings/hustings/rpc"
)

// beats is what a node remembers of its beats and bonds.
type beats struct {
	edge   BeatEdge                 // with own
	own    uint64                   // this node's incarnation; 0: it exchanges no beats
	anew   uint64                   // how often sessions were begun anew in this process
	met    map[string]met           // with nodes that were forgotten: see forget
	number uint64                   // of the newest beat
	sent   [keptBeats]time.Duration // when the newest ones were sent
	every  time.Duration            // the interval
	due    time.Duration            // when the next one is; 0: there is none
	peers  []*peer                  // whose nodes exchange beats with this one
	awake  places                   // groups that this node leads, with offers, which beat by themselves
	rest   []*cohort                // those that do not
	newest uint32                   // number of the newest cohort
	waits  []*Group                 // groups with bonds whose step has begun to wait in this turn
	write  rpc.Beat
	most   int // leavings that a beat tells of
}

// keptBeats is how many beats' times are kept. A node beats as often as the group with the shortest
// heartbeat needs, and round trips may be longer than a few of these.
const keptBeats = 64

// LimitLeavings bounds the leavings that a beat tells of. Without it they are as many as fit in a packet.
func (n *Node) LimitLeavings(most int) { n.beats.most = most }

// know lists a node among those that exchange beats.
func (b *beats) know(p *peer) {
	if !p.linked {
		p.linked, p.link.own = true, b.own+b.anew
		b.peers = append(b.peers, p)
	}
}

// begin notes that a group with this heartbeat offers a bond to a node, for the first time in its office.
func (b *beats) begin(p *peer, now, heartbeat time.Duration) {
	b.know(p)
	p.offers++
	switch {
	case b.due == 0:
		b.every, b.due = heartbeat, now+heartbeat
	case b.every > heartbeat:
		b.every, b.due = heartbeat, min(b.due, now+heartbeat) // groups that rest rely on the beat that is due
	}
}

// when is when a beat was sent, if that is still known.
func (b *beats) when(number uint64) (at time.Duration, known bool) {
	if b.number-number >= keptBeats {
		return 0, false
	}
	return b.sent[number%keptBeats], true
}

// Beat takes in a beat that has arrived.
func (n *Node) Beat(b *rpc.Beat) {
	p := n.peers.members[b.From]
	switch {
	case b.To != n.self:
		n.edge.Drop(DropMisaddressed, 1)
		return
	case p == nil || n.beats.own == 0:
		n.edge.Drop(DropUnknownGroup, 1)
		return
	case !b.WellFormed():
		n.edge.Drop(DropMalformed, 1)
		return
	}
	if !n.sound(p, b.Session) {
		return
	}
	if !n.meets(p, b.Session) {
		if b.Incarnation < p.link.peer {
			n.edge.Drop(DropOlderProcess, 1)
		}
		p.reply = true // it does not know this process yet, or a later one of its own node
		return
	}
	delete(n.lost, p.id)
	p.spokeAt, p.seenAt, p.deaf = n.now, n.now, b.Deaf
	p.leads, p.extra, p.capacity, p.given = b.Leads, b.Extra, b.Capacity, 0
	n.standingHeard(p, b.Standing)
	p.speaks()
	n.call(p)
	t := p.link.hears(b, n.beats.number, func(l *rpc.Leaving) { n.ended(p, l) })
	p.reply = p.reply || t.reply
	if t.beat {
		p.heardAt = n.now
		n.beatHeard(p)
	}
	if t.allEnd {
		n.unbound(p)
	}
	if t.answered {
		if at, known := n.beats.when(p.link.answered); known {
			p.answeredAt = at
			n.confirm(p)
		}
	}
}

// beatHeard does for followers what a heartbeat does beside their machines.
func (n *Node) beatHeard(p *peer) {
	if len(p.followers) > 0 {
		n.askStalled(p.followers[0])
	}
	n.lookAtObstacle(p.followers)
}

// lookAtObstacle looks at groups that have no alarm, if something of the whole node hangs that keeps them
// from leading.
func (n *Node) lookAtObstacle(quiet places) {
	if n.saves.saving == nil && n.stalled.asker == nil {
		return
	}
	for _, g := range quiet {
		if n.obstructed(g) != Able {
			n.look(g)
		}
	}
}

// watch does what is due for links and cohorts.
func (n *Node) watch() {
	for _, p := range n.beats.peers {
		n.hintSome(p)
		if len(p.followers) > 0 && n.now-p.heardAt >= p.wait {
			p.link.silences++
			n.unbindAll(p)
		}
	}
	if n.beats.due != 0 && n.now >= n.beats.due {
		n.probe()
	}
	for _, c := range slices.Clone(n.beats.rest) {
		switch {
		case c.over:
			n.lapse(c)
		case n.now >= c.losesQuorum(n.now):
			n.wakeAll(c)
		case c.called != 0:
			n.callSome(c)
		case n.beats.due != 0 && n.now >= n.beats.due:
			n.askStalled(c.groups[0])
			n.lookAtObstacle(c.groups)
		}
	}
}

// nextWatch is when watch, a beat or the muster is due; false if none is.
func (n *Node) nextWatch() (due time.Duration, waits bool) {
	sooner := func(at time.Duration) {
		if !waits || at < due {
			due, waits = at, true
		}
	}
	if n.beats.due != 0 {
		sooner(n.beats.due)
	}
	for _, p := range n.beats.peers {
		if len(p.followers) > 0 {
			sooner(p.heardAt + p.wait)
		}
		if p.hint != nil {
			sooner(p.hint.due())
		}
	}
	for _, c := range n.beats.rest {
		if c.over {
			sooner(n.now)
		}
		sooner(c.losesQuorum(n.now))
		if c.called != 0 {
			sooner(c.called + callEvery)
		}
	}
	if at, waits := n.muster.due(); waits {
		sooner(at)
	}
	if at, waits := n.nextMove(); waits {
		sooner(at)
	}
	if n.balancing.every != 0 {
		sooner(n.balancing.due)
	}
	return due, waits
}

// sendBeats sends a beat if one is due, and replies to those that have arrived.
func (n *Node) sendBeats() {
	b, due := &n.beats, n.beats.due != 0 && n.now >= n.beats.due
	if due {
		n.nextBeat()
	}
	n.askHinted()
	for _, p := range b.peers {
		if p.reply || due && (p.offers > 0 || p.leaves() && b.number%countsPresent == 0) {
			n.sendBeat(p)
		}
	}
}

func (n *Node) sendBeat(p *peer) {
	b := &n.beats
	b.write.From, b.write.To = n.self, p.id
	p.link.writes(&b.write, b.number, b.most)
	b.write.Deaf = !p.reply && p.link.peer != 0 && n.silent(p) // a reply shows that it hears
	b.write.Standing, b.write.Leads = n.stands.own, uint32(n.stands.led)+1
	b.write.Extra, b.write.Capacity = uint32(min(n.stands.extra, math.MaxUint32)), n.stands.capacity
	p.reply = false
	b.edge.SendBeat(p.id, &b.write)
}

// nextBeat begins the next beat, unless nobody has an offer any more, or is asked whether it serves again.
func (n *Node) nextBeat() {
	b := &n.beats
	if !slices.ContainsFunc(b.peers, func(p *peer) bool { return p.offers > 0 || p.leaves() }) {
		b.due = 0
		return
	}
	b.due = n.now + b.every
	b.count(n.now)
	n.confirmAlone()
}

// count gives the next beat its number.
func (b *beats) count(now time.Duration) {
	b.number++
	b.sent[b.number%keptBeats] = now
}
