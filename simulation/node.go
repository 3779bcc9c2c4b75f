// A node: a process with a clock, a disk, and the groups that it takes part in. It runs a
// protocol.Node, as a Host does, in turns: something happens to the node, the node says what is to
// be done, and the world wakes it when its next alarm is due.

package simulation

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/clock"
	"github.com/hustings/hustings/simulation/internal/disk"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// node is a process, over all its incarnations.
type node struct {
	check.Node
	world   *world
	members []member // by group
	host    *protocol.Node
	intake  protocol.Intake
	taken   protocol.Taken       // from it
	shared  protocol.Electorates // that its groups have joined with in this incarnation

	saved    bool // its save has ended while it is paused, or its disk hangs
	gone     bool // it crashed, and is not started again before all is healed
	disk     disk.Disk
	trouble  Fault // what will become of the next save; 0: nothing
	clock    clock.Clock
	leases   map[uint32]protocol.Expiry // the leases that groups share
	wall     time.Duration              // how far its wall clock is ahead of clock; nothing depends on it
	arrived  []parcel                   // the messages that wait in its intake
	orders   []func()                   // what its engines do when its pause ends
	touched  uint64                     // a bit for each group that has changed in this turn
	turns    int                        // that the node has taken
	slowDisk bool                       // saves take long
	mute     bool                       // its next process exchanges no beats, although others do

	judgeHangs bool // its function that judges all engines does not return
	judgeHeld  bool // and has been called

	arriving *parcel       // the message that arrives
	unheeded bool          // what arrives now must change nothing
	untaken  bool          // no machine has taken the message that arrives
	doomed   Fault         // the point of a step at which the process will die; 0: none
	downFor  time.Duration // and for how long then
	powerFor time.Duration // how much later the power fails, too; 0: it does not
}

// names are the names of nodes, by seat.
var names = [maxNodes]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10"}

func (n *node) name() string { return names[n.Seat-1] }

func (n *node) init(w *world, index int, seat memberstate.Seat) {
	n.world, n.Index, n.Seat = w, index, seat
	n.disk = disk.New(w.groups, w.options.Term)
	n.members = make([]member, w.options.Groups)
	for place := range n.members {
		n.members[place].init(n, place)
	}
}

// start begins an incarnation with what the disk has.
func (n *node) start() {
	w := n.world
	n.trouble = 0
	if err := n.disk.Open(); err != nil {
		w.check.ViolatedBy(invariant.TermsRise, &n.Node, 0, "the store does not open after a crash: %v", err)
		return
	}
	n.Alive, n.Paused, n.Hung, n.Leaving, n.Balances, n.Protected, n.saved, n.doomed, n.Saving, n.Judging = true, false, false, false, false, 0, false, 0, 0, 0
	n.Incarnation++
	n.arrived, n.orders, n.touched, n.judgeHeld = n.arrived[:0], n.orders[:0], 0, false
	w.alarms.Set(n.Index, 0)
	n.clock.Start(w.now)
	n.host, n.intake, n.shared, n.leases = protocol.NewNode(n.name(), n), protocol.Intake{}, protocol.Electorates{}, nil
	n.host.Inspect(n)
	n.host.SetCapacity(w.capacity(n.Index))
	n.exchange()
	if w.options.Open {
		n.host.KeepOpen()
	}
	if most := w.options.Campaigns; most > 0 {
		n.host.LimitCampaigns(most)
		n.intake.LimitTurn(most)
		n.host.LimitQueues(1 + most)
		n.host.LimitLeavings(max(most, len(n.members)/4)) // what takes many round trips is not quiet
	}
	n.host.At(n.local())
	for place := range n.members {
		n.members[place].start()
	}
	more := n.drain()
	w.restarted(n)
	n.endTurn()
	if more {
		n.turn()
	}
}

// crash ends the process. What was not durable is lost.
func (n *node) crash() { n.ends(n.tearDisk) }

// ends ends the process; tear does to the disk what this way to end does.
func (n *node) ends(tear func()) {
	n.Alive, n.doomed = false, 0
	n.world.alarms.Set(n.Index, 0)
	tear()
	n.world.tracer.happened(n, trace.Crashed, "crashes")
	for place := range n.members {
		m := &n.members[place]
		m.dropLease()
		m.engine.Leading = 0
		m.cover()
	}
}

// comesBack starts the process again after a while, if it has not started yet.
func (n *node) comesBack(after time.Duration) {
	n.world.after(after, nodeRestarts, n, n.Incarnation)
}

