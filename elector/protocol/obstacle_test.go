// What is remembered of a handover, to say why it failed.

package protocol

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A voter's answer is an obstacle only if the leader of this term has asked whether it could take over. It may
// answer an older leader, or that it was told to stand in an earlier handover.
func TestWhichAnswersAreObstacles(t *testing.T) {
	d, _ := pair(t)
	d.node.Obey(&d.group, &Order{To: "n1", Settled: func(error) {}})
	d.answer()
	for what, c := range map[string]struct {
		asked memberstate.Term
		mark  rpc.Mark
		is    bool
	}{
		"to the question":        {d.group.Term, rpc.PreVote, true},
		"to an older leader":     {d.group.Term - 1, rpc.PreVote, false},
		"to the word to stand":   {d.group.Term, rpc.Plain, false},
		"to the word of another": {d.group.Term - 1, rpc.Plain, false},
	} {
		clear(d.group.transient().attempt.answered)
		d.refuses(rpc.LedgerBehind, c.mark, c.asked)
		assert.Equal(t, c.is, len(d.group.transient().attempt.answered) == 1, what)
	}
}

// refuses is an answer of n1 to the leader's question, or to an earlier one.
func (d *recorder) refuses(why rpc.Result, mark rpc.Mark, asked memberstate.Term) {
	in := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
		Kind: rpc.TakeLeadershipResponse, Mark: mark, Result: why, Asked: asked,
	}}}
	d.node.followHandover(&d.group, &in)
}

// It may be written to all the time, so that it is behind at each answer, and reaches the goal all the same.
func TestAVoterWhoseLedgerGrowsCatchesUp(t *testing.T) {
	d, _ := pair(t)
	d.node.Obey(&d.group, &Order{To: "n1", Settled: func(error) {}})
	d.answer()
	for index := range uint64(3) {
		in := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
			Kind: rpc.TakeLeadershipResponse, Mark: rpc.PreVote, Result: rpc.LedgerBehind, Asked: d.group.Term, Ledger: memberstate.Position{Index: index},
		}}}
		d.node.followHandover(&d.group, &in)
		assert.Equal(t, memberstate.SetOf(2), d.group.transient().attempt.catchingUp, "answer %d", index)
	}
}

// One whose ledger grows may still reach the goal, unless it says something else by then.
func TestTheNewestAnswerOfAVoterIsTheObstacle(t *testing.T) {
	for answer, by := range map[rpc.Result]Hindrance{
		rpc.LedgerBehind: HinderedBehind, rpc.NotFollowing: HinderedNotFollowing, rpc.NotAble: HinderedNotAble,
	} {
		d, _ := pair(t)
		d.node.Obey(&d.group, &Order{To: "n1", Settled: func(error) {}})
		d.answer()
		d.refuses(rpc.LedgerBehind, rpc.PreVote, d.group.Term)
		a := d.group.transient().attempt
		assert.Equal(t, memberstate.SetOf(2), a.catchingUp)
		d.refuses(answer, rpc.PreVote, d.group.Term)
		assert.Equal(t, by, a.answered[2].Hindrance)
		assert.Zero(t, a.catchingUp)
	}
}

// fails rings the leader's alarm until its handover is given up, while the follower answers its heartbeats. It
// returns the reason.
func (d *recorder) fails(f *recorder) string {
	d.t.Helper()
	before := len(d.failed)
	for d.group.Handover().Phase != NoHandover {
		d.ring()
		d.answer()
		deliver([]*recorder{d, f})
	}
	d.did()
	f.did()
	require.Len(d.t, d.failed, before+1)
	return d.failed[before].Reasons()
}

// The engine's answer may be to the pause of an earlier handover, which says nothing about this one.
func TestAPauseThatFailsTooLateIsNoObstacle(t *testing.T) {
	d, f := pair(t)
	o := d.order(f)
	first := d.pause
	d.node.Withdraw(&d.group, o, errors.New("enough"))
	d.did()
	d.failed = nil
	d.order(f)
	d.node.PauseEnded(&d.group, first, errors.New("busy"))
	assert.Equal(t, "n1 could take over, but writes here were not paused in time", d.fails(f))
}

func TestTheObstaclesOfAHandoverAreItsOwn(t *testing.T) {
	d, f := pair(t)
	d.order(f)
	d.node.PauseEnded(&d.group, d.pause, errors.New("busy"))
	require.Len(t, d.failed, 1)
	d.did()
	d.order(f)
	assert.Equal(t, "n1 could take over, but writes here were not paused in time", d.fails(f))
}

// A leader that resigns leads no more, whether another member has taken over or not. It says why none has.
func TestAResignationWithoutAnHeirSaysWhy(t *testing.T) {
	d, f := pair(t)
	resign := &Order{Resign: true, Settled: func(err error) { assert.NoError(t, err) }}
	d.node.Obey(&d.group, resign)
	d.answer()
	for d.group.Handover().Phase != NoHandover {
		d.post = nil // its words are lost, and so are its heartbeats
		d.ring()
		d.answer()
	}
	require.NotEqual(t, memberstate.Leader, d.group.Role)
	require.Len(t, d.failed, 1)
	assert.Equal(t, "n1 is silent", d.failed[0].Reasons())
	assert.Empty(t, f.failed)
}

func TestAHandoverThatSucceedsHasNoObstacle(t *testing.T) {
	d, f := pair(t)
	d.handed(f)
	assert.Empty(t, d.failed)
	assert.Nil(t, d.group.transient().attempt, "and nothing is remembered of it in the member's next office")
}

