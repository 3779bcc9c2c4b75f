// The stage: a small world in which tests put machines and see what they do.
// Time is virtual, messages take a while, links can be cut or held, members
// crash and come back with what their disk kept. Every step of every machine is
// checked against the invariants.

package protocol

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// stage is the world. It is single-threaded, and the same seed gives the same play.
type stage struct {
	t       tester
	now     time.Duration
	actors  []*actor // by seat - 1
	links   map[link]*linkState
	delay   time.Duration
	saving  time.Duration // how long a save takes
	random  *rand.Rand
	events  eventQueue
	seq     int
	checker *invariants
	tell    func(format string, args ...any) // what a script prints; nil: nothing
}

// tester is what a stage needs of a test, be it one of package testing or of rapid.
type tester interface {
	require.TestingT
	Helper()
	Fatalf(format string, args ...any)
}

type link struct{ from, to memberstate.Seat }

type linkState struct {
	cut  bool
	hold bool
	held []func()
}

// actor is one member on the stage.
type actor struct {
	stage       *stage
	id          string
	rules       Rules
	machine     Machine
	incarnation int
	alive       bool
	disk        memberstate.HardState // what a crash leaves
	ledger      memberstate.Position
	promised    memberstate.Term // what the engine promised by LedgerEnd
	step        *Execution       // waits for the disk
	from        memberstate.Seat // whom step answers
	queue       []actorInput
	sentBeats   map[uint32]time.Duration
	sentBallots map[uint32]time.Duration
	replied     Message // its newest answer
	noPause     bool    // the engine never pauses its writes
	deadDisk    bool    // saves never end
}

type actorInput struct {
	Input
	from memberstate.Seat
}

