package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// changed gives a group rules of its own, as if an operator had changed them since it joined.
func changed(g *Group) *Rules {
	r := *g.Rules
	g.Rules = &r
	return g.Rules
}

func TestIntervalsThatCannotWorkAreRefused(t *testing.T) {
	for says, spoil := range map[string]func(t *Timing, g *Group){
		"Timing.Heartbeat is 0s, must be":                                                                        func(t *Timing, _ *Group) { t.Heartbeat = 0 },
		"Timing.DriftMargin is 0s, must be more than 0 with leases":                                              func(t *Timing, _ *Group) { t.DriftMargin = 0 },
		"Vouch is 150ms, shorter than two heartbeats of 100ms":                                                   func(_ *Timing, g *Group) { g.Rules.Vouch = 150 * time.Millisecond },
		"Timing.Heartbeat is 100ms, too short for the measured round trip of 400ms":                              func(_ *Timing, g *Group) { g.roundTrip = 400_000 },
		"Timing.Heartbeat of 100ms and the measured round trip of 185ms leave no time to renew a lease of 285ms": func(_ *Timing, g *Group) { g.roundTrip = 185_000 },
	} {
		d := newRecorders(t, 3)[0]
		d.start()
		before, timing := d.group.Rules, DefaultTiming()
		spoil(&timing, &d.group)
		err := d.node.SetTiming(&d.group, timing)
		require.ErrorContains(t, err, says)
		var field *ConfigError
		assert.ErrorAs(t, err, &field)
		assert.Same(t, before, d.group.Rules)
	}
	d := newRecorders(t, 3)[0]
	d.start()
	d.group.roundTrip = 184_999
	assert.NoError(t, d.node.SetTiming(&d.group, DefaultTiming()))
	d.group.Rules.Lease, d.group.roundTrip = 0, 399_999
	assert.NoError(t, d.node.SetTiming(&d.group, DefaultTiming()), "without leases")
}

func TestPreferredLeadersMustBeVoters(t *testing.T) {
	d := newRecorders(t, 3)[0]
	d.start()
	require.ErrorContains(t, d.node.SetPreferred(&d.group, []string{"n1", "n7"}), `Preferred names "n7", which is no voter`)
	assert.Zero(t, d.group.Rules.Preferred)
	require.NoError(t, d.node.SetPreferred(&d.group, []string{"n1", "n2"}))
	assert.Equal(t, memberstate.SetOf(2, 3), d.group.Rules.Preferred)
	require.NoError(t, d.node.SetPreferred(&d.group, nil))
	assert.Zero(t, d.group.Rules.Preferred)
}

func TestAChangeKeepsWhatWasChangedBefore(t *testing.T) {
	d := newRecorders(t, 3)[0]
	d.start()
	require.NoError(t, d.node.SetPreferred(&d.group, []string{"n2"}))
	require.NoError(t, d.node.SetTiming(&d.group, slow))
	assert.Equal(t, memberstate.SetOf(3), d.group.Rules.Preferred)
	require.NoError(t, d.node.SetPreferred(&d.group, nil))
	assert.Equal(t, slow, d.group.Rules.Timing)
}

// A group that has not started or has ended has no settings.
func TestAGroupThatDoesNotRunIsNotChanged(t *testing.T) {
	d := newRecorders(t, 3)[0]
	refused := func() {
		assert.ErrorIs(t, d.node.SetTiming(&d.group, slow), ErrStopped)
		assert.ErrorIs(t, d.node.SetPreferred(&d.group, nil), ErrStopped)
	}
	refused()
	d.start()
	d.node.End(&d.group)
	refused()
}

// Groups that were given the same rules share them, and the node forgets them with the last such group.
func TestChangedRulesAreShared(t *testing.T) {
	d := newRecorders(t, 3)[0]
	other := newRecorders(t, 3)[0]
	d.start()
	other.node = d.node
	other.group.Electorate, other.group.Rules = d.group.Electorate, d.group.Rules
	other.start()
	joined := *d.group.Rules
	for _, g := range []*Group{&d.group, &other.group} {
		require.NoError(t, d.node.SetTiming(g, slow))
		assert.Equal(t, slow, g.Rules.Timing)
		assert.Equal(t, slow.Detection(), g.Rules.Lease)
	}
	assert.Same(t, d.group.Rules, other.group.Rules)
	assert.Equal(t, joined, d.group.Electorate.Rules, "groups that join later do not get them")
	require.NoError(t, d.node.SetTiming(&d.group, joined.Timing))
	assert.Equal(t, joined, *d.group.Rules)
	assert.Len(t, d.node.rules, 2)
	require.NoError(t, d.node.SetPreferred(&other.group, []string{"n2"}))
	assert.Len(t, d.node.rules, 2, "no group has the slow intervals without a preferred leader any more")
	assert.Equal(t, slow, other.group.Rules.Timing)
	d.node.End(&d.group)
	other.node.End(&other.group)
	assert.Empty(t, d.node.rules)
}

// The same intervals again are no change, so nothing is said.
func TestTheSameIntervalsChangeNothing(t *testing.T) {
	d, _ := pair(t)
	d.did()
	before := d.group.Rules
	require.NoError(t, d.node.SetTiming(&d.group, before.Timing))
	d.node.EndTurn()
	assert.Empty(t, d.did())
	assert.Same(t, before, d.group.Rules)
}

// The voters have promised what the heartbeat asked for before the change. A longer lease needs a new promise.
func TestALeaseIsNoLongerThanItsHeartbeatAskedFor(t *testing.T) {
	d, f := pair(t)
	before, after := d.group.Rules.Timing, slow
	after.DriftMargin = before.DriftMargin
	d.ring()
	sent := d.node.now
	require.NoError(t, d.node.SetTiming(&d.group, after))
	d.node.EndTurn()
	d.node.At(sent + 10*time.Millisecond)
	f.node.At(sent + 10*time.Millisecond)
	asked := d.post
	d.post, f.post = nil, nil
	require.Len(t, asked, 2, "one before the change, and one after it")
	answers := func(i int) {
		f.node.Deliver(&f.group, &asked[i])
		f.node.EndTurn()
		f.answer()
		for _, m := range f.post {
			d.node.Deliver(&d.group, &m)
		}
		f.post = nil
		d.node.EndTurn()
	}
	answers(0)
	assert.Equal(t, sent+before.Detection()-before.DriftMargin, d.group.LeaseLeft(0))
	answers(1)
	assert.Equal(t, sent+after.Detection()-after.DriftMargin, d.group.LeaseLeft(0))
}
