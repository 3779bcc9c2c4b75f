// A node: all groups of one process, as a value that a driver gives the time.
//
// A driver works in turns. At begins one, and gives the time. Then the driver reports what has
// happened since the last turn. EndTurn sends and saves, and Next says when the next turn is due at
// the latest.
//
// What a driver reports:
//
//	Start, Stop, End       a group begins, is to hand over and end, or ends at once
//	Deliver                a message has arrived for a group
//	Beat                   a beat has arrived from another node
//	Give                   the engine has heard a leader, or wants this member to stand
//	Obey, Withdraw         a caller orders a leader to hand over, or withdraws such an order
//	Electable, SetTiming, SetPreferred, SetWeight   an operator changes how a group goes on
//	PeerLost               a process is gone, as far as the transport can tell
//	LedgerEnd              where the engine's ledger ends, as AskLedger has asked
//	Saved                  the batch is durable, or could not be saved
//	Health                 whether the engine is able to lead, as AskHealth has asked
//	Stalled                which engines of the node are not, as AskStalled has asked
//	Hold, Serve, Drain, Protect, Balance   whether the node is to take its share of leading
//	LeaseOver, LeadReturned, PauseEnded   as a Session's driver reports them, see session.go
//	SharedLeaseOver        a lease has run out that groups share
//	Do                     any of these, as a Request that has waited in its Intake
//
// What the node asks for is listed in Edge, for the node; in BeatEdge, if it exchanges beats; and in Engine, for
// each of its groups.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Edge is what a node asks of the process around it.
type Edge interface {
	// Draw is how long a group's alarm waits: a random time of at least a.Min, and of less
	// than a.Max unless they are equal.
	Draw(g *Group, a Alarm) time.Duration
	// Send sends messages to one node. It must not keep the batch.
	Send(to string, batch []rpc.Message)
	// Save makes records durable, all of them or with an error. The answer is Node.Saved. There
	// is one such batch at a time.
	Save(batch []memberstate.Record)
	// AskStalled asks which groups have engines that cannot work. The answer is Node.Stalled, and is
	// given after AskStalled has returned; it is expected within a time. AskStalled returns false if there
	// is nobody to ask, now or later.
	AskStalled(within time.Duration) bool
	// Groups are the node's: all that take part, and maybe others, in any order.
	Groups() []*Group
	// Progress: the node's standing has changed, or it has come on with handing over.
	Progress(p Progress)
	Observer
}

// Engine is what one group asks of the process around it. Methods that Effects also has mean the
// same here. They are called one at a time, and must return at once. Every AskLedger, Lead, Pause
// and AskHealth must be answered once, or the group is never over. EndLead, Pause, AskLedger and
// AskHealth may give the node their answer before they return; no method may call the node for
// anything else.
type Engine interface {
	// AskLedger asks where the engine's ledger ends, with a promise for a term. The answer is
	// Node.LedgerEnd.
	AskLedger(term memberstate.Term)
	Show(v View)
	// Hold says, as that of Effects does, until when the group's own lease lasts. It shares none any more.
	Hold(until time.Duration)
	// Share says that the group's lease lasts as long as the one of this number, too, until the next Hold.
	// See BeatEdge.
	Share(number uint32)
	Lead(term memberstate.Term)
	EndLead(term memberstate.Term)
	Pause(term memberstate.Term, number uint32)
	Resume()
	// Vouched says whether the engine has vouched for its ability to lead since the last call.
	Vouched() bool
	// AskHealth asks the engine whether it is able to lead. The answer is Node.Health. It returns
	// false if the engine cannot be asked.
	AskHealth() bool
	// Obey says by which rules the group goes on, because they have changed.
	Obey(r *Rules)
	// Ended says that the group has ended and that nothing works for it any more: no function of
	// the engine, no disk and no watcher. It has ended because of this error, or because it was
	// stopped.
	Ended(err error)
}

// BeatEdge is what a node that exchanges beats asks of the process around it.
type BeatEdge interface {
	// SendBeat sends a beat to one node. It must not keep it.
	SendBeat(to string, b *rpc.Beat)
	// HoldShared says until when the lease of this number lasts, which groups share, zero when no group
	// shares it any more. It is called before a group is told to share the lease. The process ends the Lead of
	// those that share it at that time, as it does with a lease of their own, and then calls SharedLeaseOver.
	HoldShared(number uint32, until time.Duration)
	// Group is the group of this name; nil if there is none.
	Group(name string) *Group
	// Outdated: a peer has seen a later process of this node, so all of its groups end with this error; or the store could
	// not be marked as outdated.
	Outdated(err error)
	// OlderProcess: a process of a peer speaks that was started before the one that is known. It says so once for each
	// of them.
	OlderProcess(peer string, start, known uint64)
}

