// A member: one group at a node, with its engine. What the group asks for takes effect
// here, in the simulated world.

package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// member is one group at a node, over all incarnations of the node.
type member struct {
	*node
	place      int // of its group
	electorate protocol.Electorate
	group      protocol.Group
	engine     engine
	shown      protocol.View // by this incarnation
	lease      lease
	order      *protocol.Order // the newest one to hand over, which may be given up
	outcome    *outcome        // of the newest order; nil: there was none

	last    memberstate.State // as it was before the step under way
	stale   protocol.Machine  // and all of it, if it is given an alarm that it has replaced
	number  uint32            // of the alarm that is set
	asked   uint32            // and of the one that the step has asked for
	rings   time.Duration     // when the newest alarm is due, by the node's clock
	early   bool              // the step under way begins with an alarm before that: it has been replaced
	told    bool              // that its group has heard of the append that comes
	tell    func()            // says so
	asks    int               // how often this step has asked for the ledger's end
	hearing []int32           // the places in the trace of messages that no step has taken yet

	asking   asking
	input    protocol.InputKind // of the step under way
	accepted memberstate.Term   // the largest term of an append in its ledger, in any incarnation
	handing  handing
	away     time.Duration // how long it stays away when it is over; 0: it was not told to stop

	said memberstate.HardState // what it has spoken with last, in any incarnation
}

// lease is what a leader holds until a true time.
type lease struct {
	term  memberstate.Term // 0: none
	until int64
}

// mostLedgers is how often a step may ask where the ledger ends: for each term that it
// is about.
const mostLedgers = 4

func (m *member) init(n *node, place int) {
	w, o := n.world, &n.world.options
	m.node, m.place = n, place
	m.tell = func() { m.told = true }
	setup := protocol.Setup{
		Timing: o.Timing, Leases: o.Leases, NoPreVote: o.NoPreVote, NoRanks: o.NoRanks,
		Preferred: names[max(o.Members-o.Preferred, 0):o.Members],
	}
	m.electorate.Members = w.list(n.seat)
	m.electorate.Rules = setup.Rules(m.electorate.Members, n.name())
}

func (m *member) rules() *protocol.Rules { return &m.electorate.Rules }

// durable is what the disk has of the group.
func (m *member) durable() memberstate.HardState { return m.disk.durable[m.place] }

// saves says whether the disk is at work for the group.
func (m *member) saves() bool {
	return slices.ContainsFunc(m.disk.written, func(w written) bool { return w.place == m.place })
}

// start has the group take part in a new incarnation. A member whose store is older than
// its ledger must say so, and not start.
func (m *member) start() {
	m.engine.restart()
	m.join()
}

// join has the group join its node, with what the disk has of it.
func (m *member) join() {
	w := m.world
	if m.away > 0 {
		m.away = 0
		m.switchLease()
	}
	m.electorate = protocol.Electorate{Members: m.electorate.Members, Rules: m.electorate.Rules} // a new process's
	m.group = protocol.NewGroup(&m.electorate, w.groups[m.place], m)
	m.shown = protocol.View{}
	m.lease, m.order, m.handing, m.hearing = lease{}, nil, handing{word: m.handing.word}, m.hearing[:0]
	m.asking.restart()
	w.check.started(m)
	record, known, end := m.stored()
	err := errors.Join(m.intake.Join(&m.group), m.intake.Start(&m.group), m.group.Restore(record, known, end))
	m.group.CountFrom(w.options.Counters)
	w.tracer.starts(m)
	if err != nil {
		m.intake.Over(&m.group)
		m.foundOut(err)
		return
	}
	if hard := m.group.HardState; !known && hard != m.durable() {
		m.disk.replace(m.place, hard) // as hosts save the record of a group that their store did not know
	}
	m.intake.Enter(&m.group, 0, nil)
}

// about is a request that is about the group.
func (m *member) about(kind protocol.RequestKind) protocol.Request {
	return protocol.Request{Subject: protocol.Subject{Kind: kind, Group: &m.group}}
}

// stored is what the disk has of the group, and where the engine's ledger ends.
func (m *member) stored() (r memberstate.Record, known bool, end memberstate.Position) {
	hard := m.durable()
	r = memberstate.Record{Term: hard.Term, Vote: m.electorate.Members.ID(hard.Vote), Promise: hard.Promise, Voters: m.electorate.Members.Digest()}
	return r, hard != memberstate.HardState{}, m.engine.ledgerEnd(r.Term)
}

// leads says whether the member takes itself for the leader.
func (m *member) leads() bool { return m.group.Role == memberstate.Leader && !m.shown.Stopped }

// resume goes on after a pause.
func (m *member) resume() {
	m.handing.delayed(m.world.now)
	m.lapseIfOver()
}

