// Package ours drives the machine of this module in a virtual world, as a Host does in
// a real one: the same Execution carries out what a step asks for.
package ours

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/bench/virtual"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Message is what members of ours exchange.
type Message = protocol.Message

// World is theirs.
type World = virtual.World[Message]

// Variant is a way to configure a group.
type Variant struct {
	Timing         elector.Timing
	PreVote, Ranks bool
}

// Default has everything on, with a heartbeat of a tenth of the detection time and the
// other intervals in proportion to elector.DefaultTiming.
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
	var voters memberstate.Set
	for i := range members {
		voters = voters.With(seat(i))
	}
	term := memberstate.Term(1 + w.Random.IntN(members)) // of which depends whose turn it is
	group := make([]virtual.Member[Message], members)
	for i := range group {
		m := &member{world: w, index: i, hard: memberstate.HardState{Term: term}, ledger: memberstate.Position{Term: 1, Index: 2}}
		m.rules = protocol.Rules{Self: seat(i), Voters: voters, All: voters, Timing: v.Timing, PreVote: v.PreVote, Ranks: v.Ranks}
		if i == behind {
			m.ledger.Index--
		}
		group[i] = m
	}
	return group
}

func seat(member int) memberstate.Seat { return memberstate.Seat(member + 1) }

// member is one member of the group.
type member struct {
	world  *World
	index  int
	rules  protocol.Rules
	hard   memberstate.HardState // on its disk
	ledger memberstate.Position

	machine protocol.Machine
	step    protocol.Execution
	from    int    // whom the step under way answers
	alarm   uint32 // its number
	sent    protocol.SentTimes
}

func (m *member) Start() {
	m.machine = protocol.NewMachine(&m.rules, m.hard)
	m.sent = protocol.SentTimes{}
	m.give(protocol.Input{Kind: protocol.Start})
}

func (m *member) Stand() { m.give(protocol.Input{Kind: protocol.Stand}) }

func (m *member) Transfer(to int) {
	m.give(protocol.Input{Kind: protocol.Transfer, Seat: seat(to)})
}

func (m *member) Resign() { m.give(protocol.Input{Kind: protocol.Resign}) }

func (m *member) Lost(peer int) {
	m.give(protocol.Input{Kind: protocol.PeerLost, Seat: seat(peer)})
}

func (m *member) Ring() { m.give(protocol.Input{Kind: protocol.Ring, Number: m.alarm}) }

func (m *member) Receive(from int, q *Message) {
	m.from = from
	m.step.Input = protocol.Input{Kind: protocol.Receive, Message: *q, RoundTrip: m.sent.RoundTrip(&m.machine, &q.Body, m.world.Now())}
	m.carryOut()
}

func (m *member) give(in protocol.Input) {
	m.step.Input = in
	m.carryOut()
}

// carryOut takes one input as far as it goes: the ledger does not keep it waiting.
func (m *member) carryOut() {
	x := &m.step
	need := x.Begin(&m.machine, &m.rules, m)
	for need == protocol.NeedLedger {
		need = x.Ledger(&m.machine, &m.rules, m, m.ledger)
	}
	switch {
	case need != protocol.NeedSave:
		m.engine()
	case !m.world.Saves(m.index):
		m.Saved()
	}
}

// Saved goes on after a save.
func (m *member) Saved() {
	m.hard = m.machine.HardState
	m.step.Saved(m)
	m.engine()
}

// engine does what an engine would have to: one that has no Lead to wait for when its
// office is lost, and that takes no more writes as soon as it is asked to.
func (m *member) engine() {
	if m.machine.Serving() && m.machine.Role != memberstate.Leader {
		m.give(protocol.Input{Kind: protocol.Served, Number: m.machine.Beat()})
	}
	if phase, _ := m.machine.Handover(); phase == protocol.Pausing {
		m.world.Observer.Pauses(m.index)
		m.give(protocol.Input{Kind: protocol.Paused})
	}
}

// Withdraw tells no engine.
func (m *member) Withdraw() {}

// Publish makes known whom this member follows.
func (m *member) Publish() {
	leader := virtual.Nobody
	if m.machine.Leader != memberstate.Nobody {
		leader = int(m.machine.Leader) - 1
	}
	m.world.Observer.Knows(m.index, uint64(m.machine.Term), leader)
}

// Reply answers whom the input came from.
func (m *member) Reply(q *Message) {
	q.From = m.rules.Self
	m.world.Send(m.index, m.from, q)
}

// Send sends to each of a set.
func (m *member) Send(to memberstate.Set, q *Message) {
	q.From = m.rules.Self
	m.sent.Sends(&m.machine, q, m.world.Now())
	switch q.Kind {
	case rpc.Heartbeat:
		m.world.Observer.Beats(m.index)
	case rpc.VoteRequest:
		m.world.Observer.Asks(m.index, uint64(q.Term), q.Mark == rpc.PreVote)
	default: // nothing else is counted
	}
	for s := range to.Seats() {
		m.world.Send(m.index, int(s)-1, q)
	}
}

// Arm draws when the alarm rings.
func (m *member) Arm(a protocol.Alarm) {
	m.alarm = a.Number
	m.world.Arm(m.index, draw(m.world.Random, a.Min, a.Max))
}

func draw(r *rand.Rand, low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// Judge counts nothing.
func (m *member) Judge(rpc.Mark, elector.Judgement) {}

// Drop counts nothing.
func (m *member) Drop(elector.Drop) {}
