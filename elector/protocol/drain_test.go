// To whom a node that drains gives its groups, and when.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestWhoTakesAGroupFirst(t *testing.T) {
	for what, c := range map[string]struct {
		leads             [2]uint32 // what n1 and n2 have said, and one more
		given             [2]int64
		extra             [2]uint32 // by how much more these groups weigh
		capacity          [2]uint16
		weight            int // the group's
		answer, preferred memberstate.Set
		drains            bool // n2 does
		first             string
	}{
		"who leads fewer groups":                {leads: [2]uint32{8, 5}, first: "n2"},
		"with those that are given":             {leads: [2]uint32{8, 5}, given: [2]int64{0, 4}, first: "n1"},
		"who says how many it leads":            {leads: [2]uint32{8, 0}, first: "n1"},
		"nobody says that":                      {first: ""},
		"whose groups weigh less":               {leads: [2]uint32{8, 5}, extra: [2]uint32{1, 5}, first: "n1"},
		"who can do more":                       {leads: [2]uint32{8, 5}, capacity: [2]uint16{200, 0}, first: "n1"},
		"who can do more, if all are idle":      {leads: [2]uint32{1, 1}, capacity: [2]uint16{0, 200}, first: "n2"},
		"whose load is smaller with the group":  {leads: [2]uint32{4, 3}, capacity: [2]uint16{200, 100}, weight: 9, first: "n1"},
		"who answers":                           {leads: [2]uint32{8, 5}, answer: memberstate.SetOf(2), first: "n1"},
		"who serves":                            {leads: [2]uint32{8, 5}, drains: true, first: "n1"},
		"a preferred voter":                     {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(1, 2), first: "n1"},
		"another one if that does not answer":   {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(2), answer: memberstate.SetOf(3), first: "n2"},
		"of two preferred voters as of any two": {leads: [2]uint32{8, 5}, preferred: memberstate.SetOf(2, 3), first: "n2"},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFlock(t)
			g := f.groups[0]
			changed(g).Preferred = c.preferred
			g.Weigh(c.weight)
			for i, id := range []string{"n1", "n2"} {
				f.node.peers.members[id].leads, f.node.peers.members[id].given = c.leads[i], c.given[i]
				f.node.peers.members[id].extra, f.node.peers.members[id].capacity = c.extra[i], c.capacity[i]
			}
			if c.drains {
				f.node.Beat(&rpc.Beat{From: "n2", To: "n0", Session: n1At5, Number: 1, Leads: c.leads[1], Standing: rpc.Standing{State: rpc.Draining, Changes: 1}})
			}
			if c.answer == 0 {
				c.answer = memberstate.SetOf(2, 3)
			}
			g.Role = memberstate.Leader
			g.office.acks[g.office.beat%recentBeats] = c.answer
			assert.Equal(t, c.first, f.node.takesFirst(g))
			if c.first != "" {
				p := f.node.peers.members[c.first]
				assert.Equal(t, c.given[p.id[1]-'1']+max(int64(c.weight), 1), p.given)
				f.node.Beat(&rpc.Beat{From: p.id, To: "n0", Session: n1At5, Number: 2, Leads: 9})
				assert.Zero(t, p.given, "it has counted them by now")
			}
		})
	}
}

// stuck is a node that drains, and a group there that nobody takes.
func stuck(t *testing.T) (f *flock, g *Group) {
	t.Helper()
	f, _ = leasing(t, 1)
	f.node.draining = drain{on: true, most: 1, moves: map[*Group]move{}}
	return f, f.groups[0]
}