// hears notes which message comes, for those who write down what happens.
func (m *member) hears(passage int32) {
	if t := m.world.tracer; t != nil && t.group == m.place {
		m.hearing = append(m.hearing, passage)
	}
}

// touch has the member looked at when the turn ends.
func (m *member) touch() { m.touched |= 1 << m.place }

// before is when a step of the machine begins. One that is repeated with the ledger's end
// has begun already.
func (m *member) before(in *protocol.Input) {
	m.touch()
	if in.HasLedger {
		return
	}
	w := m.world
	w.steps++
	m.last, m.input = m.group.State, in.Kind
	if m.early = in.Kind == protocol.Ring && m.local() < m.rings; m.early {
		m.stale = m.group.Machine
	}
	w.tracer.steps(m, in)
	if in.Kind == protocol.Receive {
		w.check.hears(m)
	}
	m.untaken = false
}

// after is when it has been taken, and nothing has taken effect yet.
func (m *member) after(x *protocol.Step) {
	if x.Output.NeedLedger {
		return
	}
	w, g := m.world, &m.group
	m.asks = 0
	if x.Output.Alarm.Number != 0 {
		m.asked = x.Output.Alarm.Number
	}
	w.check.stepped(m, &m.last, x)
	w.mix(uint64(w.now)^uint64(m.index)<<56^uint64(m.place)<<48, uint64(g.Term)<<8^uint64(g.Role)<<4^uint64(x.Input.Kind))
	if x.Output.Lost {
		w.withdrew(m)
	}
	w.tracer.stepped(m, x)
	if w.coverage != nil {
		w.coverage.look(m)
	}
}

// says is when a message leaves the group.
func (m *member) says(to memberstate.Set, q *protocol.Message) {
	if !m.alive {
		return
	}
	c := &m.world.check
	c.sends(m, to, q)
	switch q.Kind {
	case rpc.Heartbeat:
		c.beats(m, q)
	case rpc.VoteRequest:
		c.asks(m, q)
	case rpc.TakeLeadership:
		if c.offers(m, q); q.Mark == rpc.Plain && !m.engine.stopped {
			c.violated(invariant.TransferEnds, m, "it has another take over in term %d, and its engine has not paused its writes", q.Term)
		}
	case rpc.HeartbeatResponse, rpc.VoteResponse:
		m.asking.speaks(to)
	default: // it belongs to no round
	}
}

// Show makes the group's state known.
func (m *member) Show(v protocol.View) {
	if m.alive {
		m.shown = v
		m.world.check.published(m, &v)
	}
}

// Hold begins a lease, has it last longer, or ends it.
func (m *member) Hold(until time.Duration) {
	if !m.alive {
		return
	}
	if until == 0 {
		m.lease = lease{}
		return
	}
	m.lease = lease{m.group.Term, m.clock.when(until)}
	m.world.check.leased(m, until)
	m.world.about(max(m.lease.until, m.world.now)-m.world.now, leaseEnds, m, m.incarnation)
}

func (m *member) leaseEnded(incarnation uint32) {
	if m.alive && m.incarnation == incarnation && !m.paused && m.lease.term != 0 && m.lease.until <= m.world.now {
		m.host.At(m.local())
		m.lapseIfOver()
		m.endTurn()
	}
}

// lapseIfOver tells the group when its lease has run out.
func (m *member) lapseIfOver() {
	if m.lease.term == 0 || m.lease.until > m.world.now {
		return
	}
	term := m.lease.term
	m.lease, m.engine.leading = lease{}, 0
	m.world.met(LeaseLapsed)
	m.host.LeaseOver(&m.group, term)
	m.world.check.lapsed(m, term)
}

// Ended is when the group is over: it was stopped, or cannot go on. The process is not started
// again by itself, if that is because its ledger has broken its contract.
func (m *member) Ended(err error) {
	switch _, broken := errors.AsType[*protocol.LedgerError](err); {
	case !m.alive:
	case err != nil && m.engine.lapse.broke: // as it was to
		m.away = 0 // what has failed does not come back by itself
	case broken:
		m.foundOut(err)
		m.gone = true
		m.crash()
	case m.away > 0:
		m.left()
	}
}

// foundOut is when a member sees that its ledger, or its store, is not what it was. That is
// so if an assumption was broken or an engine is careless, and then nobody can demand that
// the members agree.
func (m *member) foundOut(err error) {
	c := &m.world.check
	if m.world.options.Careless == Careful && !c.lawless {
		c.violated(invariant.LegalStep, m, "it refuses its own ledger: %v", err)
	}
	c.told(RolledBack)
	for _, liveness := range []invariant.Invariant{invariant.Converges, invariant.ReturnsQuietly, invariant.HintsInVain, invariant.PreferredLeads} {
		c.excuse(liveness)
	}
}
