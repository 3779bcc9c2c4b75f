// How long a campaign keeps its place, and how many places there are.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestACampaignKeepsItsPlaceUntilItHasSucceededOrCannot(t *testing.T) {
	for name, c := range map[string]struct {
		after func(d *recorder, n1 *peer)
		keeps bool
	}{
		"it asks":                     {func(d *recorder, _ *peer) { d.group.round.phase = voting }, true},
		"it asks again soon":          {func(_ *recorder, n1 *peer) { n1.votesAt = time.Second }, true},
		"a beat came lately":          {func(_ *recorder, n1 *peer) { n1.spokeAt = time.Second }, true},
		"no quorum is there":          {func(*recorder, *peer) {}, false},
		"no quorum is there any more": {func(d *recorder, n1 *peer) { n1.votesAt = d.node.now - d.group.Rules.Timing.Detection() }, false},
		"its own vote is its own":     {func(d *recorder, n1 *peer) { n1.votesAt, d.group.Vote = time.Second, 1 }, true},
		"it has voted for another":    {func(d *recorder, n1 *peer) { n1.votesAt, d.group.Vote = time.Second, 2 }, false},
		"others have a leader":        {func(d *recorder, n1 *peer) { n1.votesAt, d.group.round.hasLeader = time.Second, true }, false},
		"it follows":                  {func(d *recorder, _ *peer) { d.group.Role, d.group.round.phase = memberstate.Follower, voting }, false},
		"nobody has heard it lead":    {func(d *recorder, _ *peer) { d.group.Role = memberstate.Leader }, true},
		"a quorum has heard it lead":  {func(d *recorder, _ *peer) { d.group.Role, d.group.office.acks[0] = memberstate.Leader, 3 }, false},
	} {
		d := newRecorders(t, 3)[0]
		d.group.Role = memberstate.Candidate
		c.after(d, d.node.peerOf(&d.group, 2))
		assert.Equal(t, c.keeps, d.node.keepsPlace(&d.group), name)
	}
}

func TestAVoterIsThereIfItAsksForVotesOrAnswers(t *testing.T) {
	for kind, there := range map[rpc.Kind]bool{rpc.VoteRequest: true, rpc.VoteResponse: true, rpc.HeartbeatResponse: false} {
		d := newRecorders(t, 3)[0]
		d.start()
		body := rpc.Body{Kind: kind, Result: rpc.Accept, Term: 1, Round: 1}
		if kind == rpc.VoteRequest {
			body.Result = 0
		}
		d.node.Deliver(&d.group, &rpc.Message{
			Group: "g", From: "n1", To: "n0", Voters: d.group.Members.Digest(), Body: body,
		})
		assert.Equal(t, there, d.node.quorumSpeaks(&d.group), "%v", kind)
	}
}

func TestThereAreFewerPlacesWhileAnswersAreLate(t *testing.T) {
	const timeout = 100 * time.Millisecond
	m := muster{most: usualCampaigns, limit: mostCampaigns}
	now := time.Second
	m.pace(now, timeout/4-1, timeout)
	assert.Equal(t, usualCampaigns, m.most, "nobody waits for a place")
	m.waiting.add(campaign{})
	m.pace(now, timeout/4-1, timeout)
	assert.Equal(t, usualCampaigns+1, m.most)
	m.pace(now, timeout/4, timeout)
	m.pace(now, timeout/2, timeout)
	assert.Equal(t, usualCampaigns+1, m.most, "neither soon nor late")
	m.pace(now, timeout/2+1, timeout)
	assert.Equal(t, usualCampaigns/2, m.most)
	m.pace(now+timeout-1, timeout, timeout)
	assert.Equal(t, usualCampaigns/2, m.most, "once in the time of a round")
	for range 9 {
		now += timeout
		m.pace(now, timeout, timeout)
	}
	assert.Equal(t, fewestCampaigns, m.most)
	for range 2 * mostCampaigns {
		m.pace(now, 1, timeout)
	}
	assert.Equal(t, mostCampaigns, m.most)
}

func TestALimitOfCampaignsIsNotExceededNorLowered(t *testing.T) {
	n := newRecorders(t, 3)[0].node
	n.LimitCampaigns(2)
	n.muster.waiting.add(campaign{})
	n.muster.pace(time.Second, time.Millisecond, time.Second)
	assert.Equal(t, 2, n.muster.most)
	n.muster.pace(2*time.Second, time.Second, time.Second)
	assert.Equal(t, 2, n.muster.most)
}

// An answer that comes when its round is over counts, too. Otherwise nothing would be noticed if all came too late.
func TestALateAnswerToAPreVoteLowersTheNumberOfPlaces(t *testing.T) {
	for mark, want := range map[rpc.Mark]int{rpc.PreVote: usualCampaigns / 2, rpc.Won: usualCampaigns} {
		d := newRecorders(t, 3)[0]
		d.start()
		d.group.Role, d.group.ballot = memberstate.Candidate, 2
		d.group.duty().sent.ballots[1] = time.Millisecond
		d.node.Deliver(&d.group, &rpc.Message{
			Group: "g", From: "n1", To: "n0", Voters: d.group.Members.Digest(),
			Body: rpc.Body{Kind: rpc.VoteResponse, Mark: mark, Result: rpc.Accept, Round: 1, Asked: 1},
		})
		assert.Equal(t, want, d.node.muster.most, "%v", mark)
	}
}