// It is tried again after a detection time, and after twice as long each time. After the third try it is said to be stuck for good.
func TestAGroupThatIsStuckIsTriedEverMoreRarely(t *testing.T) {
	f, g := stuck(t)
	changed(g).Timing = slow
	n, d := f.node, &f.node.draining
	for tries := range 2 * maxTries {
		m, tried := d.moves[g]
		if tried {
			d.forget(&m)
		}
		n.sticks(g, m, StuckBehind)
		assert.Equal(t, n.now+slow.Detection()<<min(tries, maxTries-1), d.moves[g].next, "try %d", tries)
		assert.Equal(t, tries < 2, d.young == 1, "try %d", tries)
		assert.Equal(t, 1, d.stuck[StuckBehind], "try %d", tries)
		n.At(d.moves[g].next)
		n.retry()
		assert.Equal(t, []*Group{g}, d.waiting, "try %d", tries)
		d.waiting = nil
		g.notes.set(toMove, false)
	}
}

func TestAGroupThatIsStuckIsTriedAtOnceWhenANodeServesAgain(t *testing.T) {
	f, g := stuck(t)
	n, d := f.node, &f.node.draining
	n.peerOf(g, 2).standing = rpc.Standing{State: rpc.Draining, Changes: 1}
	n.sticks(g, move{}, StuckLeaving)
	assert.Empty(t, d.waiting)
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Standing: rpc.Standing{Changes: 2}})
	assert.Equal(t, []*Group{g}, d.waiting)
}

// Otherwise who orders a drain again is told at once that it is stuck, although it has only begun.
func TestADrainThatIsOrderedAgainIsNotStuckUntilAllWereTriedAgain(t *testing.T) {
	f, g := awake(t)
	f.hears(g, 0)
	n, d := f.node, &f.node.draining
	n.sticks(g, move{tries: hopeless - 1}, StuckBehind)
	n.showProgress()
	require.True(t, d.shown.Hopeless)
	n.Drain(0)
	assert.False(t, d.shown.Hopeless)
	assert.Equal(t, 1, d.shown.Moving)
}

// awake is a node that drains, and a group that it leads, whose leader beats by itself.
func awake(t *testing.T) (f *flock, g *Group) {
	t.Helper()
	f, g, _ = offering(t)
	clear(g.office.acks[:])
	f.node.countLed(g)
	f.node.draining = drain{on: true, most: 1, moves: map[*Group]move{}}
	return f, g
}

// answers has n1 answer the newest heartbeat of a group, and say who is not able.
func (f *flock) hears(g *Group, unable memberstate.Set) {
	msg := taken(0)
	msg.From, msg.To, msg.Group, msg.Voters, msg.Round, msg.Unable = "n1", "n0", g.name, g.Members.Digest(), g.Beat(), unable
	f.node.Deliver(g, msg)
}

// Its next try may be a hundred detection times away.
func TestAGroupIsTriedAtOnceWhenSomebodyCanTakeItOverAgain(t *testing.T) {
	both := memberstate.SetOf(2, 3)
	for what, c := range map[string]struct {
		why                      Stuck
		answered, unable, leaves memberstate.Set // before n1 answers
		says                     memberstate.Set // who is not able, in n1's answer
		moving, early, protected bool
		tried                    bool
	}{
		"n1 is able again":                       {why: StuckNotAble, answered: both, unable: both, tried: true},
		"n1 answers again":                       {why: StuckNoVoter, tried: true},
		"n1 answers, and the other drains":       {why: StuckLeaving, answered: memberstate.SetOf(3), leaves: memberstate.SetOf(3), tried: true},
		"n1 is able again, and n2 was":           {why: StuckNotAble, answered: both, unable: memberstate.SetOf(2), tried: true},
		"the node is protected":                  {why: StuckNotAble, answered: both, unable: both, protected: true, tried: true},
		"n1 is not able still":                   {why: StuckNotAble, answered: both, unable: both, says: memberstate.SetOf(2)},
		"n1 was able before":                     {why: StuckNotAble, answered: both, unable: memberstate.SetOf(3)},
		"n1 drains":                              {why: StuckLeaving, leaves: memberstate.SetOf(2)},
		"its ledger was behind":                  {why: StuckBehind, answered: both, unable: both},
		"it is handed over":                      {why: StuckNotAble, answered: both, unable: both, moving: true},
		"it was tried before its time last time": {why: StuckNotAble, answered: both, unable: both, early: true},
	} {
		f, g := awake(t)
		n, d := f.node, &f.node.draining
		n.stands.protected = c.protected
		g.office.acks[(g.office.beat-3)%recentBeats] = c.answered // round trips are long
		g.unable, g.maintenance.LastChoice = c.unable, c.leaves
		n.sticks(g, move{heirs: g.heirs(), early: c.early}, c.why)
		if c.moving {
			d.moves[g] = move{order: new(Order), why: c.why}
		}
		f.hears(g, c.says)
		assert.Equal(t, c.tried, len(d.waiting) == 1, what)
		assert.Equal(t, !c.moving, len(n.StuckGroups()) == 1, what)
	}
}

