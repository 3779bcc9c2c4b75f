// A member: one group at a node, with its engine. What the group asks for is done
// here, in the simulated world.

package simulation

import (
	"errors"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// member is one group at a node, over all incarnations of the node.
type member struct {
	*node
	check.Member                     // what the checks see of it
	electorate   protocol.Electorate // with which its group joins the next time
	group        protocol.Group
	engine       engine
	order        *protocol.Order // the newest one to hand over, which may be given up
	outcome      *check.Outcome  // of the newest order; nil if there was none
	held         held

	last    memberstate.State // before the step under way
	asked   uint32            // the number of the alarm that the step has asked for
	rings   time.Duration     // when the newest alarm is due, by the node's clock
	told    bool              // its group has heard of the append that comes
	tell    func()            // sets told
	asks    int               // how often this step has asked for the ledger's end
	hearing []int32           // the places in the trace of messages that no step has taken yet

	away time.Duration // how long the group stays away once it has stopped; 0: it was not asked to stop
}

// mostLedgers is how often a step may ask where the ledger ends: once for each term that it
// concerns.
const mostLedgers = 4

func (m *member) init(n *node, place int) {
	w, o := n.world, &n.world.options
	m.node = n
	m.Member = check.Member{
		Node: &n.Node, Place: place, Rules: &m.electorate.Rules, Group: &m.group, Durable: &n.disk.Durable[place], Engine: &m.engine.Engine,
	}
	w.check.Add(&m.Member)
	m.tell = func() { m.told = true }
	setup := protocol.Setup{
		Timing: o.Timing, Leases: o.Leases, NoPreVote: o.NoPreVote, NoRanks: o.NoRanks, Vouch: o.Vouch,
		Preferred: names[max(o.Members-o.Preferred, 0):o.Members],
	}
	m.electorate.Members = w.list(n.Seat)
	m.electorate.Rules = setup.Rules(m.electorate.Members, n.name())
}

// rules are those that the member obeys.
func (m *member) rules() *protocol.Rules { return m.Rules }

// Obey notes that they have changed.
func (m *member) Obey(r *protocol.Rules) {
	m.Rules = r
	m.world.check.Retimed(&r.Timing)
}

// durable is what the disk has of the group.
func (m *member) durable() memberstate.HardState { return m.disk.Durable[m.Place] }

// saves says whether the disk is saving something of the group.
func (m *member) saves() bool {
	return m.disk.Writes(m.Place)
}

// start has the group take part in a new incarnation. A member must refuse to start if
// its store is older than its ledger.
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
	shared := m.shared.Share(m.electorate)
	m.Rules = &shared.Rules
	m.group = protocol.NewGroup(shared, w.groups[m.Place], m)
	m.group.Weigh(w.weight(m.Place))
	m.Shown = protocol.View{}
	m.dropLease()
	m.order, m.hearing = nil, m.hearing[:0]
	m.engine.Mute, m.engine.Unwell, m.engine.Barred = 0, false, false
	w.check.Started(&m.Member)
	record, known, end := m.stored()
	err := errors.Join(m.intake.Join(&m.group), m.intake.Start(&m.group), m.group.Restore(record, known, end))
	w.tracer.starts(m)
	if err != nil {
		m.over()
		m.foundOut(err)
		return
	}
	m.group.CountFrom(w.options.Counters)
	if hard := m.group.State().HardState; !known && hard != m.durable() {
		m.disk.Replace(m.Place, hard) // as hosts save the record of a group that their store did not know
	}
	m.intake.Enter(&m.group, 0, nil)
}

// about is a request that concerns the group.
func (m *member) about(kind protocol.RequestKind) protocol.Request {
	return protocol.Request{Subject: protocol.Subject{Kind: kind, Group: &m.group}}
}

// stored is what the disk has of the group, and where the engine's ledger ends.
func (m *member) stored() (r memberstate.Record, known bool, end memberstate.Position) {
	hard := m.durable()
	r = memberstate.Record{Term: hard.Term, Vote: m.electorate.Members.ID(hard.Vote), Promise: hard.Promise, Voters: m.electorate.Members.Digest()}
	return r, hard != memberstate.HardState{}, m.engine.ledgerEnd(r.Term)
}

// hears notes for the trace which message arrives.
func (m *member) hears(passage int32) {
	if t := m.world.tracer; t != nil && t.group == m.Place {
		m.hearing = append(m.hearing, passage)
	}
}

// touch has the member checked when the turn ends.
func (m *member) touch() { m.touched |= 1 << m.Place }

