package failover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/virtual"
)

func defaults() Library[ours.Message] { return oursOf(ours.Default(detection)) }

func TestTheFiguresAreTheSameEveryTimeWithAnyNumberOfWorkers(t *testing.T) {
	s := Scenario{Members: 5, Delay: 0.01, Loss: 0.1}
	one, err := repeatTrials(t.Context(), defaults(), s, 50, 1)
	require.NoError(t, err)
	four, err := repeatTrials(t.Context(), defaults(), s, 50, 4)
	require.NoError(t, err)
	assert.Equal(t, one, four)

	first, err := Etcd(t.Context(), Task{s, 50})
	require.NoError(t, err)
	again, err := Etcd(t.Context(), Task{s, 50})
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.NotEqual(t, one, first)
}

func TestNoFailoverIsFasterThanItsMessages(t *testing.T) {
	// Four delays: a heartbeat, the requests for votes, the votes, and the news.
	for _, s := range Scenarios() {
		if s.Loss > 0 {
			continue // because the last received heartbeat may be an earlier one
		}
		o, err := repeatTrials(t.Context(), defaults(), s, 5, 1)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, o.All.P50, 1+4*s.Delay, "%s", s)
		// etcd's ticks may find a leader silent one tick early.
		peer, err := Etcd(t.Context(), Task{s, 5})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, peer.All.P50, 0.9+4*s.Delay, "%s", s)
	}
}

func TestAMemberWhoseLedgerIsBehindIsNotElected(t *testing.T) {
	for number := range uint64(20) {
		trial, behind, leader := trialOf(t, defaults(), Scenario{Members: 3, Behind: true}, number)
		assert.NotEqual(t, behind, leader)
		assert.Positive(t, trial.Took)
		_, behind, leader = trialOf(t, etcdOf((*raft.RawNode).Step), Scenario{Members: 3, Behind: true}, number)
		assert.NotEqual(t, behind, leader)
	}
	etcd.Restore()
}

// trialOf runs a trial, and returns the member that was behind and the last leader.
func trialOf[M any](tb testing.TB, library Library[M], s Scenario, number uint64) (result Trial, behind, leader int) {
	tb.Helper()
	found := library.Found
	library.Found = func(w *virtual.World[M], members, odd int) []virtual.Member[M] {
		behind = odd
		return found(w, members, odd)
	}
	t := newTrial(library, s, number, 0)
	require.True(tb, t.settle(library, s))
	result = t.crash(library.Detection)
	require.NoError(tb, t.world.Err)
	return result, behind, t.leader.leader
}

func TestDeadMembersTakeNoPart(t *testing.T) {
	s := Scenario{Members: 5, Dead: true}
	c := newTrial(defaults(), s, 1, 0)
	require.True(t, c.settle(defaults(), s))
	assert.Equal(t, 4, c.present())
	c.crash(detection)
	assert.Equal(t, 3, c.present())
}

// told returns a trial of three members that a test calls, instead of a world.
func told() *trial[string] {
	t := newTrial(Library[string]{Detection: time.Second}, Scenario{Members: 3}, 0, 0)
	t.world.Found(make([]virtual.Member[string], 3))
	t.crashed = true
	t.leader = knowledge{term: 1, leader: 0}
	return t
}

func TestAMajorityKnowsALeaderInOneTerm(t *testing.T) {
	c := told()
	c.Knows(1, 2, 1)
	c.Knows(2, 3, 1)
	assert.Equal(t, knowledge{1, 0}, c.leader, "known in two terms, by one member each")
	c.Knows(1, 3, 1)
	assert.Equal(t, knowledge{3, 1}, c.leader)
}

func TestOnlyVotesContest(t *testing.T) {
	c := told()
	c.Asks(1, 2, true)
	c.Asks(2, 2, true)
	assert.False(t, c.rivals, "pre-votes do not compete")
	c.Asks(1, 2, false)
	c.Asks(1, 3, false)
	assert.False(t, c.rivals, "one member, twice")
	c.Asks(2, 3, false)
	assert.True(t, c.rivals)
}

func TestATermWithoutALeaderWasSplit(t *testing.T) {
	c := told()
	c.Asks(1, 2, false)
	c.Asks(1, 3, false)
	c.Asks(2, 4, false)
	c.Knows(1, 3, 1)
	c.Knows(2, 3, 1)
	assert.True(t, c.split())
	delete(c.asked, 2)
	assert.False(t, c.split(), "term 4 is not over")
}

func TestScenariosAreNamedApart(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Scenarios() {
		assert.False(t, names[s.String()], "%s", s)
		names[s.String()] = true
	}
	assert.Len(t, names, 57)

	figures := map[string]bool{}
	for _, s := range Scenarios() {
		for _, without := range append([]variant{{}}, variants()...) {
			for _, a := range aspects {
				f := a.figure(s, without.name, new(Outcomes), nil)
				assert.False(t, figures[f.Name], f.Name)
				figures[f.Name] = true
			}
		}
	}
}

func BenchmarkTrialOfOurs(b *testing.B) {
	benchmark(b, defaults())
}

func BenchmarkTrialOfEtcd(b *testing.B) {
	defer etcd.Restore()
	benchmark(b, etcdOf((*raft.RawNode).Step))
}

func benchmark[M any](b *testing.B, library Library[M]) {
	b.Helper()
	number := uint64(0)
	for b.Loop() {
		number++
		if _, err := run(library, Scenario{Members: 5, Delay: 0.01}, number); err != nil {
			b.Fatal(err)
		}
	}
}