// It may have become able while others were asked.
func TestWhoWasNotAbleWhenAGroupWasTriedMayTakeItOverAfterwards(t *testing.T) {
	f, g := awake(t)
	d := &f.node.draining
	d.moves[g] = move{order: new(Order), heirs: memberstate.SetOf(2)}
	f.hears(g, memberstate.SetOf(2))
	assert.Zero(t, d.moves[g].heirs, "n1 says that it is not able")
	f.hears(g, 0)
	f.node.sticks(g, d.moves[g], StuckNotAble)
	f.hears(g, 0)
	assert.Equal(t, []*Group{g}, d.waiting)
}

// Otherwise a voter that comes and goes would have the node try on and on, or put the next regular try off.
func TestATryBeforeItsTimeIsOneInEachWait(t *testing.T) {
	f, g := awake(t)
	n, d := f.node, &f.node.draining
	n.sticks(g, move{}, StuckNotAble)
	for tries := range maxTries + 1 {
		next := n.now + g.Rules.Timing.Detection()<<min(tries, maxTries-1)
		assert.Equal(t, next, d.moves[g].next)
		hurried := d.moves[g]
		hurried.next = 0
		d.moves[g] = hurried
		n.move(g) // nobody answers
		assert.Equal(t, next, d.moves[g].next, "it waits as long as before")
		assert.True(t, d.moves[g].early)
		n.move(g)
		assert.False(t, d.moves[g].early, "this one is regular")
	}
	assert.Equal(t, 1, d.stuck[StuckNoVoter])
	assert.Zero(t, d.young)
}

// Entries for which the time has come leave, although others wait.
func TestWhatHasBeenTriedAgainTakesNoRoom(t *testing.T) {
	var l retries
	for i := range 1000 {
		l.add(retry{at: time.Duration(i)})
		l.first = max(0, len(l.all)-3) // three of them wait
	}
	assert.Less(t, len(l.all), 10)
	for i, r := range l.all[l.first:] {
		assert.EqualValues(t, 997+i, r.at)
	}
	l.add(retry{at: 998})
	var order []time.Duration
	for _, r := range l.all[l.first:] {
		order = append(order, r.at)
	}
	assert.Equal(t, []time.Duration{997, 998, 998, 999}, order)
}

// The last voter whose node serves may begin to drain while it is asked. The group stays then: it would only move from one node that drains to
// another.
func TestAGroupIsNotGivenToANodeThatBeginsToDrain(t *testing.T) {
	for what, c := range map[string]struct {
		phase HandoverPhase
		drain memberstate.Set
		over  bool
	}{
		"all others drain":         {phase: Probing, drain: memberstate.SetOf(2, 3), over: true},
		"one serves still":         {phase: Probing, drain: memberstate.SetOf(3)},
		"one has accepted already": {phase: Pausing, drain: memberstate.SetOf(2, 3)},
	} {
		f, g := awake(t)
		d := &f.node.draining
		d.moves[g] = move{order: new(Order)}
		g.office.acks[g.office.beat%recentBeats] = memberstate.SetOf(2, 3)
		g.handover = Handover{Phase: c.phase, Target: 2, patience: 9}
		g.maintenance.LastChoice = c.drain
		f.hears(g, 0)
		assert.Equal(t, c.over, len(d.refused) == 1, what)
	}
}