// Observer is called for everything that happens, for counters and for logs. It decides nothing.
type Observer interface {
	// Drop: n inputs were ignored, for this reason.
	Drop(why Drop, n int)
	// Judge: a round of votes ended.
	Judge(g *Group, asked rpc.Mark, judged Judgement)
	// Voting: a request for votes was sent, repetitions aside, or an answer to one.
	Voting(g *Group, m *Message)
	// QuorumHeard: it took that long until a quorum had answered a heartbeat.
	QuorumHeard(g *Group, took time.Duration)
	// Rests: a leader leaves its heartbeats to the node from now on, in the cohort of this number; 0: it
	// beats by itself again.
	Rests(g *Group, cohort uint32)
	// CohortHeard: it took that long until a quorum had answered a beat of the node, for all leaders that
	// rest in this cohort.
	CohortHeard(cohort uint32, took time.Duration)
	// NotTransferred: a handover failed. If it is repeated, the node has begun it of its own accord, and will again.
	NotTransferred(g *Group, failed *TransferError, repeated bool)
	// LeadFailed: a leader resigns because its Lead has returned, with an error or none, before
	// its context ended.
	LeadFailed(g *Group, term memberstate.Term, err error)
	// Failed: a group has ended because of an error. It is over when nothing works for it any
	// more: see Engine.Ended.
	Failed(g *Group, err error)
	// TooFarApart: a peer's term is so far above the group's that it is dropped. Untold is how
	// many such cases were not reported since the last report.
	TooFarApart(g *Group, peer string, term memberstate.Term, untold uint64)
}

// Inspector sees all steps of a node's machines at the moment at which they are taken.
type Inspector interface {
	// Before and After are called around each step of a group's machine. If the step has to
	// wait, nothing has taken effect after it.
	Before(g *Group, in *Input)
	After(g *Group, x *Step)
	// Says is called with a message before it is put into the batches for the members' nodes.
	Says(g *Group, to memberstate.Set, m *Message)
}

// Node is all groups of one process. It has no lock: one goroutine at a time may use it.
type Node struct {
	self      string
	edge      Edge
	now       time.Duration
	alarms    alarms
	peers     peers
	saves     saves
	rules     map[Rules]*sharedRules // that groups have been given since they joined
	stalled   stalled
	looks     []*Group                 // whose ability is to be looked at when the turn ends
	lost      map[string]time.Duration // when the transport reported that a node is gone, until it is heard again
	apart     apart
	beats     beats
	muster    muster
	stands    standings
	draining  drain
	balancing balancing
	outdated  error   // why no group takes part any more; nil: it does
	marking   marking // of the store, because of this

	mostQueued int // messages that wait for a group's disk

	inspector Inspector // or nil

	step   *pending // the step under way; one that waits is its group's. Between steps it has no purpose
	inside bool     // a step is being carried out, so an engine's answers wait for its end
	fx     effects
	spare  spare

	quiet     []*Group      // groups that leave their beats to nodes, and are not packed yet
	packs     time.Duration // when they are; 0: there are none
	keepsOpen bool          // no groups are packed
}

// NewNode is a node without groups.
func NewNode(self string, edge Edge) *Node {
	n := &Node{self: self, edge: edge, peers: newPeers(), lost: make(map[string]time.Duration), step: new(pending)}
	n.muster.most, n.muster.limit, n.beats.most, n.mostQueued = usualCampaigns, mostCampaigns, rpc.MaxLeavings, maxQueued
	n.fx.node = n
	return n
}

// Inspect sets the node's inspector.
func (n *Node) Inspect(by Inspector) { n.inspector = by }

// LimitQueues bounds the messages that wait for a group's disk. Without it, the bound suits real nodes.
func (n *Node) LimitQueues(most int) { n.mostQueued = most }

// At begins a turn. The driver reads the time after everything that it will report in the turn has
// happened. So no message of the turn arrived later than now, and a promise that a member makes is
// no shorter than the sender believes. And nothing is sent before now, so a lease that is counted
// from it is no longer than the promises.
func (n *Node) At(now time.Duration) { n.now = now }

// EndTurn rings the alarms that are due, sends what has gathered for each node, and saves for all
// groups that wait for the disk.
func (n *Node) EndTurn() {
	n.endOutdated()
	n.watch()
	n.pack()
	n.lookAtAll()
	for range usualTurn {
		g := n.alarms.ripe(n.now)
		if g == nil {
			break
		}
		alarm := g.alarm // the look may set another one
		n.askStalled(g)
		n.lookAtAbility(g)
		if n.mayRest(g) {
			n.rest(g)
			continue
		}
		if n.queues(g) {
			n.queue(g, alarm)
			continue
		}
		n.give(g, &Input{Kind: Ring, Number: alarm}, purpose{})
		if g.Waits() && g.Role == memberstate.Leader {
			n.alarms.set(g, n.now+g.Rules.Timing.Heartbeat) // to look again; the queue keeps the ring once
		}
	}
	n.campaign()
	n.moveSome()
	n.balance()
	n.leaveWaiting()
	n.sendBeats()
	n.flush()
	n.save()
}