// event is something that happens at a time; equal times happen in order.
type event struct {
	at  time.Duration
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// stageOptions describe a group. The zero value, with members, is the default.
type stageOptions struct {
	members   []memberstate.Member
	timing    Timing
	preferred []string
	leases    bool
	noPreVote bool
	noRanks   bool
	seed      uint64
}

func newStage(t tester, o stageOptions) *stage {
	t.Helper()
	if o.timing == (Timing{}) {
		o.timing = DefaultTiming()
	}
	s := &stage{
		t: t, delay: time.Millisecond, links: map[link]*linkState{},
		random: rand.New(rand.NewPCG(o.seed, 1)), checker: newInvariants(t),
	}
	for _, m := range o.members {
		members, err := memberstate.NewMembers(o.members)
		require.NoError(t, err)
		require.NoError(t, o.timing.Validate(o.leases))
		rules := &Rules{
			Self: members.Seat(m.ID), Voters: members.Voters(), All: members.All(), Timing: o.timing,
			PreVote: !o.noPreVote, Ranks: !o.noRanks,
		}
		for _, id := range o.preferred {
			rules.Preferred = rules.Preferred.With(members.Seat(id))
		}
		if o.leases {
			rules.Lease = o.timing.Detection()
		}
		s.actors = append(s.actors, &actor{stage: s, id: m.ID, rules: *rules})
	}
	slices.SortFunc(s.actors, func(a, b *actor) int { return int(a.rules.Self) - int(b.rules.Self) })
	return s
}

// actor finds a member by its id.
func (s *stage) actor(id string) *actor {
	for _, a := range s.actors {
		if a.id == id {
			return a
		}
	}
	s.t.Fatalf("no member %q on this stage", id)
	return nil
}

func (s *stage) at(wait time.Duration, do func()) {
	s.seq++
	heap.Push(&s.events, event{at: s.now + wait, seq: s.seq, do: do})
}

// run plays for a while.
func (s *stage) run(d time.Duration) {
	end := s.now + d
	for len(s.events) > 0 && s.events[0].at <= end {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

// runUntil plays until a condition holds, or fails the test.
func (s *stage) runUntil(limit time.Duration, what string, holds func() bool) {
	s.t.Helper()
	end := s.now + limit
	for !holds() {
		if len(s.events) == 0 || s.events[0].at > end {
			s.t.Fatalf("not within %v: %s\n%s", limit, what, s)
		}
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

// startAll starts every member, each with an empty disk.
func (s *stage) startAll() {
	for _, a := range s.actors {
		a.start()
	}
}

// leader is the leader of the largest term that is led, nil if none is.
func (s *stage) leader() *actor {
	var leader *actor
	for _, a := range s.actors {
		if a.alive && a.machine.Role == memberstate.Leader && (leader == nil || a.machine.Term > leader.machine.Term) {
			leader = a
		}
	}
	return leader
}

// settled says whether all living members follow one leader.
func (s *stage) settled() bool {
	leader := s.leader()
	for _, a := range s.actors {
		if a.alive && (leader == nil || a.machine.Leader != leader.rules.Self || a.machine.Term != leader.machine.Term) {
			return false
		}
	}
	return leader != nil
}

// elect starts all and returns who leads.
func (s *stage) elect() *actor {
	s.t.Helper()
	s.startAll()
	s.runUntil(time.Minute, "a first leader", s.settled)
	return s.leader()
}

// link is the state of a directed link.
func (s *stage) link(from, to *actor) *linkState {
	key := link{from.rules.Self, to.rules.Self}
	if s.links[key] == nil {
		s.links[key] = &linkState{}
	}
	return s.links[key]
}

// cutOff cuts, or heals, all links of one member, both ways.
func (s *stage) cutOff(a *actor, cut bool) {
	for _, b := range s.actors {
		s.link(a, b).cut, s.link(b, a).cut = cut, cut
	}
}

// release delivers what a link has held.
func (s *stage) release(from, to *actor) {
	l := s.link(from, to)
	held := l.held
	l.hold, l.held = false, nil
	for _, deliver := range held {
		s.at(s.delay, deliver)
	}
}

// String is who is what, for failures.
func (s *stage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %v:", s.now)
	for _, a := range s.actors {
		fmt.Fprintf(&b, "\n  %s", a)
	}
	return b.String()
}

func (a *actor) String() string {
	if !a.alive {
		return a.id + " is down"
	}
	text := fmt.Sprintf("%s is %v in term %d", a.id, a.machine.Role, a.machine.Term)
	if a.machine.Role != memberstate.Leader && a.machine.Leader != memberstate.Nobody {
		text += " of " + a.name(a.machine.Leader)
	}
	return text
}

func (a *actor) name(seat memberstate.Seat) string {
	if seat == memberstate.Nobody || int(seat) > len(a.stage.actors) {
		return fmt.Sprintf("seat %d", seat)
	}
	return a.stage.actors[seat-1].id
}

// start begins an incarnation with what the disk has.
func (a *actor) start() {
	a.alive = true
	a.incarnation++
	a.promised = 0
	a.machine = NewMachine(&a.rules, a.disk)
	a.step, a.queue = nil, nil
	a.sentBeats, a.sentBallots = map[uint32]time.Duration{}, map[uint32]time.Duration{}
	a.give(Input{Kind: Start})
}

// crash ends an incarnation. A save under way is lost.
func (a *actor) crash() { a.alive = false }

// later does something later, unless the member has crashed by then.
func (a *actor) later(wait time.Duration, do func()) {
	incarnation := a.incarnation
	a.stage.at(wait, func() {
		if a.alive && a.incarnation == incarnation {
			do()
		}
	})
}

func (a *actor) give(in Input) { a.giveFrom(in, memberstate.Nobody) }

func (a *actor) giveFrom(in Input, from memberstate.Seat) {
	if !a.alive {
		return
	}
	if a.step != nil {
		a.queue = append(a.queue, actorInput{in, from})
		return
	}
	before := a.machine
	a.from = from
	x := &Execution{Input: in}
	need := x.Begin(&a.machine, &a.rules, a)
	for need == NeedLedger {
		require.Equal(a.stage.t, before, a.machine, "a step that needs the ledger has not happened")
		a.promised = max(a.promised, x.Output.LedgerTerm)
		need = x.Ledger(&a.machine, &a.rules, a, a.ledger)
	}
	require.NoError(a.stage.t, x.Output.Err)
	a.stage.checker.stepped(a, &before, x)
	if need == NeedSave {
		a.step = x
		if !a.deadDisk {
			a.later(a.stage.saving, func() { a.saved(a.machine.HardState) })
		}
		return
	}
	a.after()
}

// saved goes on after the disk.
func (a *actor) saved(hard memberstate.HardState) {
	a.disk = hard
	x := a.step
	a.step = nil
	x.Saved(a)
	a.after()
	for a.step == nil && len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		a.giveFrom(next.Input, next.from)
	}
}

// after plays the engine: it pauses when asked to, and its Lead returns at once
// when the term is lost.
func (a *actor) after() {
	if a.machine.Handover().Phase == Pausing && !a.noPause {
		a.give(Input{Kind: Paused})
	}
	if a.machine.serving && a.machine.Role != memberstate.Leader && a.step == nil {
		a.give(Input{Kind: Served, Number: a.machine.office.beat})
	}
}

// ask has this member asked by another one, and returns the answer.
func (a *actor) ask(by *actor, body rpc.Body) rpc.Result {
	a.replied = Message{}
	a.receive(&Message{From: by.rules.Self, Leader: by.rules.Self, Body: body})
	a.stage.run(0)
	return a.replied.Result
}

// The actor's effects.

func (a *actor) Withdraw() {}

func (a *actor) Publish() {
	a.stage.checker.published(a)
	a.note("%s", a)
}

func (a *actor) Reply(m *Message) {
	a.replied = *m
	if a.stage.tell != nil && m.Result != rpc.Accept && m.Result != rpc.Success {
		question := m.Kind - 1
		text := question.String()
		if m.Mark == rpc.PreVote {
			text = m.Mark.String()
		}
		a.note("%s answers %s's %s with %v", a.id, a.name(a.from), text, m.Result)
	}
	a.transmit(a.from, m)
}

func (a *actor) Send(to memberstate.Set, m *Message) {
	switch m.Kind {
	case rpc.Heartbeat:
		a.sentBeats[m.Round] = a.stage.now
	case rpc.VoteRequest:
		what := "votes"
		if m.Mark == rpc.PreVote {
			what = "pre-votes"
		}
		a.sentBallots[m.Round] = a.stage.now
		a.note("%s asks for %s in term %d, marked %v", a.id, what, m.Term, m.Mark)
	case rpc.TakeLeadership:
		what := "to take over"
		if m.Mark == rpc.PreVote {
			what = "whether it could take over"
		}
		for seat := range to.Seats() {
			a.note("%s asks %s %s at %v", a.id, a.name(seat), what, m.Ledger)
		}
	default: // answers go to Reply
	}
	for seat := range to.Seats() {
		a.transmit(seat, m)
	}
}

func (a *actor) Arm(alarm Alarm) {
	wait := alarm.Min
	if spread := alarm.Max - alarm.Min; spread > 0 {
		wait += time.Duration(a.stage.random.Int64N(int64(spread)))
	}
	a.later(wait, func() { a.give(Input{Kind: Ring, Number: alarm.Number}) })
}

func (a *actor) Judge(rpc.Mark, Judgement) {}

func (a *actor) Drop(Drop) {}

func (a *actor) note(format string, args ...any) {
	if a.stage.tell != nil {
		a.stage.tell(format, args...)
	}
}

// transmit carries one message over a link.
func (a *actor) transmit(to memberstate.Seat, m *Message) {
	a.stage.checker.sends(a, m)
	s := a.stage
	b := s.actors[to-1]
	sent := *m
	sent.From = a.rules.Self
	deliver := func() { b.receive(&sent) }
	switch l := s.link(a, b); {
	case l.cut:
	case l.hold:
		l.held = append(l.held, deliver)
	default:
		s.at(s.delay, deliver)
	}
}

func (a *actor) receive(m *Message) {
	in := Input{Kind: Receive, Message: *m}
	sent := a.sentBeats
	if m.Kind == rpc.VoteResponse {
		sent = a.sentBallots
	}
	if at, ok := sent[m.Round]; ok && m.Result != 0 {
		in.RoundTrip = a.stage.now - at
	}
	a.giveFrom(in, m.From)
}

// threeVoters is the smallest group that can lose a member.
func threeVoters() []memberstate.Member { return memberstate.Voters("n0", "n1", "n2") }

// lease is until when the member holds a lease.
func (a *actor) lease() (time.Duration, bool) {
	beat := a.machine.LeaseBeat()
	if !a.alive || beat == 0 {
		return 0, false
	}
	t := a.rules.Timing
	until := a.sentBeats[beat] + t.Detection() - t.DriftMargin
	return until, until > a.stage.now
}