// What has kept it is what has to change, whatever the voters said before.
func TestAGroupIsStuckBecauseAllDrainIfTheyDoByThen(t *testing.T) {
	for leaves, why := range map[memberstate.Set]Stuck{0: StuckBehind, memberstate.SetOf(2, 3): StuckLeaving} {
		f, g := awake(t)
		n, o := f.node, new(Order)
		g.office.acks[0] = memberstate.SetOf(2, 3)
		g.maintenance.LastChoice = leaves
		n.draining.moves[g], n.draining.moving = move{order: o}, 1
		n.moveEnds(g, o, failure(HinderedBehind))
		assert.Equal(t, why, n.draining.moves[g].why)
	}
}

// It may be lost, stopped or handed over by an operator before its turn comes.
func TestAGroupThatIsGivenUpHasMoved(t *testing.T) {
	for name, begin := range map[string]func(n *Node, g *Group){
		"it waits for its turn":       func(*Node, *Group) {},
		"it is handed over":           func(n *Node, g *Group) { n.move(g) },
		"it could not be handed over": func(n *Node, g *Group) { n.sticks(g, move{}, StuckBehind) },
	} {
		f, g := stuck(t)
		n := f.node
		n.countLed(g)
		begin(n, g)
		require.Zero(t, n.Progress().Moved, name)
		g.Role = memberstate.Follower
		n.countLed(g)
		assert.Equal(t, 1, n.Progress().Moved, name)
	}
}

// A beat is late that says what its sender was before.
func TestAnOlderStandingDoesNotCount(t *testing.T) {
	f := newFlock(t)
	for changes := range uint32(2) {
		f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: uint64(changes) + 1, Standing: rpc.Standing{Changes: 2 - changes, State: rpc.NodeState(changes)}})
		assert.Equal(t, rpc.Standing{Changes: 2}, f.node.peers.members["n1"].standing)
	}
}

// Others may elect it again until they have heard that it drains.
func TestANodeIsDrainedAHeartbeatAfterItsLastGroup(t *testing.T) {
	for _, timing := range []Timing{DefaultTiming(), slow} { // an operator may have changed it since the group joined
		f, g := stuck(t)
		n := f.node
		require.NoError(t, n.SetTiming(g, timing))
		n.stand(rpc.Draining)
		n.stands.led, n.stands.ledAt = 0, n.now
		n.At(n.now + timing.Heartbeat - 1)
		n.standDrained()
		assert.Equal(t, rpc.Draining, n.Standing().State)
		n.At(n.now + 1)
		n.standDrained()
		assert.Equal(t, rpc.Drained, n.Standing().State)
	}
}

// While it waited for its time to be over, no other group could take its place.
func TestAHandoverThatAllRefuseIsGivenUpAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answered                   []memberstate.Seat
		catchingUp, silent, leaves memberstate.Set
		over                       bool
	}{
		"all have refused":                    {answered: []memberstate.Seat{2, 3}, over: true},
		"one has not answered":                {answered: []memberstate.Seat{2}},
		"one's ledger is not there":           {answered: []memberstate.Seat{2, 3}, catchingUp: memberstate.SetOf(3)},
		"the other one is silent":             {answered: []memberstate.Seat{2}, silent: memberstate.SetOf(3), over: true},
		"the other one's node does not serve": {answered: []memberstate.Seat{2}, leaves: memberstate.SetOf(3), over: true},
	} {
		f, g := awake(t)
		n, d := f.node, &f.node.draining
		d.moves[g] = move{order: new(Order)}
		g.handover.Phase = Probing
		g.office.acks[g.office.beat%recentBeats] = g.Rules.Voters &^ c.silent
		g.maintenance.LastChoice = c.leaves
		a := &attempt{answered: map[memberstate.Seat]Obstacle{}, catchingUp: c.catchingUp}
		for _, seat := range c.answered {
			a.answered[seat] = Obstacle{}
		}
		n.transientOf(g).attempt = a
		n.reconsiderMove(g)
		assert.Equal(t, c.over, len(d.refused) == 1, name)
	}
}