// Next is when a turn is due at the latest; false if the node only waits for others.
func (n *Node) Next() (time.Duration, bool) {
	due, rings := n.alarms.next()
	if watch, watches := n.nextWatch(); watches && (!rings || watch < due) {
		return watch, true
	}
	return due, rings
}

// Start makes a restored group take part.
func (n *Node) Start(g *Group) {
	g.running = true
	n.enlist(g.Electorate)
	if g.Rules.Vouch > 0 {
		n.abilityOf(g).heard = n.now // it has until then to say its first word
	}
	g.engine.Show(g.view())
	n.give(g, &Input{Kind: Start}, purpose{})
}

// Deliver takes a message that arrived for a group; nil if this node has no such group. A message
// that cannot be translated is dropped, or answered by the machine as a stranger's.
func (n *Node) Deliver(g *Group, msg *rpc.Message) {
	if g == nil || !g.running {
		n.edge.Drop(DropUnknownGroup, 1)
		return
	}
	from := g.Members.Seat(msg.From)
	switch {
	case msg.To != n.self:
		n.edge.Drop(DropMisaddressed, 1)
	case from == g.Rules.Self:
		n.edge.Drop(DropFromSelf, 1)
	case from == memberstate.Nobody || !msg.WellFormed():
		n.edge.Drop(DropMalformed, 1)
	case msg.Voters != g.Members.Digest():
		n.edge.Drop(DropOtherVoters, 1)
	case msg.Bond != nil && n.beats.own != 0 && g.Rules.All.Has(from) && !n.sound(n.peerOf(g, from), msg.Bond.Session):
	default:
		if len(n.lost) > 0 {
			delete(n.lost, msg.From) // its process is there, or was when it sent this
		}
		if g.Rules.All.Has(from) { // others leave nothing behind
			n.peerOf(g, from).seenAt = n.now
		}
		n.open(g)
		if _, messages := g.Queued(); messages >= n.mostQueued {
			n.edge.Drop(DropQueueFull, 1)
			return
		}
		n.askStalled(g)
		n.toLookAt(g)
		if msg.Kind == rpc.VoteRequest {
			n.rival(g)
		}
		if (msg.Kind == rpc.VoteRequest || msg.Kind == rpc.VoteResponse) && g.Rules.Voters.Has(from) {
			n.peerOf(g, from).votesAt = n.now
		}
		if g.offers() != nil {
			n.present(g, from)
		}
		if msg.Kind == rpc.HeartbeatResponse && g.Rules.All.Has(from) {
			n.answersWithoutBond(g, from, msg)
			if n.bondTaken(g, from, msg); g.Rests() && msg.Result == rpc.Success && msg.Asked == g.Term {
				n.edge.Drop(DropStaleAnswer, 1) // it says what its node says
				return
			}
		}
		n.receive(g, from, msg)
	}
}

// receive does what give does, but is called so often that it does not copy an input first.
func (n *Node) receive(g *Group, from memberstate.Seat, msg *rpc.Message) {
	if g.busy() != nil {
		p := waiting{purpose: purpose{from: msg.From, offered: msg.Bond}}
		g.read(from, msg, &p.Input, n.now)
		n.transientOf(g).add(&p)
		return
	}
	p := n.step
	p.purpose = purpose{from: msg.From, offered: msg.Bond}
	g.read(from, msg, &p.Input, n.now)
	if msg.Mark == rpc.PreVote && p.Input.RoundTrip > 0 {
		n.muster.pace(n.now, p.Input.RoundTrip, g.Rules.Timing.RoundTimeout)
	}
	n.begin(g)
}

// read turns a message that arrived into an input.
func (g *Group) read(from memberstate.Seat, msg *rpc.Message, as *Input, now time.Duration) {
	*as = Input{} // field by field: copying what has just been written would stall the processor
	as.Kind, as.RoundTrip = Receive, g.RoundTrip(&msg.Body, now)
	m := &as.Message
	m.Body = msg.Body
	m.From = from
	switch msg.Leader { // it is mostly one of the two
	case msg.From:
		m.Leader = from
	case msg.To:
		m.Leader = g.Rules.Self
	default:
		m.Leader = g.Members.Seat(msg.Leader)
	}
}

// Give gives a group's machine an input from its engine or its operator: Heard or Stand. Then is
// called when the input has been handled, or when the group has ended.
func (n *Node) Give(g *Group, in *Input, then func()) { n.give(g, in, purpose{then: then}) }

// LeaseOver tells a group that its lease has run out.
func (n *Node) LeaseOver(g *Group, term memberstate.Term) {
	n.open(g)
	g.LeaseOver(term)
	n.attend(g)
}

