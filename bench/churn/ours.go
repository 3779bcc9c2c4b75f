// Our members: machines, given what a Host would give them, by the same executor.

package churn

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// ours is a group of our members.
type ours struct {
	world   *world
	members []*member
	stopped time.Duration // when the engine of the leader that hands over paused its writes
}

// member is one machine and what a host keeps for it.
type member struct {
	group   *ours
	rules   elector.Rules
	machine elector.Machine
	step    elector.Execution
	busy    bool // the step waits for the disk
	waiting []elector.Input
	alarm   uint32
	sent    map[rpc.Kind]*[8]time.Duration // when the newest rounds were sent
}

func newOurs(w *world, size int) cluster {
	o := &ours{world: w}
	all := memberstate.Set(1)<<size - 1
	timing := elector.DefaultTiming()
	timing.Heartbeat, timing.Leak = beat, detection
	for i := range size {
		m := &member{group: o, rules: elector.Rules{
			Self: memberstate.Seat(i + 1), Voters: all, All: all, Timing: timing, PreVote: true, Ranks: true,
		}, sent: map[rpc.Kind]*[8]time.Duration{rpc.Heartbeat: {}, rpc.VoteRequest: {}}}
		m.machine = elector.NewMachine(&m.rules, memberstate.HardState{})
		o.members = append(o.members, m)
		w.after(w.draw(beat), func() { m.give(&elector.Input{Kind: elector.Start}) })
	}
	return o
}

func (o *ours) know() (knowing, leader int) {
	by := make([]int, len(o.members)+1)
	for _, m := range o.members {
		by[m.machine.Leader]++
	}
	return most(by)
}

func (o *ours) serves(i int) bool { return o.members[i-1].machine.Role == memberstate.Leader }

func (o *ours) transfer(from, to int) {
	o.stopped = 0
	o.members[from-1].give(&elector.Input{Kind: elector.Transfer, Seat: memberstate.Seat(to)})
}

func (o *ours) pausedAt() time.Duration { return o.stopped }

// give hands the machine an input, when its disk is not waited for.
func (m *member) give(in *elector.Input) {
	if m.busy {
		m.waiting = append(m.waiting, *in)
		return
	}
	m.step = elector.Execution{Input: *in}
	m.proceed(m.step.Begin(&m.machine, &m.rules, m))
}

// proceed does what the step needs. The ledger is empty, and at hand.
func (m *member) proceed(need elector.Need) {
	for need == elector.NeedLedger {
		need = m.step.Ledger(&m.machine, &m.rules, m, memberstate.Position{})
	}
	if need == elector.NeedSave {
		m.busy = true
		m.group.world.after(save, func() {
			m.busy = false
			m.proceed(m.step.Saved(m))
		})
		return
	}
	if phase, _ := m.machine.Handover(); phase == elector.Pausing { // the engine pauses at once
		m.group.stopped = m.group.world.now
		m.give(&elector.Input{Kind: elector.Paused})
	}
	if len(m.waiting) > 0 && !m.busy {
		next := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.give(&next)
	}
}

// Withdraw: there is no engine to tell.
func (m *member) Withdraw() {
	if m.machine.Serving() {
		m.group.world.after(0, func() { m.give(&elector.Input{Kind: elector.Served}) })
	}
}

// Publish: who wants to know looks at the machine.
func (m *member) Publish() {}

// Reply answers the input's message.
func (m *member) Reply(answer *elector.Message) { m.post(m.step.Input.Message.From, *answer) }

// Send sends to each of a set of members.
func (m *member) Send(to memberstate.Set, message *elector.Message) {
	if times := m.sent[message.Kind]; times != nil {
		times[message.Round%8] = m.group.world.now
	}
	for seat := range to.Seats() {
		m.post(seat, *message)
	}
}

func (m *member) post(to memberstate.Seat, message elector.Message) {
	message.From = m.rules.Self
	receiver := m.group.members[to-1]
	m.group.world.after(delay, func() {
		in := &elector.Input{Kind: elector.Receive, Message: message}
		if times := receiver.sent[message.Kind-1]; times != nil { // it answers one of these
			in.RoundTrip = m.group.world.now - times[message.Round%8]
		}
		receiver.give(in)
	})
}

// Arm replaces the alarm.
func (m *member) Arm(a elector.Alarm) {
	w, wait := m.group.world, a.Min
	if a.Max > a.Min {
		wait += w.draw(a.Max - a.Min)
	}
	m.alarm = a.Number
	w.after(wait, func() {
		if m.alarm == a.Number {
			m.give(&elector.Input{Kind: elector.Ring, Number: a.Number})
		}
	})
}

// Judge and Drop are for those who count.
func (m *member) Judge(rpc.Mark, elector.Judgement) {}

// Drop is of no interest.
func (m *member) Drop(elector.Drop) {}