// A voter that was asked again may have accepted in the turn in which the last of the others refused. Then the engine pauses
// already. Or another one may have answered a heartbeat by the end of the turn.
func TestAHandoverIsGivenUpIfNobodyIsLeftWhenTheTurnEnds(t *testing.T) {
	for what, c := range map[string]struct {
		phase  HandoverPhase
		answer memberstate.Set
		over   bool
	}{
		"nobody answers":            {phase: Probing, over: true},
		"another one has answered":  {phase: Probing, answer: memberstate.SetOf(3)},
		"one has accepted":          {phase: Pausing},
		"one has been told to lead": {phase: Taking},
	} {
		f, g := awake(t)
		n, d := f.node, &f.node.draining
		var outcome error
		o := &Order{Settled: func(err error) { outcome = err }}
		d.moves[g], d.refused = move{order: o}, []*Group{g, g}
		g.office.acks[0] = c.answer
		g.handover = Handover{Phase: c.phase, Target: 2}
		x := n.transientOf(g)
		x.orders, x.attempt = []*Order{o}, &attempt{reason: ToAnyone}
		n.giveUpRefused()
		assert.Equal(t, c.over, outcome != nil, what)
		assert.Empty(t, d.refused, what)
	}
}

// The handover that it has begun goes on when a drain ends, and is none of the next drain's.
func TestAHandoverOfAnEarlierDrainIsNotCounted(t *testing.T) {
	c := newCrossing(t, 1)
	c.passes(200 * time.Millisecond)
	n, g := c.leads.node, c.leads.groups[0]
	n.Drain(0)
	n.EndTurn()
	first := n.draining.moves[g].order
	require.NotNil(t, first)
	n.Serve()
	n.Drain(0)
	n.EndTurn()
	want := Progress{Stuck: [Stucks]int{StuckBusy: 1}}
	for _, when := range []string{"while it is under way", "when it has failed"} {
		now := n.Progress()
		assert.Equal(t, want, Progress{Moving: now.Moving, Stuck: now.Stuck}, when)
		n.Withdraw(g, first, ErrTransferFailed)
	}
}

// Two operators may disagree: one lets the node serve again while groups wait for their turn, and the other drains it anew.
func TestAGroupThatWaitedWhenADrainEndedWaitsAgain(t *testing.T) {
	c := newCrossing(t, 3)
	c.passes(200 * time.Millisecond)
	n := c.leads.node
	n.Drain(1)
	n.EndTurn()
	require.Equal(t, 1, n.Progress().Moving, "the others wait")
	n.Serve()
	n.Drain(1)
	assert.ElementsMatch(t, c.leads.groups, n.draining.waiting)
}

// They fail equally often, so they are in one list, and the one that fails first may be tried again last.
func TestAGroupThatIsStuckDoesNotWaitForOneOfLongerIntervals(t *testing.T) {
	f, _ := leasing(t, 3)
	n, d := f.node, &f.node.draining
	n.draining = drain{on: true, most: 1, moves: map[*Group]move{}}
	n.stands.led = 3
	long, short, next := f.groups[0], f.groups[1], f.groups[2]
	changed(long).Timing = slow
	for _, g := range []*Group{long, short, next} {
		n.sticks(g, move{}, StuckBehind)
	}
	at, waits := n.nextMove()
	assert.True(t, waits)
	assert.Equal(t, n.now+short.Rules.Timing.Detection(), at)
	n.At(at)
	n.retry()
	assert.Equal(t, []*Group{short, next}, d.waiting)
	at, waits = n.nextMove()
	assert.True(t, waits)
	assert.Zero(t, at, "they have their turn")
	d.waiting, d.first = nil, 0
	at, _ = n.nextMove()
	assert.Equal(t, d.moves[long].next, at)
}