// LeadReturned tells a group that the engine's Lead has returned; early means that its context had
// not ended. If writes are paused, or about to be, that may have ended Lead, and it is no failure.
func (n *Node) LeadReturned(g *Group, term memberstate.Term, early bool, err error) {
	n.open(g)
	if a := g.ability(); a != nil {
		a.ending = 0
		n.tidyAbility(g)
	}
	if g.LeadReturned(term, early) && !g.pauses() {
		n.edge.LeadFailed(g, term, err)
	}
	n.done(g)
}

// PauseEnded tells a group that its engine has paused its writes, or why it could not.
func (n *Node) PauseEnded(g *Group, number uint32, err error) {
	n.open(g)
	if a := g.ability(); a != nil && g.pausedLast(number) {
		a.pausing = 0
		n.tidyAbility(g)
	}
	if g.PauseEnded(number, err == nil) && err != nil {
		g.transient().attempt.cause = err.Error() // a handover that waits for a pause has its attempt
	}
	n.done(g)
}

// give gives a group's machine an input, or keeps it until the step under way is done.
func (n *Node) give(g *Group, in *Input, what purpose) {
	switch {
	case !g.running:
		if what.then != nil {
			what.then()
		}
	case g.busy() != nil:
		n.transientOf(g).add(&waiting{*in, what})
	default:
		n.open(g)
		n.step.Input = *in
		n.step.purpose = what
		n.begin(g)
	}
}

// drain gives the machine the inputs that had to wait.
func (n *Node) drain(g *Group) {
	for all, _ := g.Queued(); all > 0 && g.busy() == nil; all, _ = g.Queued() {
		g.transient().next(n.step)
		if in := &n.step.Input; in.Kind == Ring && n.queuesAgain(g, in.Number) {
			continue
		}
		n.begin(g)
	}
}

func (n *Node) begin(g *Group) {
	p := n.step
	n.enter(g, p)
	n.proceed(g, p, g.Begin(g.Rules, n.now, &p.Step, &n.fx))
}

// attend goes on with what has changed beside a group's steps. A step under way does so itself when
// it is done.
func (n *Node) attend(g *Group) {
	if !g.running || g.busy() != nil || n.inside {
		return
	}
	if n.open(g); g.Rests() && g.idle(g.Rules, n.now, g.LeaseEnd()) {
		return
	}
	p := n.step
	n.enter(g, p)
	n.proceed(g, p, g.Attend(g.Rules, n.now, &p.Step, &n.fx))
}

// resume goes on with the step of a group that waited, or abandons it if the group has ended
// meanwhile.
func (n *Node) resume(g *Group, next func(p *pending) Need) {
	p := g.busy()
	if !g.running {
		n.abandon(&p.purpose)
		n.release(g)
		n.conclude(g)
		return
	}
	n.enter(g, p)
	n.proceed(g, p, next(p))
	n.drain(g)
}

func (n *Node) enter(g *Group, p *pending) {
	n.inside = true
	n.wake(g)
	n.fx.group, n.fx.pending, n.fx.heardBeat = g, p, g.HeardBeat()
}

// proceed goes on after a step, or keeps the step until what it needs is there.
func (n *Node) proceed(g *Group, p *pending, need Need) {
	n.inside = false
	if need != NeedNothing && g.busy() == nil {
		n.transientOf(g).busy, n.step = p, take(&n.spare.steps)
		if g.place != 0 {
			n.beats.waits = append(n.beats.waits, g)
		}
	}
	switch need {
	case NeedLedger:
		g.transient().waits = n.now
		g.engine.AskLedger(p.Output.LedgerTerm)
	case NeedSave:
		n.saves.waiting = append(n.saves.waiting, g)
	case NeedStop:
		err, then := g.defect(p.Output.Err), p.then
		n.release(g)
		n.end(g, err)
		if then != nil {
			then()
		}
	case NeedNothing:
		if g.busy() != nil {
			n.release(g)
		}
		if g.Leaves() && g.Role != memberstate.Leader {
			n.end(g, nil)
		}
		n.tidy(g)
	}
}

// abandon abandons a step that will never be done.
func (n *Node) abandon(what *purpose) {
	if what.then != nil {
		what.then()
	}
}

// LedgerEnd tells a group where its engine's ledger ends, as AskLedger asked. Heard is the largest
// term whose leader the engine has heard of by now, and err says why there is no answer. A ledger
// that breaks its contract ends the group.
func (n *Node) LedgerEnd(g *Group, end memberstate.Position, heard memberstate.Term, err error) {
	if err != nil {
		n.end(g, err)
	}
	n.resume(g, func(p *pending) Need { return g.Ledger(g.Rules, n.now, &p.Step, &n.fx, end, heard) })
}
