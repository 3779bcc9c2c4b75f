// A node that does not hear the leaders of its groups asks for one of them at a time, as long as others hear them.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// questions has time pass, and answers each pre-vote that n2 is asked for. It returns in which groups it was asked.
func (f *flock) questions(lasts time.Duration, answer rpc.Result) (asked []string) {
	f.t.Helper()
	for until := f.node.now + lasts; ; {
		for range 4 { // a step may wait for the ledger and the disk, and another one behind it
			asked = append(asked, f.settle(answer)...)
		}
		at, waits := f.node.Next()
		if require.True(f.t, waits); at > until {
			f.node.At(until)
			return asked
		}
		f.node.At(at)
		f.node.EndTurn()
	}
}

// settle gives the steps that wait what they wait for, and then the answers of n2.
func (f *flock) settle(answer rpc.Result) (asked []string) {
	for _, g := range f.groups {
		if step := g.busy(); step != nil && step.Output.NeedLedger {
			f.node.LedgerEnd(g, memberstate.Position{}, 0, nil)
		}
	}
	f.node.Saved(nil)
	f.node.EndTurn()
	post := f.post
	for f.post = nil; len(post) > 0; post = post[1:] {
		switch m := &post[0]; {
		case m.To != "n2" || m.Kind != rpc.VoteRequest:
		case m.Mark == rpc.PreVote:
			asked = append(asked, m.Group)
			f.answers(m, answer)
		case f.votes:
			f.answers(m, answer)
		}
	}
	return asked
}

// answers has n2 answer a request for its vote.
func (f *flock) answers(m *rpc.Message, result rpc.Result) {
	leader, term := "n1", m.Term-1
	if result == rpc.Accept {
		leader = ""
	}
	if m.Mark != rpc.PreVote {
		term++
	}
	f.node.Deliver(f.Group(m.Group), &rpc.Message{
		Group: m.Group, From: "n2", To: "n0", Leader: leader, Voters: m.Voters,
		Body: rpc.Body{Kind: rpc.VoteResponse, Mark: m.Mark, Round: m.Round, Asked: m.Term, Term: term, Result: result},
	})
}

// inVain is a flock that does not hear n1 any more, and whose groups have asked in vain for long.
func inVain(t *testing.T) (f *flock, heartbeat time.Duration) {
	t.Helper()
	f = newFlock(t)
	timing := f.group.Rules.Timing
	first := f.questions(2*timing.Detection(), rpc.RejectAlreadyHasLeader)
	require.GreaterOrEqual(t, len(first), 3*len(f.groups), "at first all ask again and again")
	f.questions(timing.Detection(), rpc.RejectAlreadyHasLeader)
	return f, timing.Heartbeat
}

func TestGroupsInWhichOthersHaveALeaderTakeTurns(t *testing.T) {
	f, heartbeat := inVain(t)
	asked := f.questions(20*heartbeat, rpc.RejectAlreadyHasLeader)
	assert.InDelta(t, 20, len(asked), 1, "one of all in a heartbeat")
	times := map[string]int{}
	for _, group := range asked {
		times[group]++
	}
	for _, g := range f.groups {
		assert.InDelta(t, 4, times[g.name], 1, g.name)
		assert.Equal(t, memberstate.Candidate, g.Role)
	}
}

// If one is not refused the leaders of all may be gone.
func TestAllAskWhenOneIsNotRefused(t *testing.T) {
	f, heartbeat := inVain(t)
	f.node.LimitCampaigns(len(f.groups))
	asked := f.questions(3*heartbeat, rpc.Accept)
	assert.Subset(t, asked, []string{"g0", "g1", "g2", "g3", "g4"}, "one, and then all others")
	for range 3 {
		asked = f.questions(3*heartbeat, rpc.Accept)
	}
	assert.Greater(t, len(asked), 5, "they are not elected, but they are not refused")
}

func TestAllAskWhenOneIsElected(t *testing.T) {
	f, heartbeat := inVain(t)
	f.node.LimitCampaigns(len(f.groups)) // nobody hears the leaders
	f.votes = true
	asked := f.questions(3*heartbeat, rpc.Accept)
	assert.Subset(t, asked, []string{"g0", "g1", "g2", "g3", "g4"}, "one, and then all others")
	for _, g := range f.groups {
		assert.Equal(t, memberstate.Leader, g.Role)
	}
}

