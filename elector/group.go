// One group at a host: its machine, and the edge between the machine's seats
// and alarms and the world's ids and clocks. All of it belongs to the loop but
// for the fields that say otherwise; before the start there is nobody else.

package elector

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/internal/level"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// group is kept small, for there may be very many. What a heartbeat looks at comes
// first.
type group struct {
	machine     Machine
	*electorate               // shared, and never changed
	due, look   time.Duration // when the alarm rings, and when to look at it next; 0: never
	alarm       uint32        // number of the alarm that is set
	outstanding int32         // goroutines that work for the group

	running  bool // it takes part: from its start to its end
	retiring bool // it is to end
	started  bool // Start was called, or never will be; guarded by the host's mu
	retired  bool // it has been told to end; guarded by the host's mu
	buried   bool // nothing works for it any more; changed by who ends it, under the host's mu

	busy  *pending               // the step that waits for the ledger or the disk
	sent  *sendTimes             // nil until there is something to time
	extra atomic.Pointer[extras] // changed by the loop; nil while there are none
	sight level.Level[sight]     // changed by the loop

	name      string                                           // never changed
	ledgerEnd func(term memberstate.Term) memberstate.Position // never changed
	ledgerLog ledgerLog
	heardAt   atomic.Int64  // when the engine last heard from the leader it follows; changed by the engine
	announced atomic.Uint64 // the largest term that the engine heard of; changed by the engine
	ending    *ending       // nil until someone asks for it; guarded by the host's mu
}

// pending is a step that is being carried out, with what it takes to finish it.
type pending struct {
	Execution
	purpose
}

// purpose is what an input is for.
type purpose struct {
	from  string // who is answered
	then  func() // called when it is done, if not nil
	order *order // that begins with it, if any
}

// sendTimes has when the newest rounds were sent, and what was measured by it last.
type sendTimes struct {
	SentTimes
	heard quorumHeard
}

// maxQueued bounds the messages that wait for a group's disk.
const maxQueued = 256

// record is the group's hard state as a store keeps it.
func (g *group) record() memberstate.Record {
	m := &g.machine
	return memberstate.Record{
		Group: g.name, Term: m.Term, Vote: g.members.ID(m.Vote), Promise: m.Promise, Voters: g.members.Digest(),
	}
}

// deliver takes a message from the edge to the machine. What cannot be
// translated is dropped, or answered by the machine as a stranger's.
func (h *Host) deliver(a *arrival) {
	if a.at == nil || !a.at.group.running {
		h.drop(DropUnknownGroup, 1)
		return
	}
	g, msg := &a.at.group, &a.message
	switch {
	case msg.To != h.config.Self:
		h.drop(DropMisaddressed, 1)
	case msg.From == h.config.Self:
		h.drop(DropFromSelf, 1)
	case msg.From == "" || !msg.WellFormed():
		h.drop(DropMalformed, 1)
	case msg.Voters != g.members.Digest():
		h.drop(DropOtherVoters, 1)
	default:
		if len(h.lost) > 0 {
			delete(h.lost, msg.From) // its process is there, or was when it sent this
		}
		in := Input{Kind: Receive, RoundTrip: g.roundTrip(msg, h.now), Message: Message{
			From: g.members.Seat(msg.From), Leader: g.members.Seat(msg.Leader), Body: msg.Body,
		}}
		if _, messages := g.queued(); messages >= maxQueued {
			h.drop(DropQueueFull, 1)
			return
		}
		h.giveFor(g, &in, purpose{from: msg.From})
	}
}

// roundTrip is how long ago the request of an answer was sent.
func (g *group) roundTrip(msg *rpc.Message, now time.Duration) time.Duration {
	if g.sent == nil {
		return 0
	}
	return g.sent.RoundTrip(&g.machine, &msg.Body, now)
}

func (h *Host) give(g *group, in *Input, then func()) { h.giveFor(g, in, purpose{then: then}) }

// giveFor gives the machine an input, or keeps it until the step under way is
// done.
func (h *Host) giveFor(g *group, in *Input, what purpose) {
	switch {
	case !g.running:
		if what.then != nil {
			what.then()
		}
	case g.busy != nil:
		g.extras().add(&pending{Execution: Execution{Input: *in}, purpose: what})
	default:
		h.step.Input, h.step.purpose = *in, what
		h.begin(g, &h.step)
		h.workOff(g)
	}
}

