// A node: a process with a machine, a clock, a disk and an engine, all of which may
// be in trouble.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// node is a process, over all its incarnations. What its machine asks for takes effect
// in effects.go.
type node struct {
	world *world
	index int
	seat  memberstate.Seat
	rules protocol.Rules

	alive       bool
	incarnation uint32
	paused      bool
	hung        bool          // its save never returns
	gone        bool          // it crashed, and nobody starts it again
	sluggish    time.Duration // how much longer everything takes
	machine     protocol.Machine
	disk        disk
	engine      engine
	rate        int64         // of its clock: parts in a million that it runs too fast
	wall        time.Duration // what its wall clock shows beyond that; nothing depends on it

	number uint32 // of its alarm; when that rings is in world.alarms
	armed  uint32 // which it was when the step under way began

	saving  *protocol.Execution // the step that waits for the disk
	kept    protocol.Execution  // where it is kept
	from    memberstate.Seat    // whom the step under way answers
	queue   []input             // what has come meanwhile
	hearing int32               // the place in the trace of the message that is being taken

	sent      protocol.SentTimes // by true time
	lease     lease
	answers   answers
	accepted  memberstate.Term // the largest term of an append in its ledger, in any incarnation
	rounds    [2]round         // the newest rounds of votes
	promises  [4]round         // and of heartbeats
	resigning memberstate.Term // that it was told to resign
	resigned  int64            // and when, by true time
	handing   int64            // when a handover began, by true time; 0: none is on

	said    memberstate.HardState // what it has spoken with last, in any incarnation
	doomed  Fault                 // the point of a step at which the process will die; 0: none
	downFor time.Duration         // and for how long then
}

type input struct {
	protocol.Input
	from  memberstate.Seat
	heard int32
}

// mostLedgers is how often a step may ask where the ledger ends: for each term that it
// is about.
const mostLedgers = 4

// maxQueue bounds what waits for a disk, as a Host does.
const maxQueue = 256

func (n *node) init(w *world, index int, seat memberstate.Seat) {
	o := &w.options
	n.world, n.index, n.seat = w, index, seat
	n.rules = protocol.Rules{
		Self: seat, Voters: w.voters, All: w.voters.With(seat), Timing: o.Timing, PreVote: !o.NoPreVote, Ranks: !o.NoRanks,
	}
	if o.Leases {
		n.rules.Lease = o.Timing.Detection()
	}
}

// start begins an incarnation with what the disk has.
func (n *node) start() {
	w := n.world
	if err := n.disk.open(); err != nil {
		w.check.violated(TermsRise, n, "the store does not open after a crash: %v", err)
		return
	}
	n.alive, n.paused, n.hung, n.doomed = true, false, false, 0
	n.incarnation++
	n.machine = protocol.NewMachine(&n.rules, n.disk.durable)
	n.engine.restart()
	n.saving, n.queue, n.lease, n.handing = nil, n.queue[:0], lease{}, 0
	w.alarms.set(n.index, 0)
	n.sent = protocol.SentTimes{}
	n.rounds, n.promises, n.resigning = [2]round{}, [4]round{}, 0
	w.check.started(n)
	w.restarted(n)
	w.tracer.happened(n, Started, "starts")
	n.give(&protocol.Input{Kind: protocol.Start}, memberstate.Nobody)
}

// crash ends the process. What was not durable is lost.
func (n *node) crash() {
	n.alive, n.doomed = false, 0
	n.world.alarms.set(n.index, 0)
	n.disk.crash(n)
	n.saving = nil
	n.world.tracer.happened(n, Crashed, "crashes")
	n.dropLease()
	n.engine.leading = 0
	if n.world.coverage != nil {
		n.world.coverage.look(n)
	}
}

// comesBack starts the process again after a while, if nobody else has.
func (n *node) comesBack(after time.Duration) {
	n.world.after(after, nodeRestarts, n, n.incarnation)
}

// dies crashes the process as a fault has it.
func (n *node) dies(of Fault) {
	n.world.swarm.struck[of]++
	n.crash()
	n.comesBack(n.downFor)
}

// leads says whether the node takes itself for the leader.
func (n *node) leads() bool { return n.machine.Role == memberstate.Leader }

// elapsed is how much true time passes while this node's clock counts so much.
func (n *node) elapsed(local time.Duration) int64 {
	return int64(local) - int64(local)/1_000_000*n.rate
}

// measured is how long this node's clock counts while so much true time passes.
func (n *node) measured(passed time.Duration) time.Duration {
	return passed + passed/1_000_000*time.Duration(n.rate)
}

func (n *node) ring() {
	n.world.alarms.set(n.index, 0)
	if !n.paused { // else it rings when the process goes on
		n.give(&protocol.Input{Kind: protocol.Ring, Number: n.number}, memberstate.Nobody)
	}
}

// resume goes on after a pause, with everything that has waited.
func (n *node) resume(incarnation uint32) {
	if !n.alive || n.incarnation != incarnation || !n.paused {
		return
	}
	n.paused = false
	n.world.tracer.happened(n, PauseEnded, "goes on")
	if n.handing != 0 {
		n.handing = n.world.now
	}
	n.resigned = n.world.now
	if alarms := &n.world.alarms; !alarms.isSet(n.index) && n.number != 0 {
		alarms.set(n.index, n.world.now+1)
	}
	n.lapseIfOver()
	n.workOff()
}

