package hangs

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replaces says which sides replace a leader, under which faults.
func replaces(s Side, f Fault) bool {
	if f == ProcessStops || s.Watchdog {
		return true
	}
	switch s.Name {
	case own, "etcd/raft 3.7, one loop":
		return true
	case "etcd/raft 3.7, as etcd has it":
		return f == DiskHangs
	}
	return false
}

func TestEverySideGoesThroughEveryFault(t *testing.T) {
	for _, s := range sides {
		for _, f := range []Fault{DiskHangs, EngineHangs, ProcessStops, AllHangs} {
			t.Run(s.Name+" "+string(f), func(t *testing.T) {
				took, replaced, err := Trial(t, s, f, 1)
				require.NoError(t, err)
				assert.Equal(t, replaces(s, f), replaced)
				if replaced { // otherwise took is zero
					assert.Greater(t, took, 0.5, "nobody knows it sooner")
				}
			})
		}
	}
}

// A hang lasts for Vouch before it counts. The rest is the age of the engine's last word, up to a beat;
// the beat for which the leader waits, from the next beat to the one after it; and an election.
func TestALeaderOfOursThatHangsIsReplacedSoon(t *testing.T) {
	for _, f := range []Fault{DiskHangs, EngineHangs, AllHangs} {
		for number := range uint64(20) {
			took, replaced, err := Trial(t, sides[0], f, number)
			require.NoError(t, err)
			assert.True(t, replaced)
			assert.Less(t, took, 1.4, "%s, trial %d", f, number)
		}
	}
}

// puppet is a member whose library is the test.
type puppet struct {
	leading atomic.Bool
	works   atomic.Bool
	orders  atomic.Int64
}

func (p *puppet) Leads() bool { return p.leading.Load() }
func (p *puppet) HandOver()   { p.orders.Add(1) }
func (p *puppet) Close()      {}
func (p *puppet) Write(ctx context.Context) error {
	pause(ctx, delay)
	if p.works.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// withPuppet plays with a member, its client and its watchdog.
func withPuppet(t *testing.T, play func(t *testing.T, p *puppet, n *Node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, n := new(puppet), new(Node)
		p.leading.Store(true)
		p.works.Store(true)
		one := &trial{nodes: []*Node{n}, members: []Member{p}, served: make([]time.Time, 1), news: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		one.clients.Go(func() { one.use(ctx, 0) })
		one.clients.Go(func() { one.watch(ctx, 0) })
		pass(3 * Detection)
		play(t, p, n)
		cancel()
		one.clients.Wait()
	})
}

func TestTheWatchdogOrdersAHandoverAndThenEndsTheProcess(t *testing.T) {
	withPuppet(t, func(t *testing.T, p *puppet, n *Node) {
		t.Helper()
		assert.Zero(t, p.orders.Load(), "the leader serves")
		p.works.Store(false)
		pass(Detection - 2*every)
		assert.Zero(t, p.orders.Load())
		pass(10 * every)
		assert.Equal(t, int64(1), p.orders.Load(), "it is ordered once")
		pass(Detection - 20*every)
		assert.False(t, n.gone.Load())
		pass(20 * every)
		assert.True(t, n.gone.Load())
		assert.Equal(t, int64(1), p.orders.Load())
	})
}

func TestTheWatchdogLeavesAMemberAloneThatServesAgainOrDoesNotLead(t *testing.T) {
	withPuppet(t, func(t *testing.T, p *puppet, n *Node) {
		t.Helper()
		for range 2 {
			p.works.Store(false)
			pass(Detection + Detection/2)
			p.works.Store(true)
			pass(Detection)
		}
		assert.Equal(t, int64(2), p.orders.Load())
		p.works.Store(false)
		p.leading.Store(false)
		pass(10 * Detection)
		p.leading.Store(true) // its last write is old, but it has only begun to lead
		pass(Detection - 2*every)
		assert.Equal(t, int64(2), p.orders.Load())
		assert.False(t, n.gone.Load())
	})
}

func TestAGroupWithoutALeaderIsAnError(t *testing.T) {
	nobody := Side{Found: func(_ *Network, nodes []*Node) (group []Member, err error) {
		for range nodes {
			group = append(group, new(puppet))
		}
		return group, nil
	}}
	_, _, err := Trial(t, nobody, DiskHangs, 1)
	require.ErrorContains(t, err, "nobody has served")

	stuck := Side{Found: func(_ *Network, nodes []*Node) (group []Member, err error) {
		for range nodes {
			p := new(puppet)
			p.works.Store(true)
			p.leading.Store(len(group) == 0)
			time.AfterFunc(Detection, func() { p.works.Store(false) })
			group = append(group, p)
		}
		return group, nil
	}}
	_, _, err = Trial(t, stuck, DiskHangs, 1)
	require.ErrorContains(t, err, "has not served")

	broken := Side{Found: func(*Network, []*Node) ([]Member, error) { return nil, assert.AnError }}
	_, _, err = Trial(t, broken, DiskHangs, 1)
	require.ErrorIs(t, err, assert.AnError)
}

func TestAnEntryIsWrittenWhenItsOwnMemberHasAppliedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var here, elsewhere Applied
		var entry []byte
		done := make(chan error, 1)
		go func() {
			done <- here.Write(t.Context(), func(e []byte) error {
				entry = e
				return nil
			})
		}()
		synctest.Wait()
		elsewhere.Apply(entry)
		here.Apply([]byte("another"))
		synctest.Wait()
		assert.Empty(t, done)
		here.Apply(entry)
		require.NoError(t, <-done)
		here.Apply(entry) // nobody waits any more

		require.ErrorIs(t, here.Write(t.Context(), func([]byte) error { return assert.AnError }), assert.AnError)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, here.Write(over, func([]byte) error { return nil }), context.Canceled)
		assert.Empty(t, here.waiting, "nothing is left")
	})
}