// workOff gives the machine what had to wait.
func (h *Host) workOff(g *group) {
	for g.busy == nil && g.running {
		if all, _ := g.queued(); all == 0 {
			return
		}
		h.step = g.extras().next()
		h.begin(g, &h.step)
	}
}

func (h *Host) begin(g *group, p *pending) {
	h.effects = effects{host: h, group: g, from: p.from, input: &p.Input}
	h.proceed(g, p, p.Begin(&g.machine, &g.rules, &h.effects))
}

// proceed finishes a step, or puts it by until what it needs is there.
func (h *Host) proceed(g *group, p *pending, need Need) {
	if need == NeedLedger || need == NeedSave {
		if g.busy == nil {
			kept := *p
			g.busy = &kept
		}
		g.outstanding++
	}
	switch need {
	case NeedLedger:
		h.askLedger(g, p.Output.LedgerTerm)
	case NeedSave:
		h.unsaved = append(h.unsaved, g)
	case NeedStop:
		then := p.then
		h.fail(g, fmt.Errorf("elector: group %q: defect: %w", g.name, p.Output.Err))
		if then != nil {
			then()
		}
	case NeedNothing:
		then := p.then
		if p.order != nil {
			p.order.begun(&g.machine)
		}
		g.busy = nil
		g.followHandover(&p.Input)
		h.attend(g)
		if then != nil {
			then()
		}
	}
}

// resume goes on with the step that waited, or lets it go if the group has
// ended meanwhile.
func (h *Host) resume(g *group, next func(p *pending) Need) {
	g.outstanding--
	p := g.busy
	if !g.running {
		g.busy = nil
		if p.then != nil {
			p.then()
		}
		h.bury(g)
		return
	}
	h.effects = effects{host: h, group: g, from: p.from, input: &p.Input}
	h.proceed(g, p, next(p))
	h.workOff(g)
}

// saved goes on after the disk, or stops a group that cannot remember.
func (h *Host) saved(g *group, err error) {
	if err != nil && g.running {
		h.fail(g, fmt.Errorf("elector: group %q: saving term %d: %w", g.name, g.machine.Term, err))
	}
	h.resume(g, func(p *pending) Need { return p.Saved(&h.effects) })
}

// effects carries out the outputs of one group's step.
type effects struct {
	host  *Host
	group *group
	from  string
	input *Input
}

func (fx *effects) Withdraw() {
	g := fx.group
	g.endOffice()
	g.publishLoss(g.departure(fx.input))
}

func (fx *effects) Publish() {
	g := fx.group
	g.publish(g.departure(fx.input))
	s := g.status()
	fx.host.log.Info("role", "group", s.Group, "term", uint64(s.Term), "role", s.Role.String(), "leader", s.Leader, "vote", s.Vote,
		"last_leader", s.LastLeader, "departure", s.Departure.String())
}

func (fx *effects) Reply(m *Message) {
	fx.countVoting(m)
	fx.post(fx.from, m)
}

func (fx *effects) Send(to memberstate.Set, m *Message) {
	g := fx.group
	again := m.Kind == rpc.VoteRequest && g.machine.Repeats()
	if !again {
		fx.countVoting(m)
	}
	if m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain {
		g.dropLease() // the target may win from the moment that it hears of this (D14)
	}
	if m.Kind == rpc.Heartbeat || m.Kind == rpc.VoteRequest {
		if g.sent == nil {
			g.sent = new(sendTimes)
		}
		g.sent.Sends(&g.machine, m, fx.host.now)
	}
	for seat := range to.Seats() {
		fx.post(g.members.ID(seat), m)
	}
}

// post puts a message into the batch for a node. A long one is not kept until the
// end of the turn.
func (fx *effects) post(to string, m *Message) {
	g, h := fx.group, fx.host
	h.outbox[to] = append(h.outbox[to], rpc.Message{
		Group: g.name, From: h.config.Self, To: to, Leader: g.members.ID(m.Leader), Voters: g.members.Digest(), Body: m.Body,
	})
	if len(h.outbox[to]) >= usual {
		h.send(to)
	}
}

func (fx *effects) Arm(a Alarm) {
	wait := a.Min
	if spread := a.Max - a.Min; spread > 0 {
		wait += randomDuration(spread)
	}
	fx.group.alarm = a.Number
	fx.host.alarms.set(fx.group, fx.host.now+wait)
}

func (fx *effects) Drop(why Drop) {
	fx.host.drop(why, 1)
	if why == DropImpossibleTerm {
		fx.host.tellApart(fx.group, fx.input)
	}
}
