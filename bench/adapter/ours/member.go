// Package ours drives this library's node in a virtual world, as a Host does in the real one.
package ours

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/hustings/hustings/bench/virtual"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Message is a message between our members.
type Message = rpc.Message

// World is the world of our members.
type World = virtual.World[Message]

// Variant is a configuration of a group.
type Variant struct {
	Timing         elector.Timing
	PreVote, Ranks bool
}

// Default returns a variant with all rules on, a heartbeat of a tenth of the detection time, and
// the other intervals in proportion to elector.DefaultTiming.
func Default(detection time.Duration) Variant {
	t := elector.DefaultTiming()
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * float64(detection) / float64(t.Detection()))
	}
	return Variant{PreVote: true, Ranks: true, Timing: elector.Timing{
		Heartbeat: detection / 10, Leak: 10,
		MinVoteWait: scale(t.MinVoteWait), MaxVoteWait: scale(t.MaxVoteWait), RoundTimeout: scale(t.RoundTimeout), DriftMargin: scale(t.DriftMargin),
	}}
}

// Found makes a group. The ledger of behind, if that is not Nobody, lacks an entry.
func (v Variant) Found(w *World, members, behind int) []virtual.Member[Message] {
	names := make([]string, members)
	for i := range names {
		names[i] = strconv.Itoa(100 + i) // of equal length, so that they sort by their numbers
	}
	list, err := memberstate.NewMembers(memberstate.Voters(names...))
	if err != nil {
		w.Err = err
		return nil
	}
	term := memberstate.Term(1 + w.Random.IntN(members)) // which decides the ranks
	setup := protocol.Setup{Timing: v.Timing, NoPreVote: !v.PreVote, NoRanks: !v.Ranks}
	group := make([]virtual.Member[Message], members)
	for i := range group {
		m := &member{
			world: w, index: i, names: names, ledger: memberstate.Position{Term: 1, Index: 2},
			kept:       memberstate.Record{Term: term, Voters: list.Digest()},
			electorate: protocol.Electorate{Members: list, Rules: setup.Rules(list, names[i])},
		}
		if i == behind {
			m.ledger.Index--
		}
		group[i] = m
	}
	return group
}

// member is one member of the group.
type member struct {
	world      *World
	index      int
	names      []string
	electorate protocol.Electorate
	kept       memberstate.Record // on its disk
	ledger     memberstate.Position

	node   *protocol.Node
	group  protocol.Group
	saving []memberstate.Record // being saved
	said   said

	measured time.Duration // the round trip in its last heartbeat
}

// said is the newest round whose requests the member has begun to send.
type said struct {
	kind  rpc.Kind
	round uint32
	at    time.Duration
}

func (m *member) Start() {
	m.node = protocol.NewNode(m.names[m.index], m)
	m.node.Inspect(m)
	m.group = protocol.NewGroup(&m.electorate, "g", m)
	if m.world.Err = m.group.Restore(m.kept, true, m.ledger); m.world.Err != nil {
		return
	}
	m.turn(func() { m.node.Start(&m.group) })
}

func (m *member) Stand() {
	m.turn(func() { m.node.Give(&m.group, &protocol.Input{Kind: protocol.Stand}, nil) })
}

func (m *member) Transfer(to int) { m.obey(&protocol.Order{To: m.names[to]}) }

func (m *member) Resign() { m.obey(&protocol.Order{Resign: true}) }

func (m *member) obey(o *protocol.Order) {
	o.Settled = func(error) {}
	m.turn(func() { m.node.Obey(&m.group, o) })
}

func (m *member) Lost(peer int) {
	m.turn(func() { m.node.PeerLost(m.names[peer]) })
}

func (m *member) Ring() { m.turn(func() {}) }

func (m *member) Receive(_ int, q *Message) { m.turn(func() { m.node.Deliver(&m.group, q) }) }

// Saved goes on after a save.
func (m *member) Saved() { m.turn(m.saved) }

func (m *member) saved() {
	m.kept, m.saving = m.saving[0], nil
	m.node.Saved(nil)
}