// before is called when a step of the machine begins. A step that is repeated with the end of the
// ledger has begun already.
func (m *member) before(in *protocol.Input) {
	m.touch()
	if in.HasLedger {
		return
	}
	w := m.world
	w.steps++
	m.last, m.Input, m.Local, m.Detects = m.group.State(), in.Kind, m.local(), m.rules().Timing.Detection()
	if m.Early = in.Kind == protocol.Ring && m.Local < m.rings; m.Early {
		m.Stale = m.group.Machine
	}
	w.tracer.steps(m, in)
	switch {
	case in.Kind != protocol.Receive:
	case m.untaken:
		m.Received = w.now
		w.check.Receives(&m.node.Node)
		w.check.Hears(&m.Member, m.arriving.round, m.arriving.from, &m.arriving.message.Body)
	default:
		w.check.HearsWaiting(&m.Member)
	}
	m.untaken = false
}

// after is called when the step has been taken, before anything that it asks for is done.
func (m *member) after(x *protocol.Step) {
	if x.Output.NeedLedger {
		return
	}
	w, g := m.world, &m.group
	m.asks = 0
	if x.Output.Alarm.Number != 0 {
		m.asked = x.Output.Alarm.Number
	}
	w.check.Stepped(&m.Member, &m.last, x, m.local())
	w.mix(uint64(w.now)^uint64(m.Index)<<56^uint64(m.Place)<<48, uint64(g.Term)<<8^uint64(g.Role)<<4^uint64(x.Input.Kind))
	if x.Output.Lost {
		w.withdrew(m)
	}
	w.tracer.stepped(m, x)
	m.cover()
}

// says is called when a message leaves the group.
func (m *member) says(to memberstate.Set, q *protocol.Message) {
	if !m.Alive {
		return
	}
	m.world.check.Says(&m.Member, to, q, m.local())
}

// Show makes the group's state known.
func (m *member) Show(v protocol.View) {
	if m.Alive {
		m.Shown = v
		m.world.check.Published(&m.Member, &v, m.local())
	}
}

// Ended is called when the group has ended, because it was stopped or cannot go on. If its ledger
// has broken its contract, or its store is outdated, the process is not started again.
func (m *member) Ended(err error) {
	_, broken := errors.AsType[*protocol.LedgerError](err)
	outdated := errors.Is(err, memberstate.ErrOutdated)
	switch {
	case !m.Alive:
	case err != nil && m.engine.lapse.broke: // as was to be expected
		m.away = 0 // a group that has failed does not come back by itself
	case broken || outdated:
		m.foundOut(err)
		m.gone = true
		m.crash()
	case m.away > 0:
		m.left()
	}
}

// needsAll are the invariants that need all members that were healed.
var needsAll = []invariant.Invariant{
	invariant.Converges, invariant.ReturnsQuietly, invariant.HintsInVain, invariant.ChangesQuietly, invariant.PreferredLeads, invariant.AbleLeads,
	invariant.LeadsAllTheSame, invariant.DrainEnds, invariant.GetsEven, invariant.OneTable, invariant.InTime,
}

// foundOut is called when a member finds that its ledger or its store is not what it was. This must
// come from a broken assumption or a careless engine. The members need not agree on a leader then.
func (m *member) foundOut(err error) {
	w, c := m.world, &m.world.check
	if w.options.Careless == Careful && !c.Lawless() {
		c.Violated(invariant.LegalStep, &m.Member, "it refuses its own ledger or store: %v", err)
	}
	if w.tells(RolledBack); w.twin != nil {
		w.tells(Twin)
	}
	for _, i := range needsAll {
		c.Excuse(i)
	}
}

// cover notes the state that the group is in now, if a search counts such states.
func (m *member) cover() {
	if w := m.world; w.coverage != nil {
		w.coverage.Look(m.Place, m.Index, len(w.nodes), m.code(), m.group.State().Term)
	}
}

// phase is how far a handover of the member has come.
func (m *member) phase() protocol.HandoverPhase {
	s := m.group.Peek()
	return s.Handover().Phase
}

// code is what matters of a member for a state: its role, whether it runs, and whether it voted for
// and follows itself, another member or nobody. Coverage adds the term.
func (m *member) code() uint16 {
	g := m.group.State()
	whom := func(s memberstate.Seat) uint16 {
		switch s {
		case memberstate.Nobody:
			return 0
		case m.Seat:
			return 1
		default:
			return 2
		}
	}
	code := uint16(g.Role)<<4 | whom(g.Vote)<<2 | whom(g.Leader)
	if code <<= 1; m.Alive {
		code |= 1
	}
	return code
}