// take takes a message from the network, or refuses it as a Host does.
func (n *node) take(p *parcel) {
	w, m := n.world, &p.message
	switch {
	case !m.WellFormed():
		w.swarm.struck[Corrupt]++
		w.tracer.ended(p, Refused)
		return
	case m.From == n.seat: // from a twin
		w.check.told(Twin)
		w.tracer.ended(p, Refused)
		return
	case p.voters != n.rules.Voters:
		w.check.told(OtherMembers)
		w.tracer.ended(p, Refused)
		return
	}
	w.tracer.ended(p, Delivered)
	n.hearing = p.passage
	in := &w.step.Input // where it would be copied to
	if n.paused || n.saving != nil {
		in = new(protocol.Input)
	}
	*in = protocol.Input{}
	in.Kind, in.Message = protocol.Receive, *m
	in.RoundTrip = n.measured(n.sent.RoundTrip(&n.machine, &m.Body, time.Duration(w.now)))
	n.give(in, m.From)
}

// give gives the machine an input, or keeps it until the process or the disk is free.
func (n *node) give(in *protocol.Input, from memberstate.Seat) {
	if !n.alive {
		return
	}
	if n.paused || n.saving != nil {
		if len(n.queue) < maxQueue || in.Kind != protocol.Receive {
			n.queue = append(n.queue, input{*in, from, n.hearing})
		}
		return
	}
	w := n.world
	w.steps++
	before := n.machine
	x := &w.step
	if n.from = from; in != &x.Input {
		x.Input = *in
	}
	w.tracer.steps(n, in)
	if in.Kind == protocol.Receive {
		w.check.answers(n, &x.Input.Message)
	}
	n.armed = n.number
	need := x.Begin(&n.machine, &n.rules, n)
	for asked := 0; need == protocol.NeedLedger; asked++ {
		if asked == mostLedgers {
			w.check.violated(NeverStuck, n, "it asks for its ledger for term %d again and again", x.Output.LedgerTerm)
			return
		}
		end := n.engine.ledgerEnd(x.Output.LedgerTerm)
		need = x.Ledger(&n.machine, &n.rules, n, end)
	}
	w.check.stepped(n, &before, x)
	w.mix(uint64(w.now)^uint64(n.index)<<56, uint64(n.machine.Term)<<8^uint64(n.machine.Role)<<4^uint64(in.Kind))
	if need == protocol.NeedSave && n.alive {
		n.save(x)
	}
	w.tracer.stepped(n)
	if w.coverage != nil {
		w.coverage.look(n)
	}
	n.attend()
}

// save puts a step by until the disk has what it depends on.
func (n *node) save(x *protocol.Execution) {
	if n.doomed == CrashBeforeSave {
		n.dies(CrashBeforeSave)
		return
	}
	n.kept = *x
	n.saving = &n.kept
	takes := n.disk.save(n, n.machine.HardState) + n.sluggish
	n.world.tracer.saves(n)
	switch {
	case n.disk.trouble == SaveHangs: // somebody notices, and kills the process
		n.hung = true
		n.world.swarm.struck[SaveHangs]++
		n.world.follow(n.downFor, Strike{Fault: Crash, Node: n.index})
	case n.doomed == CrashInSave:
		n.world.after(takes/2, diesInSave, n, n.incarnation)
	default:
		n.world.after(takes, saveEnds, n, n.incarnation)
	}
}

// diesInSave is when a process dies while it saves.
func (n *node) diesInSave(incarnation uint32) {
	if n.alive && n.incarnation == incarnation && n.saving != nil {
		n.dies(CrashInSave)
	}
}

// saveEnded goes on after the disk.
func (n *node) saveEnded(incarnation uint32) {
	if !n.alive || n.incarnation != incarnation || n.saving == nil {
		return
	}
	if n.paused { // the process does not know yet
		n.world.after(time.Millisecond, saveEnds, n, incarnation)
		return
	}
	trouble := n.disk.trouble
	if !n.disk.sync() { // a member that cannot save stops
		n.dies(trouble)
		return
	}
	n.world.tracer.saved(n)
	x := n.saving
	n.saving = nil
	if n.doomed == CrashBeforeSend {
		n.dies(CrashBeforeSend)
		return
	}
	n.from = x.Input.Message.From
	x.Saved(n)
	n.world.tracer.stepped(n)
	n.attend()
	n.workOff()
}

func (n *node) workOff() {
	for n.alive && !n.paused && n.saving == nil && len(n.queue) > 0 {
		next := n.queue[0]
		n.queue = append(n.queue[:0], n.queue[1:]...)
		n.hearing = next.heard
		n.give(&next.Input, next.from)
	}
}

// attend is what a Host does after every step: the lease, the engine's Lead, the
// handover.
func (n *node) attend() {
	if !n.alive || n.saving != nil {
		return
	}
	n.attendLease()
	n.engine.attend(n)
	phase, _ := n.machine.Handover()
	n.world.check.handsOver(n, phase)
	if phase == protocol.Pausing && !n.engine.stopped {
		n.engine.stopped = true
		n.give(&protocol.Input{Kind: protocol.Paused}, memberstate.Nobody)
	}
}
