// Heartbeats: a leader that no majority answers does not lead for long, one that a majority
// answers leads on, and its lease rests on a heartbeat for which a majority has made a promise.

package check

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// beats are the rounds of heartbeats of one member.
type beats struct {
	term    memberstate.Term // the term in which it sends them; 0: none
	number  uint32           // the newest, counted over all terms
	first   uint32           // the first of the term
	heard   uint32           // the newest that a majority has answered
	denied  uint32           // the newest that a voter has refused, because it follows another leader of the term
	newest  time.Duration    // when it was sent, by the leader's clock
	credits credits          // for beats of the node
	covered time.Duration    // until when a majority has promised to stand by the leader, by the leader's clock; 0: it has not
	rounds  [keptBeats]beat
}

// beat is a round of heartbeats.
type beat struct {
	number             uint32
	sent               time.Duration // by the leader's clock
	answered, promised voters
	mark               uint32        // by which its messages know it
	until              time.Duration // by the leader's clock, as long after it left as it asks voters to stand by the leader
}

// keptBeats is how many rounds a leader remembers: the same answers must count here.
const keptBeats = 4

// of is which round a message belongs to that leaves now: the newest one, or the one before. If a process goes on whose intervals are
// changed at the same moment, two rounds begin in one turn, and the messages of both leave when it ends.
func (b *beats) of(m *rpc.Message) uint32 {
	newest, before := &b.rounds[b.number%keptBeats], &b.rounds[(b.number-1)%keptBeats]
	if before.number == b.number-1 && before.sent == newest.sent && before.mark == m.Round && newest.mark != m.Round {
		return before.number
	}
	return b.number
}

// beats checks a round of heartbeats that begins. It counts beats, not time, because a process that
// stood still has not sent any. One beat may be sent early, to members that were not ready.
func (c *Checker) beats(n *Member, m *protocol.Message, local time.Duration) {
	b := &n.asking.beats
	if b.term != m.Term {
		c.leads(n, m.Term)
		b.term, b.first, b.heard, b.covered, b.credits = m.Term, b.number+1, b.number, 0, credits{}
	}
	b.number, b.newest = b.number+1, local
	self := voters(0).with(n.Node.Index)
	b.rounds[b.number%keptBeats] = beat{b.number, local, self, self, m.Round, local + m.Lease}
	if c.Majority() == 1 {
		b.heard = b.number
	}
	c.Counts[invariant.LeaderHeard]++
	if late := b.number - b.heard; late > uint32(c.Timing.Leak)+1 {
		c.Violated(invariant.LeaderHeard, n, "it leads term %d although no quorum has answered its last %d heartbeats", m.Term, late)
	}
}

// givesUp checks a leader whose alarm rings and that leads no more. It must not stand down unless no
// majority has answered for a detection time, or a voter has refused the newest beat, or it was told
// to resign, or has tried to hand over, or something keeps it from leading. If messages were corrupted, an answer may have been one to no
// beat. If the numbers of beats begin again, the member counts a beat 0 that is never sent, and
// remembers one beat less than at other times.
func (c *Checker) givesUp(n *Member, term memberstate.Term) {
	b, h := &n.asking.beats, &n.handing
	if b.term != term || b.denied == b.number || h.resigning == term || h.last >= b.first || c.Ambiguous || c.ailed(n, term) {
		return
	}
	c.Counts[invariant.LeaderHeard]++
	least := uint32(c.Timing.Leak)
	if b.credits != (credits{}) && n.Local-b.lastHeard() >= c.leastDetection() {
		return // it has left its heartbeats to its node for some of the time
	}
	if silent := b.number - b.heard; silent < least {
		c.Violated(invariant.LeaderHeard, n, "it gives up term %d although a quorum has answered all heartbeats except the last %d", term, silent)
	}
}

// lastHeard is when the newest heartbeat was sent that a majority has answered, or the newest beat of the
// node while the leader left its heartbeats to it.
func (b *beats) lastHeard() time.Duration {
	if r := b.rounds[b.heard%keptBeats]; r.number == b.heard {
		return max(r.sent, b.credits.heard)
	}
	return b.credits.heard
}

// LedgerWithin is how long a leader may wait for LedgerEnd, in detection times. Others take it for gone after one,
// because it sends no heartbeats meanwhile; its clock or its node may be slow.
const LedgerWithin = 3

// LedgerOverdue checks a member that has perhaps been waiting for LedgerEnd for as long.
func (c *Checker) LedgerOverdue(n *Member) {
	since := max(n.Engine.Asking, n.asking.awake)
	if n.Engine.Asking == 0 || *c.now-since < int64(LedgerWithin*c.Detection()) || n.Node.Paused || n.Node.Sluggish > 0 {
		return
	}
	c.Counts[invariant.LeaderHeard]++
	if n.Shown.Role == memberstate.Leader && !n.Shown.Stopped {
		c.Violated(invariant.LeaderHeard, n, "it shows that it leads term %d, but has waited for LedgerEnd since %d ns and sends no heartbeats", n.Shown.Term, *c.now-since)
	}
}

// followed notes the answer to a heartbeat, before the step that takes it.
func (c *Checker) followed(n *Member, p arrival) {
	b, m := &n.asking.beats, p.body
	if m.Result == rpc.InconsistentLeader {
		b.denied = max(b.denied, p.round)
	}
	r := &b.rounds[p.round%keptBeats]
	if r.number != p.round || p.round < b.first || m.Result != rpc.Success || !c.votes(int(p.from)) {
		return
	}
	majority := c.Majority()
	if r.answered = r.answered.with(int(p.from)); r.answered.count() >= majority {
		b.heard = max(b.heard, p.round)
	}
	if !m.Promised {
		return
	}
	if r.promised = r.promised.with(int(p.from)); r.promised.count() >= majority {
		b.covered = max(b.covered, r.until)
	}
}