func TestAJobRunsTrials(t *testing.T) {
	do := Job(t, With(Dragonboat, func(*Network, []*Node) ([]Member, error) { return nil, errors.New("made here") })...)
	ask := func(task Task) (Outcome, error) {
		raw, err := json.Marshal(task)
		require.NoError(t, err)
		o, err := do(t.Context(), raw)
		return o.(Outcome), err
	}
	o, err := ask(Task{own, ProcessStops, 3})
	require.NoError(t, err)
	assert.InDelta(t, 1.1, o.Mean, 0.1)
	assert.GreaterOrEqual(t, o.P99, o.Mean)
	assert.Zero(t, o.Never)

	_, err = ask(Task{Dragonboat + watched, ProcessStops, 1})
	require.ErrorContains(t, err, "made here")
	_, err = ask(Task{"etcd", ProcessStops, 1})
	require.ErrorContains(t, err, `there is no side "etcd"`)
}

func TestAnOutcomeIsThatOfTheReplacedLeaders(t *testing.T) {
	assert.Equal(t, Outcome{Mean: 2, P99: 3, Never: 25}, outcome([]float64{1, 2, 3}, 4))
	assert.Equal(t, Outcome{Never: 100}, outcome(nil, 20))
}

func TestAPeerThatNeverReplacesItsLeaderIsNamed(t *testing.T) {
	figures := figuresOf(DiskHangs, []string{"a", "b"}, map[string]Outcome{
		own: {Mean: 1.2, P99: 1.3}, "a": {Mean: 2.4, P99: 2.6}, "b": {Never: 100},
	})
	require.Len(t, figures, 6)
	assert.Equal(t, "the leader's disk hangs, beside a: mean", figures[0].Name)
	assert.InDelta(t, 0.5, *figures[0].Ratio, 1e-9)
	assert.Nil(t, figures[1].Peer)
	assert.Equal(t, "never in 100 % of trials: b", figures[1].PeerName)
	assert.InDelta(t, 100, *figures[5].Peer, 0)
	assert.Zero(t, figures[5].Ours)

	alone := figuresOf(AllHangs, nil, map[string]Outcome{own: {Mean: 1.2}})
	require.Len(t, alone, 3)
	assert.Nil(t, alone[0].Peer)
	assert.InDelta(t, 1.2, alone[0].Ours, 0)
}

func TestSidesHaveNamesOfTheirOwn(t *testing.T) {
	names := peers(DiskHangs)
	assert.Len(t, names, len(sides)-1+2, "dragonboat's, too")
	assert.Len(t, peers(ProcessStops), 5)
	assert.Empty(t, peers(AllHangs))
	assert.NotContains(t, names, own)
	for i, n := range names {
		assert.NotContains(t, names[i+1:], n)
	}
}
