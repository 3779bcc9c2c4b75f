// A node: a process with a machine, a clock, a disk and an engine, all of which may
// be in trouble.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// node implements elector.Effects: what a step asks for takes effect here.
type node struct {
	world *world
	index int
	seat  memberstate.Seat
	rules elector.Rules

	alive       bool
	incarnation uint32
	paused      bool
	machine     elector.Machine
	disk        disk
	engine      engine
	rate        int64 // of its clock: parts in a million that it runs too fast

	due    int64 // true time at which the alarm rings; 0: it is not set
	number uint32

	saving *elector.Execution // the step that waits for the disk
	from   memberstate.Seat   // whom the step under way answers
	queue  []input            // what has come meanwhile

	beats, ballots [4]int64 // when the newest rounds were sent, by true time
	lease          lease

	said    memberstate.HardState // what it has spoken with last, in any incarnation
	crashIn int                   // the process dies before the effect of this number; 0: it does not
}

type input struct {
	elector.Input
	from memberstate.Seat
}

// maxQueue bounds what waits for a disk, as a Host does.
const maxQueue = 256

func (n *node) init(w *world, index int, voters memberstate.Set) {
	o := &w.options
	n.world, n.index, n.seat = w, index, memberstate.Seat(index+1)
	n.rules = elector.Rules{
		Self: n.seat, Voters: voters, All: voters, Timing: o.Timing, PreVote: !o.NoPreVote, Ranks: !o.NoRanks,
	}
	if o.Leases {
		n.rules.Lease = o.Timing.Detection()
	}
	n.rate = w.swarm.drawRate(w.random)
}

// start begins an incarnation with what the disk has.
func (n *node) start() {
	n.alive, n.paused, n.crashIn = true, false, 0
	n.incarnation++
	n.disk.open()
	n.machine = elector.NewMachine(&n.rules, n.disk.durable)
	n.engine.restart()
	n.saving, n.queue, n.lease, n.due = nil, n.queue[:0], lease{}, 0
	n.beats, n.ballots = [4]int64{}, [4]int64{}
	n.world.check.started(n)
	n.world.restarted(n)
	n.give(&elector.Input{Kind: elector.Start}, memberstate.Nobody)
	n.world.after(n.world.draw(engineTick), engineTicks, n, n.incarnation)
}

// crash ends the process. What was not durable is lost.
func (n *node) crash() {
	n.alive, n.due, n.lease = false, 0, lease{}
	n.disk.crash(n.world)
}

// elapsed is how much true time passes while this node's clock counts so much.
func (n *node) elapsed(local time.Duration) int64 {
	return int64(local) - int64(local)/1_000_000*n.rate
}

func (n *node) ring() {
	if n.paused {
		n.due = 0 // it rings when the process goes on
		return
	}
	number := n.number
	n.due = 0
	n.give(&elector.Input{Kind: elector.Ring, Number: number}, memberstate.Nobody)
}

// resume goes on after a pause, with everything that has waited.
func (n *node) resume(incarnation uint32) {
	if !n.alive || n.incarnation != incarnation || !n.paused {
		return
	}
	n.paused = false
	if n.due == 0 && n.number != 0 {
		n.due = n.world.now + 1
	}
	n.lapseIfOver()
	n.workOff()
}

// give gives the machine an input, or keeps it until the process or the disk is free.
func (n *node) give(in *elector.Input, from memberstate.Seat) {
	if !n.alive {
		return
	}
	if n.paused || n.saving != nil {
		if len(n.queue) < maxQueue || in.Kind != elector.Receive {
			n.queue = append(n.queue, input{*in, from})
		}
		return
	}
	w := n.world
	before := n.machine
	x := &w.step
	x.Input, n.from = *in, from
	need := x.Begin(&n.machine, &n.rules, n)
	for need == elector.NeedLedger {
		end := n.engine.promise(x.Output.LedgerTerm)
		need = x.Ledger(&n.machine, &n.rules, n, end)
	}
	w.check.stepped(n, &before, x)
	w.mix(uint64(w.now)^uint64(n.index)<<56, uint64(n.machine.Term)<<8^uint64(n.machine.Role)<<4^uint64(in.Kind))
	if need == elector.NeedSave && n.alive {
		kept := *x
		n.saving = &kept
		n.disk.save(n, n.machine.HardState)
		return
	}
	n.attend()
}