// dies crashes the process, and counts the fault that it dies of.
func (n *node) dies(of Fault) {
	n.world.swarm.struck[of]++
	n.crash()
	n.comesBack(n.downFor)
}

// local is the time by the node's clock.
func (n *node) local() time.Duration { return n.clock.Shows(n.world.now) }

// turn runs one turn of a process that is alive and not paused.
func (n *node) turn() {
	for more := true; more && n.Alive; {
		n.host.At(n.local())
		more = n.drain()
		n.endTurn()
	}
}

// drain gives the process what waits in its intake, as much as it handles in a turn.
func (n *node) drain() (more bool) {
	more = n.intake.Take(&n.taken)
	next := 0
	n.taken.Drain(n.beat, func(g *protocol.Group, msg *rpc.Message) {
		n.deliver(g, msg, &n.arrived[next])
		next++
	}, func(r *protocol.Request) {
		if n.Alive {
			n.host.Do(r)
		}
	})
	n.arrived = slices.Delete(n.arrived, 0, next)
	return more
}

// endTurn has the process send and save, and sets the alarm for its next turn.
func (n *node) endTurn() {
	if n.Alive {
		n.host.EndTurn()
	}
	if !n.Alive {
		return
	}
	n.judgeTurn()
	due, waits := n.host.Next()
	if !waits {
		n.world.alarms.Set(n.Index, 0)
		return
	}
	n.world.alarms.Set(n.Index, max(n.clock.When(due)+int64(n.Sluggish), n.world.now+1))
}

// judgeTurn has those checked whom the turn has changed. Beats change many, and do not say whom, so whether the
// node still looks at its groups is checked of one after the other. It is checked now and then only, because
// a group that the node has forgotten stays forgotten.
func (n *node) judgeTurn() {
	for ; n.touched != 0; n.touched &= n.touched - 1 {
		n.world.check.Turned(&n.members[bits.TrailingZeros64(n.touched)].Member)
	}
	const now = 4
	if n.turns++; n.turns%now == 0 {
		m := &n.members[n.turns/now%len(n.members)]
		by, takesPart := n.host.Watches(&m.group)
		n.world.check.Watched(&m.Member, by, takesPart)
	}
}

func (n *node) ring() {
	if n.Paused { // it rings when the process goes on
		n.world.alarms.Set(n.Index, 0)
		return
	}
	n.host.At(n.local())
	n.endTurn()
}

// ask gives a process requests. It takes them in one turn, now or when its pause ends.
func (n *node) ask(requests ...protocol.Request) {
	if !n.Alive {
		return
	}
	for _, r := range requests {
		switch r.Kind {
		case protocol.AskStand, protocol.TellPeerLost:
			n.intake.AddOnce(r)
		default:
			n.intake.Add(r)
		}
	}
	if !n.Paused {
		n.turn()
	}
}

// does has an engine of the process do something in a turn, now or when its pause ends.
func (n *node) does(what func()) {
	if n.Paused {
		n.orders = append(n.orders, what)
		return
	}
	n.host.At(n.local())
	what()
	n.endTurn()
}

// resume ends a pause. The process takes everything that has waited.
func (n *node) resume(incarnation uint32) {
	if !n.Alive || n.Incarnation != incarnation || !n.Paused {
		return
	}
	n.Paused = false
	n.world.tracer.happened(n, trace.PauseEnded, "goes on")
	n.host.At(n.local())
	for place := range n.members {
		n.world.check.StoodStill(&n.members[place].Member)
	}
	for place := range n.members {
		n.members[place].lapseIfOver()
	}
	more := n.drain()
	for _, do := range n.orders {
		do()
	}
	n.orders = n.orders[:0]
	n.endTurn()
	if more {
		n.turn()
	}
	n.savesAfterAll()
}

// take takes a packet from the network, in one turn, now or when its pause ends. A packet that is
// taken now does not go through the intake, which would only cost time.
func (n *node) take(p *parcel) {
	if n.Paused {
		n.world.network.ended(p, trace.Delivered)
		n.wait(p)
		return
	}
	n.host.At(n.local())
	for ; p != nil; p = n.world.network.next(p) {
		n.deliver(&n.members[p.group].group, &p.message, p)
	}
	n.endTurn()
}

// wait has a packet wait in the intake, as far as there is room.
func (n *node) wait(p *parcel) {
	for ; p != nil; p = n.world.network.next(p) {
		if n.intake.Receive([]rpc.Message{p.message}) == 0 {
			n.arrived = append(n.arrived, *p)
		}
	}
}

