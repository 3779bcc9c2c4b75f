// One process: a shipped node, and all that it asks of the world around it.
//
// Engines do at once what they are asked to do, and so does the disk, unless a drop-out lets them wait.

package nodes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// process is a process with its disk. The node is made anew when it restarts.
type process struct {
	bounds *Bounds
	index  int
	ids    []string

	node    *protocol.Node
	members []*member
	disk    disk
	watch   watch
	shared  map[uint32]*shared // leases, by their numbers

	now    time.Duration
	batch  []memberstate.Record // that is to be saved
	sent   []parcel             // in this step
	defect *defect
}

// disk is what outlives the process, and what the checks remember of it.
type disk struct {
	starts  uint64
	records [mostGroups]memberstate.Record
	votes   [mostGroups][mostTerms + 2]time.Duration // when the vote of a term was given; 0: it was not
	slow    bool                                     // it saves nothing now
}

// member is the process's part of a group, and its engine.
type member struct {
	process *process
	place   int
	group   *protocol.Group
	hold    protocol.Expiry // its own lease; 0: there is none
	held    memberstate.Term
	shares  *shared // the lease that it shares, too; nil: none
	beat    uint32  // the newest that was sent
	asked   bool    // a step waits for the end of the ledger
	slow    bool    // the engine does not say where its ledger ends
	unable  bool    // the member is not to lead
	order   *protocol.Order
	ending  bool // the group is to end, ...
	over    bool // ... and nothing of it is left
}

// defect is a violation.
type defect struct {
	invariant invariant.Invariant
	what      string
}

func names(members int) (ids []string) {
	for i := range members {
		ids = append(ids, fmt.Sprintf("n%d", i))
	}
	return ids
}

var groupNames = [mostGroups]string{"g", "h"}

func newProcess(b *Bounds, index int) *process {
	return &process{bounds: b, index: index, ids: names(b.Members)}
}

// start starts the process with what its disk has kept.
func (p *process) start() {
	p.disk.starts++
	p.disk.slow, p.batch, p.members, p.watch, p.shared = false, nil, nil, watch{}, nil
	p.node = protocol.NewNode(p.ids[p.index], p)
	p.node.Exchange(p.disk.starts, 0, p)
	if most := p.bounds.Leavings; most > 0 {
		p.node.LimitLeavings(most)
	}
	p.node.At(p.now)
	electorate := p.electorate()
	for place := range p.bounds.Groups {
		m := &member{process: p, place: place}
		p.members = append(p.members, m)
		m.join(electorate)
	}
}

// electorate is shared by the groups.
func (p *process) electorate() *protocol.Electorate {
	members, err := memberstate.NewMembers(memberstate.Voters(p.ids...))
	if err != nil {
		panic(err) // the names are different, and short
	}
	setup := protocol.Setup{Timing: timing, Leases: true, NoPreVote: true, NoRanks: true}
	return &protocol.Electorate{Members: members, Rules: setup.Rules(members, p.ids[p.index])}
}

// join has the group take part.
func (m *member) join(e *protocol.Electorate) {
	g := protocol.NewGroup(e, groupNames[m.place], m)
	*m = member{process: m.process, place: m.place, group: &g}
	record := &m.process.disk.records[m.place]
	known := record.Voters != 0
	if err := g.Restore(*record, known, memberstate.Position{}); err != nil {
		m.process.violated(invariant.LegalStep, "it cannot restart: %v", err)
		return
	}
	*record = g.Record()
	m.process.node.Start(&g)
}

// endTurn ends a turn. What is saved at once needs another one.
func (p *process) endTurn() {
	for p.node.EndTurn(); len(p.batch) > 0 && !p.disk.slow; p.node.EndTurn() {
		p.saved()
	}
}

// saved tells the node that the batch is durable.
func (p *process) saved() {
	for _, r := range p.batch {
		place := slices.Index(groupNames[:], r.Group)
		if place < 0 { // no disk is put back here, so no process is outdated
			p.violated(invariant.LegalStep, "it takes its store for outdated")
			continue
		}
		d := &p.disk
		d.records[place] = r
		if at := &d.votes[place][min(r.Term, mostTerms+1)]; r.Vote != "" && *at == 0 {
			*at = p.now
		}
	}
	p.batch = nil
	p.node.Saved(nil)
}

func (p *process) violated(i invariant.Invariant, format string, args ...any) {
	if p.defect == nil {
		p.defect = &defect{i, fmt.Sprintf("n%d: ", p.index) + fmt.Sprintf(format, args...)}
	}
}

// seat is a process's seat in every group.
func seat(index int) memberstate.Seat { return memberstate.Seat(index + 1) }

// Draw lets waits of candidates end with the moment, or at once if they may. All others are exact.
func (p *process) Draw(g *protocol.Group, a protocol.Alarm) time.Duration {
	if number, _, _ := g.Open(); g.Role == memberstate.Candidate && (number != 0 || a.Max > a.Min) {
		return min(a.Min, 1)
	}
	return a.Min
}

// Send puts messages in flight. Nobody has measured how long they take.
func (p *process) Send(to string, batch []rpc.Message) {
	for _, m := range batch {
		if m.Kind == rpc.TakeLeadershipResponse { // it would only be refused: see waits
			continue
		}
		if m.RoundTrip = 0; m.Kind == rpc.Heartbeat {
			p.members[slices.Index(groupNames[:], m.Group)].beat = m.Round
		}
		p.sent = append(p.sent, parcel{from: p.index, to: slices.Index(p.ids, to), message: m})
	}
}