// At each beat another voter may be asked. All that were asked are remembered, and how far the last one came.
func TestTheCourseOfAHandoverIsRemembered(t *testing.T) {
	d := newRecorders(t, 3)[0]
	both := memberstate.SetOf(2, 3)
	for _, c := range []struct {
		phase  HandoverPhase
		target memberstate.Seat
		want   attempt
	}{
		{Probing, 2, attempt{asked: memberstate.SetOf(2)}},
		{Probing, 3, attempt{asked: both}},
		{Pausing, 3, attempt{asked: both, willing: 3}},
		{Taking, 3, attempt{asked: both, willing: 3, told: true}},
	} {
		d.group.handover = Handover{Phase: c.phase, Target: c.target, Reason: ToAnyone}
		d.node.followHandover(&d.group, new(Input))
		c.want.reason, c.want.answered = ToAnyone, map[memberstate.Seat]Obstacle{}
		assert.Equal(t, &c.want, d.group.transient().attempt)
	}
}

func TestTheObstacleOfAVoter(t *testing.T) {
	behind := map[memberstate.Seat]Obstacle{2: {Hindrance: HinderedBehind}}
	alive, asked := memberstate.SetOf(1, 2, 3), memberstate.SetOf(2)
	for what, c := range map[string]struct {
		attempt attempt
		alive   memberstate.Set
		want    Hindrance
	}{
		"it was not asked":                       {attempt{}, alive, HinderedNotAsked},
		"it was not asked, and is silent":        {attempt{}, 0, HinderedSilent},
		"it was asked":                           {attempt{asked: asked}, alive, HinderedUnanswered},
		"it was asked, and is silent":            {attempt{asked: asked}, 0, HinderedSilent},
		"it has answered":                        {attempt{asked: asked, answered: behind}, alive, HinderedBehind},
		"it has answered, and is silent now":     {attempt{asked: asked, answered: behind}, 0, HinderedBehind},
		"it could take over":                     {attempt{asked: asked, willing: 2}, alive, HinderedNotPaused},
		"it was told to stand":                   {attempt{asked: asked, willing: 2, told: true}, alive, HinderedNotElected},
		"another was told to stand":              {attempt{asked: asked, willing: 3, told: true}, alive, HinderedUnanswered},
		"another could take over, and it is not": {attempt{asked: asked, willing: 3, answered: behind}, alive, HinderedBehind},
	} {
		d := newRecorders(t, 3)[0]
		d.group.office.acks[0] = c.alive
		c.attempt.reason = ToAnyone
		list := d.node.obstacles(&d.group, &c.attempt)
		require.Len(t, list, 2, what)
		assert.Equal(t, "n1", list[0].Voter)
		assert.Equal(t, c.want, list[0].Hindrance, what)
	}
}

// If any voter may take over, the error says of each why it did not, whether it was asked or not. If one was chosen, the error is about that
// one alone.
func TestAHandoverToAnyoneNamesTheObstacleOfEveryVoter(t *testing.T) {
	for reason, want := range map[HandoverReason][]string{
		ToAnyone: {"n1", "n2"}, ToAble: {"n1", "n2"}, ToNamed: {"n1"}, ToPreferred: {"n1"},
	} {
		d := newRecorders(t, 3)[0]
		var named []string
		for _, o := range d.node.obstacles(&d.group, &attempt{reason: reason, asked: memberstate.SetOf(2)}) {
			named = append(named, o.Voter)
		}
		assert.Equal(t, want, named, "reason %d", reason)
	}
}

// Indexes are compared only within a term.
func TestHowFarAVoterIsBehind(t *testing.T) {
	for want, ledger := range map[string]memberstate.Position{
		"(2 entries are missing)":    {Term: 3, Index: 5},
		"(it ends in an older term)": {Term: 2, Index: 9},
	} {
		o := Obstacle{Voter: "n1", Hindrance: HinderedBehind, Ledger: ledger, Goal: memberstate.Position{Term: 3, Index: 7}}
		assert.Contains(t, o.String(), want)
	}
}

// A leader of which something hangs asks nobody whether it could take over: it tells its heir to stand at once. If it can work again
// by then, it leads on when nobody was elected, and says why.
func TestAnHeirThatWasNotAskedFirstWasNotElected(t *testing.T) {
	d := newRecorders(t, 3)[0]
	d.group.office.acks[0] = d.group.Rules.Voters
	d.group.Role = memberstate.Leader
	d.group.handover = Handover{Phase: Taking, Target: 2, Reason: ToAble}
	d.node.followHandover(&d.group, new(Input))
	d.group.handover = Handover{}
	assert.EqualError(t, d.node.whyNotHandedOver(&d.group), "elector: leadership was not transferred: n1 was told to stand, and was not elected in time; n2 was not asked in time")
}

// A failure that a node repeats by itself is no news to its operators. One of their orders has failed for good.
func TestWhichFailuresOfAHandoverAreRepeated(t *testing.T) {
	for what, c := range map[string]struct {
		reason   HandoverReason
		change   func(n *Node)
		repeated bool
	}{
		"somebody has ordered it":  {ToNamed, func(*Node) {}, false},
		"a preferred member":       {ToPreferred, func(*Node) {}, true},
		"the node drains":          {ToAnyone, func(n *Node) { n.draining.on = true }, true},
		"the node balances":        {ToNamed, func(n *Node) { n.balancing.moving = 1 }, true},
		"the node will balance":    {ToNamed, func(n *Node) { n.balancing.every = 1 }, false},
		"the node drained earlier": {ToAnyone, func(n *Node) { n.Drain(0); n.Serve() }, false},
	} {
		d := newRecorders(t, 3)[0]
		d.group.Role = memberstate.Leader
		c.change(d.node)
		d.node.transientOf(&d.group).attempt = &attempt{reason: c.reason}
		require.Error(t, d.node.whyNotHandedOver(&d.group), what)
		assert.Equal(t, []bool{c.repeated}, d.again, what)
	}
}