// deliver gives the process a message. It may refuse it before a machine sees it.
func (n *node) deliver(g *protocol.Group, msg *rpc.Message, p *parcel) {
	if !n.Alive {
		return
	}
	n.arriving, n.untaken = p, true
	m := &n.members[p.group]
	m.hears(p.passage)
	n.world.tracer.ended(p, trace.Delivered)
	if msg.Kind == rpc.HeartbeatResponse && msg.Bond != nil {
		n.world.check.BondArrives(&n.Node, int(p.from), msg.Bond)
	}
	n.host.Deliver(g, msg)
	if n.untaken { // it was not refused either: a step of the group waits
		n.untaken = false
		m.Waits(p.round, p.from, &p.message.Body)
	}
}

// Draw chooses how long an alarm waits.
func (n *node) Draw(g *protocol.Group, a protocol.Alarm) time.Duration {
	m := n.memberOf(g)
	m.Alarm = m.asked
	// In a scenario no two nodes wait for the same time, because then every vote would be split.
	normal := a.Min + (a.Max-a.Min)*(2*time.Duration(n.Index)+1)/(2*maxNodes)
	wait := max(n.world.choices.Span(choice.Wait, n.Index, a.Min, a.Max, normal), a.Min)
	m.rings = n.local() + wait
	return wait
}

// Send sends messages to one node. The process may die between two nodes.
func (n *node) Send(to string, batch []rpc.Message) {
	if !n.Alive {
		return
	}
	n.world.network.send(n, to, batch)
	if n.doomed == CrashBetweenSends {
		n.dies(CrashBetweenSends)
	}
}

// Drop counts refused messages, if a fault made them.
func (n *node) Drop(why protocol.Drop, _ int) {
	w := n.world
	if n.unheeded {
		return
	}
	if why == protocol.DropImpossibleTerm {
		w.swarm.struck[Corrupt]++
	}
	if !n.untaken {
		return // a machine has seen it
	}
	switch why {
	case protocol.DropMalformed:
		w.swarm.struck[Corrupt]++
	case protocol.DropFromSelf: // from a twin
		w.tells(Twin)
	case protocol.DropOtherVoters:
		w.tells(OtherMembers)
	default: // the network delivers nothing else
	}
	n.untaken = false
	w.tracer.ended(n.arriving, trace.Refused)
	if m := &n.members[n.arriving.group]; len(m.hearing) > 0 {
		m.hearing = m.hearing[:len(m.hearing)-1]
	}
}

// Judge counts an election.
func (n *node) Judge(_ *protocol.Group, asked rpc.Mark, judged protocol.Judgement) {
	if judged == protocol.Passed && asked != rpc.PreVote {
		n.world.election++
	}
	n.world.judged(asked, judged)
}

// NotTransferred checks the error of a handover that failed: operators compare it.
func (n *node) NotTransferred(g *protocol.Group, failed *protocol.TransferError, _ bool) {
	if !errors.Is(failed, protocol.ErrTransferFailed) || failed.Group != g.Name() {
		n.world.check.Violated(invariant.TransferEnds, &n.memberOf(g).Member, "its handover failed with the wrong error: %v", failed)
	}
}

// Failed notes the error with which a group has ended.
func (n *node) Failed(g *protocol.Group, err error) { n.memberOf(g).engine.lapse.why = err }

// The other reports are not used.

func (n *node) Voting(*protocol.Group, *protocol.Message)                     {}
func (n *node) QuorumHeard(*protocol.Group, time.Duration)                    {}
func (n *node) Rests(*protocol.Group, uint32)                                 {}
func (n *node) CohortHeard(uint32, time.Duration)                             {}
func (n *node) LeadFailed(*protocol.Group, memberstate.Term, error)           {}
func (n *node) TooFarApart(*protocol.Group, string, memberstate.Term, uint64) {}
func (n *node) Says(g *protocol.Group, to memberstate.Set, m *protocol.Message) {
	n.memberOf(g).says(to, m)
}
func (n *node) Before(g *protocol.Group, in *protocol.Input) { n.memberOf(g).before(in) }
func (n *node) After(g *protocol.Group, x *protocol.Step)    { n.memberOf(g).after(x) }

// memberOf is the member that has a group.
func (n *node) memberOf(g *protocol.Group) *member {
	if len(n.members) == 1 {
		return &n.members[0]
	}
	return &n.members[n.world.place(g.Name())]
}

// Groups are the groups of the process.
func (n *node) Groups() []*protocol.Group {
	all := n.intake.Groups()
	protocol.SortByName(all)
	return all
}