// SendBeat puts a beat in flight.
func (p *process) SendBeat(to string, b *rpc.Beat) {
	at := slices.Index(p.ids, to)
	own := b.Clone()
	own.Leads = 0 // nobody balances
	if p.bounds.silent {
		own.Departed, own.Leavings = 0, nil
	}
	p.sent = append(p.sent, parcel{from: p.index, to: at, beat: own, said: p.says(at, b)})
}

// Save begins to save a batch.
func (p *process) Save(batch []memberstate.Record) { p.batch = slices.Clone(batch) }

// AskStalled says that there is nobody to ask.
func (p *process) AskStalled(time.Duration) bool { return false }
func (p *process) Progress(protocol.Progress)    {}

// Groups are those that take part.
func (p *process) Groups() (all []*protocol.Group) {
	for _, m := range p.members {
		all = append(all, m.group)
	}
	return all
}

// Group is the group of this name.
func (p *process) Group(name string) *protocol.Group {
	for _, m := range p.members {
		if m.group.Name() == name && m.running() {
			return m.group
		}
	}
	return nil
}

// Failed is called when a group finds a defect of its own.
func (p *process) Failed(_ *protocol.Group, err error) {
	p.violated(invariant.LegalStep, "%v", err)
}

// Nobody counts what has happened.
func (p *process) Drop(protocol.Drop, int)                                       {}
func (p *process) Judge(*protocol.Group, rpc.Mark, protocol.Judgement)           {}
func (p *process) Voting(*protocol.Group, *protocol.Message)                     {}
func (p *process) QuorumHeard(*protocol.Group, time.Duration)                    {}
func (p *process) Rests(*protocol.Group, uint32)                                 {}
func (p *process) CohortHeard(uint32, time.Duration)                             {}
func (p *process) NotTransferred(*protocol.Group, *protocol.TransferError, bool) {}
func (p *process) LeadFailed(*protocol.Group, memberstate.Term, error)           {}
func (p *process) TooFarApart(*protocol.Group, string, memberstate.Term, uint64) {}
func (p *process) OlderProcess(string, uint64, uint64)                           {}

// Outdated is called if a process finds that its disk has forgotten something.
func (p *process) Outdated(err error) { p.violated(invariant.LegalStep, "%v", err) }

// AskLedger asks for the end of a ledger, which is always empty.
func (m *member) AskLedger(memberstate.Term) {
	if m.asked = m.slow; !m.slow {
		m.process.node.LedgerEnd(m.group, memberstate.Position{}, 0, nil)
	}
}

// EndLead ends Lead, which returns at once.
func (m *member) EndLead(term memberstate.Term) {
	m.process.node.LeadReturned(m.group, term, false, nil)
}

// Pause has nothing to pause.
func (m *member) Pause(_ memberstate.Term, number uint32) {
	m.process.node.PauseEnded(m.group, number, nil)
}

// Hold remembers the lease.
func (m *member) Hold(until time.Duration) {
	m.extends(until)
	had := m.lease()
	if m.hold, m.held, m.shares = protocol.Expiry(until), m.group.State().Term, nil; until == 0 {
		m.held = 0
	} else if had != 0 {
		m.hold = had.Extended(until, m.process.now)
	}
}

// shared is a lease that groups share.
type shared struct {
	number uint32
	until  protocol.Expiry
}

// HoldShared remembers a lease that groups share.
func (p *process) HoldShared(number uint32, until time.Duration) {
	s := p.shared[number]
	switch {
	case until == 0:
		delete(p.shared, number)
		return
	case s == nil:
		if p.shared == nil {
			p.shared = make(map[uint32]*shared)
		}
		p.shared[number] = &shared{number, protocol.Expiry(until)}
		return
	}
	for _, m := range p.members {
		if m.shares == s {
			m.extends(until)
		}
	}
	s.until = s.until.Extended(until, p.now)
}

// Share remembers that the member's lease is shared, too.
func (m *member) Share(number uint32) {
	s := m.process.shared[number]
	m.extends(time.Duration(m.hold.With(s.until)))
	m.shares = s
}

// lease is when the member's lease ends; 0: it has none.
func (m *member) lease() protocol.Expiry {
	if m.shares == nil {
		return m.hold
	}
	return m.hold.With(m.shares.until)
}

// extends checks a lease that is to last until a time. An engine may have acted on the end that it had.
func (m *member) extends(until time.Duration) {
	switch had := m.lease(); {
	case until == 0 || had == 0:
	case until < time.Duration(had):
		m.process.violated(invariant.OneLease, "a lease of term %d is taken back", m.held)
	case until > time.Duration(had) && !had.Holds(m.process.now):
		m.process.violated(invariant.OneLease, "a lease of term %d is extended after it has run out", m.held)
	}
}

// Ended notes that nothing of the group is left.
func (m *member) Ended(error) { m.over = true }

func (m *member) Show(protocol.View)    {}
func (m *member) Lead(memberstate.Term) {}
func (m *member) Resume()               {}
func (m *member) Vouched() bool         { return false }
func (m *member) AskHealth() bool       { return false }
func (m *member) Obey(*protocol.Rules)  {}

// running says whether the group takes part.
func (m *member) running() bool { return !m.over && !m.ending }

// errWithdrawn is why orders are withdrawn.
var errWithdrawn = errors.New("it is withdrawn")