// Otherwise a group that was refused once would wait when it loses its next leader.
func TestWhatWasRefusedInAnEarlierTermDoesNotCount(t *testing.T) {
	f, heartbeat := inVain(t)
	for _, g := range f.groups {
		f.node.Deliver(g, f.heartbeat(g))
		require.Equal(t, memberstate.Follower, g.Role)
	}
	asked := f.questions(f.group.Rules.Timing.Detection()+2*heartbeat, rpc.RejectAlreadyHasLeader)
	assert.Subset(t, asked, []string{"g0", "g1", "g2", "g3", "g4"})
}

// A group that is gone, or follows a leader, keeps no other one waiting.
func TestWhoNeedNotAskAnyMoreKeepsNobodyWaiting(t *testing.T) {
	f, heartbeat := inVain(t)
	f.node.End(f.groups[1])
	f.node.Deliver(f.groups[2], f.heartbeat(f.groups[2]))
	f.node.Deliver(f.groups[3], f.heartbeat(f.groups[3]))
	f.groups = append(f.groups[:1], f.groups[4:]...)
	asked := f.questions(21*heartbeat, rpc.RejectAlreadyHasLeader)
	assert.InDelta(t, 21, len(asked), 1)
	assert.NotContains(t, asked, "g1")
	assert.NotContains(t, asked, "g2")
	assert.NotContains(t, asked, "g3")
}

// A group whose engine hangs keeps the others waiting for a detection time.
func TestAHungGroupDoesNotKeepOthersFromAskingForEver(t *testing.T) {
	f, heartbeat := inVain(t)
	hung := f.groups[0]
	f.groups = f.groups[1:]
	asked := f.questions(f.group.Rules.Timing.Detection()+20*heartbeat, rpc.RejectAlreadyHasLeader)
	assert.NotContains(t, asked, hung.name)
	assert.InDelta(t, 20, len(asked), 2)
}

// Another voter that asks does not hear a leader either. So that group need not wait for its turn.
func TestARivalsRequestEndsTheWait(t *testing.T) {
	f, heartbeat := inVain(t)
	next := f.questions(5*heartbeat, rpc.RejectAlreadyHasLeader)[0] // whose turn was longest ago, so it comes now or next
	late := f.Group(f.questions(5*heartbeat, rpc.RejectAlreadyHasLeader)[4])
	require.NotEqual(t, next, late.name)
	request := &rpc.Message{
		Group: late.name, From: "n2", To: "n0", Voters: late.Members.Digest(),
		Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Round: 1, Term: late.Term + 1},
	}
	f.questions(heartbeat+heartbeat/2, rpc.RejectAlreadyHasLeader) // until it waits again
	f.node.Deliver(late, request)
	f.node.Deliver(late, request)
	assert.Len(t, f.node.muster.waiting.all, 1, "it waits once, however many requests come")
	f.node.EndTurn()
	asked := f.questions(heartbeat/2, rpc.RejectAlreadyHasLeader)
	assert.Contains(t, asked, late.name)
}

func TestARivalsRequestConcernsOnlyWhoWaits(t *testing.T) {
	f := newFlock(t)
	g := f.groups[0]
	f.node.transientOf(g)
	g.due = 0 // it has no alarm yet
	f.node.rival(g)
	assert.False(t, f.node.muster.waiting.waits())
}

func TestOnlyWhoHasAskedInVainLetsOthersAsk(t *testing.T) {
	f, _ := inVain(t)
	m := &f.node.muster
	for !m.vain.waits() {
		f.ring()
	}
	m.askedWell(new(transient))
	assert.True(t, m.vain.waits())
	m.askedWell(&transient{vain: 1})
	assert.False(t, m.vain.waits())
	assert.True(t, m.waiting.waits())
}

// The node is called when there may be something to begin, and not before.
func TestTheMusterIsDueWhenACampaignMayBegin(t *testing.T) {
	one := func(until time.Duration) (q campaigns) {
		q.add(campaign{until: until})
		return q
	}
	for name, c := range map[string]struct {
		muster muster
		at     time.Duration
		waits  bool
	}{
		"nobody waits":               {muster{begun: one(5)}, 0, false},
		"there is room":              {muster{waiting: one(0), vain: one(0), next: 7}, 0, true},
		"one may hang":               {muster{waiting: one(0), begun: one(5)}, 5, true},
		"one may ask in vain":        {muster{begun: one(5), vain: one(0), next: 7}, 7, true},
		"one may ask in vain sooner": {muster{waiting: one(0), begun: one(9), vain: one(0), next: 7}, 7, true},
		"one may ask in vain later":  {muster{waiting: one(0), begun: one(5), vain: one(0), next: 7}, 5, true},
	} {
		at, waits := c.muster.due()
		assert.Equal(t, c.waits, waits, name)
		assert.Equal(t, c.at, at, name)
	}
}