// saveEnded goes on after the disk.
func (n *node) saveEnded(incarnation uint32) {
	if !n.alive || n.incarnation != incarnation || n.saving == nil {
		return
	}
	if !n.disk.sync() { // a member that cannot save stops
		n.world.swarm.struck[SaveFails]++
		n.crash()
		n.world.after(n.world.draw(n.world.options.Timing.Detection()), nodeRestarts, n, 0)
		return
	}
	if n.paused { // the process does not know yet
		n.world.after(time.Millisecond, saveEnds, n, incarnation)
		return
	}
	x := n.saving
	n.saving = nil
	x.Saved(n)
	n.attend()
	n.workOff()
}

func (n *node) workOff() {
	for n.alive && !n.paused && n.saving == nil && len(n.queue) > 0 {
		next := n.queue[0]
		n.queue = append(n.queue[:0], n.queue[1:]...)
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
	n.engine.lead(n)
	if phase, _ := n.machine.Handover(); phase == elector.Pausing && !n.engine.stopped {
		n.engine.stopped = true
		n.give(&elector.Input{Kind: elector.Paused}, memberstate.Nobody)
	}
}

// dies counts an effect, and says whether the process has died before it.
func (n *node) dies() bool {
	if !n.alive {
		return true
	}
	if n.crashIn > 0 {
		if n.crashIn--; n.crashIn == 0 {
			n.world.swarm.struck[CrashInStep]++
			n.crash()
			n.world.after(n.world.draw(2*n.world.options.Timing.Detection()), nodeRestarts, n, 0)
			return true
		}
	}
	return false
}

// Withdraw ends the office before the disk is waited for.
func (n *node) Withdraw() {
	n.world.withdrew(n)
	n.engine.leading = 0
	n.lease = lease{}
}

// Publish makes the machine's state known.
func (n *node) Publish() {
	if !n.dies() {
		n.world.check.published(n)
	}
}

// Reply answers the message that was the input.
func (n *node) Reply(m *elector.Message) {
	if !n.dies() {
		n.post(n.from, m)
	}
}

// Send sends a message to each of a set of members.
func (n *node) Send(to memberstate.Set, m *elector.Message) {
	switch {
	case m.Kind == rpc.Heartbeat:
		n.beats[m.Round%4] = n.world.now
	case m.Kind == rpc.VoteRequest:
		n.ballots[m.Round%4] = n.world.now
	case m.Kind == rpc.TakeLeadership && m.Mark == rpc.Plain:
		n.lease = lease{}
	}
	for seat := range to.Seats() {
		if n.dies() {
			return
		}
		n.post(seat, m)
	}
}

func (n *node) post(to memberstate.Seat, m *elector.Message) {
	n.world.check.sends(n, m)
	n.world.network.send(n, to, m)
}

// Arm sets the alarm, by the node's own clock.
func (n *node) Arm(a elector.Alarm) {
	if n.dies() {
		return
	}
	wait := a.Min + n.world.draw(a.Max-a.Min)
	n.number, n.due = a.Number, max(n.world.now+n.elapsed(wait), n.world.now+1)
}

// Judge counts an election.
func (n *node) Judge(asked rpc.Mark, judged elector.Judgement) {
	if judged == elector.Passed && asked != rpc.PreVote {
		n.world.election++
	}
	n.world.judged(asked, judged)
}

// Drop counts nothing here.
func (n *node) Drop(elector.Drop) {}

// receive takes a message from the network.
func (n *node) receive(m *elector.Message) {
	in := elector.Input{Kind: elector.Receive, Message: *m}
	switch m.Kind {
	case rpc.HeartbeatResponse:
		in.RoundTrip = n.since(n.beats[m.Round%4])
	case rpc.VoteResponse:
		in.RoundTrip = n.since(n.ballots[m.Round%4])
	default: // requests have no round trip
	}
	n.give(&in, m.From)
}

// since is how long ago something was, by the node's own clock.
func (n *node) since(at int64) time.Duration {
	if at == 0 {
		return 0
	}
	d := n.world.now - at
	return time.Duration(d + d/1_000_000*n.rate)
}