// turn gives the node an input in a turn of its own. If disks take no time, it also ends the
// saves.
func (m *member) turn(tell func()) {
	m.node.At(1 + m.world.Now()) // a node's clock does not begin at zero
	tell()
	m.node.EndTurn()
	for m.saving != nil {
		if m.world.Saves(m.index) {
			return
		}
		m.saved()
		m.node.EndTurn()
	}
	if due, waits := m.node.Next(); waits {
		m.world.Arm(m.index, due-1-m.world.Now())
	}
}

// Draw draws the time of an alarm.
func (m *member) Draw(_ *protocol.Group, a protocol.Alarm) time.Duration {
	return draw(m.world.Random, a.Min, a.Max)
}

func draw(r *rand.Rand, low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// Send sends a batch to one member.
func (m *member) Send(to string, batch []rpc.Message) {
	for i := range batch {
		m.world.Send(m.index, slices.Index(m.names, to), &batch[i])
	}
}

// Save begins to save a batch.
func (m *member) Save(batch []memberstate.Record) { m.saving = batch }

// AskLedger answers at once.
func (m *member) AskLedger(memberstate.Term) { m.node.LedgerEnd(&m.group, m.ledger, 0, nil) }

// Groups returns the only group.
func (m *member) AskStalled(time.Duration) bool { return false }
func (m *member) Progress(protocol.Progress)    {}
func (m *member) Groups() []*protocol.Group     { return []*protocol.Group{&m.group} }

// Show reports the leader that this member knows.
func (m *member) Show(v protocol.View) {
	leader := virtual.Nobody
	if v.Leader != memberstate.Nobody {
		leader = int(v.Leader) - 1
	}
	m.world.Observer.Knows(m.index, uint64(v.Term), leader)
}

// EndLead returns at once, because there is no Lead.
func (m *member) EndLead(term memberstate.Term) { m.node.LeadReturned(&m.group, term, false, nil) }

// Pause ends at once.
func (m *member) Pause(_ memberstate.Term, number uint32) {
	m.world.Observer.Pauses(m.index)
	m.node.PauseEnded(&m.group, number, nil)
}

// Ended notes why the member cannot go on.
func (m *member) Ended(err error) { m.world.Err = err }

// Says counts rounds: a request to several members is one.
func (m *member) Says(_ *protocol.Group, _ memberstate.Set, q *protocol.Message) {
	now := said{q.Kind, q.Round, m.world.Now()}
	if now == m.said {
		return
	}
	switch m.said = now; q.Kind {
	case rpc.Heartbeat:
		m.measured = q.RoundTrip
		m.world.Observer.Beats(m.index)
	case rpc.VoteRequest:
		m.world.Observer.Asks(m.index, uint64(q.Term), q.Mark == rpc.PreVote)
	default: // the others are not counted
	}
}

// The other methods do nothing.

func (m *member) Before(*protocol.Group, *protocol.Input)                       {}
func (m *member) After(*protocol.Group, *protocol.Step)                         {}
func (m *member) Lead(memberstate.Term)                                         {}
func (m *member) Hold(time.Duration)                                            {}
func (m *member) Share(uint32)                                                  {}
func (m *member) Resume()                                                       {}
func (m *member) Vouched() bool                                                 { return false }
func (m *member) AskHealth() bool                                               { return false }
func (m *member) Obey(*protocol.Rules)                                          {}
func (m *member) Drop(elector.Drop, int)                                        {}
func (m *member) Judge(*protocol.Group, rpc.Mark, elector.Judgement)            {}
func (m *member) Voting(*protocol.Group, *protocol.Message)                     {}
func (m *member) QuorumHeard(*protocol.Group, time.Duration)                    {}
func (m *member) Rests(*protocol.Group, uint32)                                 {}
func (m *member) CohortHeard(uint32, time.Duration)                             {}
func (m *member) NotTransferred(*protocol.Group, *elector.TransferError, bool)  {}
func (m *member) Failed(*protocol.Group, error)                                 {}
func (m *member) LeadFailed(*protocol.Group, memberstate.Term, error)           {}
func (m *member) TooFarApart(*protocol.Group, string, memberstate.Term, uint64) {}
