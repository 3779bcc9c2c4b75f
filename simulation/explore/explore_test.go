package explore

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/trace"
)

// searched is a search within bounds that is done, or has found that many states.
func searched(t *testing.T, b Bounds, states uint64) *worker {
	t.Helper()
	x := newSearch(Options{Bounds: b, MaxStates: states})
	x.begin()
	x.work(t.Context())
	require.Nil(t, x.result.Violation)
	x.model.sync()
	return x
}

// Within these bounds every interleaving was seen, and none broke an election.
func TestEveryInterleavingOfSmallGroups(t *testing.T) {
	effort.Alone(t)
	for name, b := range map[string]Bounds{
		"one member":                   {Members: 1, Terms: 3, Beats: 2, Entries: 2},
		"two members, two terms":       {Members: 2, Terms: 2, Beats: 2, Entries: 1},
		"three members, a term":        {Members: 3, Terms: 1, Beats: 1},
		"two, ability, a term":         {Members: 2, Terms: 1, Beats: 2, NoHints: true, Ability: true},
		"two, ability":                 {Members: 2, Terms: 2, Beats: 2, NoHints: true, Ability: true},
		"three, ability, a ledger":     {Members: 3, Terms: 1, Beats: 1, Entries: 1, NoTransfer: true, NoHints: true, Ability: true},
		"three, ability, leases":       {Members: 3, Terms: 1, Beats: 1, NoPreVote: true, NoTransfer: true, NoHints: true, Ability: true, Leases: true, Lag: 1},
		"three, no pre-vote, a ledger": {Members: 3, Terms: 2, Beats: 1, Entries: 1, NoPreVote: true, NoTransfer: true},
	} {
		t.Run(name, func(t *testing.T) {
			if b.Members > 1 && b.Terms > 1 || b.Leases || b.Ability {
				effort.Long(t)
			}
			r, err := Explore(t.Context(), Options{Bounds: b})
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			assert.True(t, r.Complete)
			assert.Zero(t, r.Frontier)
			assert.Positive(t, r.Memory, "though it may be done before anybody looks up")
			t.Logf("%+v", r)
		})
	}
}

// The same search finds the same, down to the last state.
func TestASearchIsRepeatable(t *testing.T) {
	effort.Alone(t)
	explore := func() Result {
		r, err := Explore(t.Context(), Options{Bounds: Bounds{Members: 3, Terms: 1, Beats: 1, NoHints: true}})
		require.NoError(t, err)
		r.Memory = 0
		return r
	}
	once, again := explore(), explore()
	assert.Equal(t, once, again)
}

// Several workers expand states in another order, and therefore other states that turn out to be covered. The
// states that cover them in the end are the same, except for nodes that can silently become each other: either
// of those may be kept.
func TestMoreWorkersFindTheSame(t *testing.T) {
	left := func(workers int) (left int) {
		x := newSearch(Options{Workers: workers, Bounds: Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1, NoHints: true}})
		x.begin()
		r, err := x.run(t.Context())
		require.NoError(t, err)
		require.True(t, r.Complete)
		for at := range x.states.count {
			if !x.states.record(int32(at)).covered {
				left++
			}
		}
		return left
	}
	assert.InEpsilon(t, left(1), left(3), 0.01)
}

// A search that is cut short says so, and why.
func TestAnUnfinishedSearchIsNotComplete(t *testing.T) {
	effort.Alone(t)
	big := Bounds{Members: 3, Terms: 1, Beats: 1, Entries: 1}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for says, o := range map[string]Options{
		"states":      {Bounds: big, MaxStates: 2000},
		"memory":      {Bounds: big, MaxMemory: 1},
		"interrupted": {Bounds: big},
	} {
		ctx := t.Context()
		if says == "interrupted" {
			ctx = interrupted
		}
		r, err := Explore(ctx, o)
		require.NoError(t, err)
		assert.False(t, r.Complete)
		assert.Contains(t, r.Stopped, says)
		assert.Positive(t, r.Frontier)
		assert.Nil(t, r.Violation)
	}
}

// A search with more messages than there is room for is not complete either, even if it came to its end.
func TestASearchWithoutRoomForMessagesIsNotComplete(t *testing.T) {
	fill := func(m *model) {
		for i := ledger(1); !m.registry.full.Load(); i++ {
			m.message(message{engine: true, ledger: i})
		}
	}
	o := Options{Bounds: Bounds{Members: 2, Terms: 1, Beats: 1}}
	x := newSearch(o)
	x.begin()
	fill(x.model)
	x.work(t.Context())
	assert.Contains(t, x.result.Stopped, "different messages")

	live := newLiveSearch(o)
	fill(live.model)
	r := live.run(t.Context(), Budgets{InFlight: 2})
	assert.False(t, r.Complete)
	assert.Contains(t, r.Stopped, "different messages")
}

func TestBoundsThatMakeNoSenseAreNamed(t *testing.T) {
	_, err := Explore(t.Context(), Options{Bounds: Bounds{Members: 6, Beats: 7, Leak: 9, Entries: -1, NoTransfer: true, Withdrawals: true}})
	for _, says := range []string{"Members is 6", "Terms is 0", "Beats is 7", "Leak is 9", "Entries is -1", "together with NoTransfer"} {
		assert.ErrorContains(t, err, says)
	}
}

// Members that take themselves for groups of their own lead without the others. The path to that is reported,
// and it is a shortest one.
func TestAViolationIsReportedWithItsPath(t *testing.T) {
	v := broken(t, 1, 2, 3)
	assert.Equal(t, "won by a quorum: term 1 is led with 1 votes", v.Error())
	require.Len(t, v.Path, 1)
	assert.Contains(t, v.Path[0].String(), ": its alarm rings")
	require.NotNil(t, v.Script)
	assert.Regexp(t, `^explored\nmembers 3\n1 n\d alarm\nexpect violation won by a quorum\n$`, v.Script.String())
	drawn := v.Trace(3)
	require.Len(t, drawn.Moments, 3+1+1)
	assert.Equal(t, memberstate.Leader, drawn.Moments[3].State.Role)
	assert.Equal(t, trace.Violated, drawn.Moments[4].Kind)
}

// The explorer allows more than can happen. So its path may be impossible, and then there is no script.
func TestAnImpossiblePathHasNoScript(t *testing.T) {
	v := doubtful(t)
	assert.Len(t, v.Path, 1)
	assert.Nil(t, v.Script)
}

// doubtful is the violation of a search in which the explorer takes all members for groups of their own, and the
// machines that confirm it do not.
func doubtful(t *testing.T) *Violation {
	t.Helper()
	x := beginning(Options{}, 1, 2, 3)
	require.True(t, x.exchange(t.Context()))
	x.expand(&x.batch[0])
	x.model.rules = rulesOf(&x.options.Bounds)
	x.exchange(t.Context())
	require.NotNil(t, x.result.Violation)
	return x.result.Violation
}

// broken is the violation of a search in which these members take themselves for groups of their own.
func broken(t *testing.T, alone ...memberstate.Seat) *Violation {
	t.Helper()
	x := beginning(Options{}, alone...)
	for x.result.Violation == nil && x.exchange(t.Context()) {
		for i := range x.batch {
			x.expand(&x.batch[i])
		}
	}
	require.NotNil(t, x.result.Violation)
	return x.result.Violation
}

// beginning is a search in such a group.
func beginning(o Options, alone ...memberstate.Seat) *worker {
	o.Bounds = Bounds{Members: 3, Terms: 1, Beats: 1}
	x := newSearch(o)
	for _, seat := range alone {
		x.model.rules[seat-1].Voters = memberstate.SetOf(seat)
	}
	x.begin()
	return x
}

// If a violation is found when the search reaches a limit, the violation is reported, and not the limit.
func TestAViolationCountsMoreThanABound(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, byAnother := range map[string]bool{"by the worker that found it": false, "by another one": true} {
		x := beginning(Options{}, 1, 2, 3)
		require.True(t, x.exchange(t.Context()))
		x.expand(&x.batch[0])
		if byAnother {
			x.checkLimits(stopped)
		}
		require.False(t, x.exchange(stopped), name)
		require.NotNil(t, x.result.Violation, name)
		assert.NotNil(t, x.result.Violation.Script, name)
		assert.Empty(t, x.result.Stopped, name)
	}
}

// Seats matter only where a successor is chosen, and for stale messages, too: of four members two are left to
// choose from when one has declined.
func TestOnlyTheChoiceOfASuccessorIsAsymmetric(t *testing.T) {
	effort.Alone(t)
	effort.Long(t)
	m := searched(t, Bounds{Members: 3, Terms: 2, Beats: 1, Entries: 1}, 10_000).model
	now, late := 0, 0
	for id := range m.steps {
		for at, result := range m.steps[id] {
			in := inputID(at)
			if in >= m.firstDelivery {
				in = m.delivery(messageID(in - m.firstDelivery))
			}
			if len(m.results[result]) > 1 && m.dependsOnSeats(nodeID(id), m.inputs[in]) {
				now++
				assert.True(t, m.asymmetric(m.inputs[in]), "%+v: %+v", m.nodes[id], m.inputs[in])
			}
		}
	}
	assert.Positive(t, now)
	m = searched(t, Bounds{Members: 4, Terms: 1, Beats: 1, NoPreVote: true, NoHints: true, NoCrash: true}, 1000).model
	for id := nodeID(1); id < 1000; id++ {
		for _, in := range m.staleInputs(id) {
			if m.dependsOnSeats(id, m.inputs[in]) {
				late++
				assert.True(t, m.asymmetric(m.inputs[in]), "%+v: %+v", m.nodes[id], m.inputs[in])
			}
		}
	}
	assert.Positive(t, late)
}

// dependsOnSeats says whether an input has another effect where the members have other seats.
func (m *model) dependsOnSeats(id nodeID, in input) bool {
	return len(m.computeInSeats(id, in, m.renamings)) > len(m.computeInSeats(id, in, m.renamings[:1]))
}

// The speed of a search, up to a limit of states.
func BenchmarkExplore(b *testing.B) {
	for name, bounds := range map[string]Bounds{
		"handovers": {Members: 3, Terms: 2, Beats: 1, Entries: 1, NoHints: true},
		"leases":    {Members: 3, Terms: 2, Beats: 1, Leases: true, Lag: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
	} {
		b.Run(name, func(b *testing.B) {
			var transitions uint64
			for b.Loop() {
				r, err := Explore(b.Context(), Options{Bounds: bounds, MaxStates: 200_000, Workers: runtime.GOMAXPROCS(0)})
				require.NoError(b, err)
				require.Nil(b, r.Violation)
				transitions += r.Transitions
			}
			b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
		})
	}
}
