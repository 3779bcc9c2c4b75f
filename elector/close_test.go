// A host that is closed drains first, without staying drained.

package elector_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A host that is closed hands over as many groups at a time as a drain does, also if it drains already, has been protected, or is meanwhile.
func TestAHostThatIsClosedHandsOverAFewGroupsAtATime(t *testing.T) {
	nothing := func(*elector.Host) error { return nil }
	protect := func(h *elector.Host) error { return h.Protect(true) }
	drainOn := func(h *elector.Host) error {
		_ = h.Drain(endedContext())
		return nil
	}
	for _, c := range []struct{ before, meanwhile func(*elector.Host) error }{
		{protect, nothing}, {nothing, protect}, {drainOn, nothing},
	} {
		withFleetOf(t, &fleet{groups: 900, timing: elector.DefaultTiming()}, func(f *fleet) {
			before := f.ledBy()
			require.Greater(t, before[0], 200)
			_, terms := f.leaders()
			require.NoError(t, c.before(f.hosts[0]))
			closed := make(chan error)
			go func() { closed <- f.hosts[0].Close(context.Background()) }()
			synctest.Wait() // it has begun to hand over
			require.NoError(t, c.meanwhile(f.hosts[0]))
			atATime, left, led := 0, before[0], 900
			for more := true; more; {
				select {
				case err := <-closed:
					require.NoError(t, err)
					more = false
				case <-time.After(100 * time.Microsecond):
					led = min(led, f.hosts[0].Progress().Led+f.hosts[1].Progress().Led+f.hosts[2].Progress().Led)
				}
				p := f.hosts[0].Progress()
				atATime, left = max(atATime, p.Moving, left-p.Led), p.Led
			}
			synctest.Wait() // the others have seen the last ones, too
			assert.Equal(t, protocol.UsualMoves, atATime)
			assert.GreaterOrEqual(t, led, 900-protocol.UsualMoves, "no more are without a leader at a time")
			assert.Equal(t, before[0], f.elections(terms), "each of its groups is elected once")
			assert.False(t, f.hosts[0].Progress().Protected, "or the rest had resigned all at once")
			f.start(0)
			<-time.After(f.timing.Detection())
			assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State)
		})
	}
}

// A host that is closed drains, but only for that: groups that join later are led as before. An engine that was never ready is not so now.
func TestAHostThatWasClosedServesIfItDidBefore(t *testing.T) {
	for _, before := range []rpc.NodeState{rpc.Serving, rpc.Draining, rpc.Starting} {
		synctest.Test(t, func(t *testing.T) {
			config := elector.IsolatedNode(new(memberstate.MemStore))
			config.Hold = before == rpc.Starting
			host := elector.MustHost(t, config)
			for i := range protocol.UsualMoves + 1 {
				join(t, host, fmt.Sprint("g", i), "n0")
			}
			require.NoError(t, host.StartAll())
			<-time.After(5 * time.Second)
			if before == rpc.Draining {
				require.Error(t, drain(host), "nobody takes over")
			}
			require.Equal(t, protocol.UsualMoves+1, host.Progress().Led)
			require.Equal(t, before, host.Progress().Standing.State)
			require.NoError(t, host.Close(context.Background()))
			require.NoError(t, join(t, host, "late", "n0").Start())
			synctest.Wait()
			assert.Equal(t, before == rpc.Serving, host.Progress().Standing.State == rpc.Serving)
			require.NoError(t, host.Close(endedContext()))
		})
	}
}

// Its Run or Start has returned before Close has listed what to stop, so Close stops it, too.
func TestAGroupThatIsStartedWhileAHostHandsOverIsClosed(t *testing.T) {
	withFleetOf(t, &fleet{groups: 600, timing: elector.DefaultTiming()}, func(f *fleet) {
		host := f.hosts[0]
		require.Greater(t, host.Progress().Led, protocol.UsualMoves)
		closed := order(host.Close)
		require.Equal(t, protocol.UsualMoves, host.Progress().Moving, "it has begun to hand over")
		late := join(t, host, "late", "n0")
		require.NoError(t, late.Start())
		<-time.After(time.Minute)
		require.NoError(t, closed.answered(t))
		assert.True(t, late.Status().Stopped)
		assert.Empty(t, host.Electors())
		f.start(0)
	})
}

// The engine starts another group while those that it had are being closed. The loop goes on with it, so nothing is changed from outside.
func TestAHostThatIsClosedGoesOnDrainingIfAnotherGroupHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		for i := range protocol.UsualMoves + 1 {
			c := elector.GroupOf(fmt.Sprint("g", i), "n0")
			if i == 0 {
				c.Lead = func(ctx context.Context, _ memberstate.Term) error {
					<-ctx.Done()
					return join(t, host, "late", "n0").Start()
				}
			}
			elector.MustJoin(t, host, c)
		}
		require.NoError(t, host.StartAll())
		<-time.After(5 * time.Second)
		require.Equal(t, protocol.UsualMoves+1, host.Progress().Led)
		require.NoError(t, host.Close(context.Background()))
		assert.Len(t, host.Electors(), 1)
		synctest.Wait()
		assert.NotEqual(t, rpc.Serving, host.Progress().Standing.State)
		require.NoError(t, host.Close(endedContext()))
	})
}

// A group that nobody can take over is served as long as others are handed over.
func TestAHostThatIsClosedLeadsWhatItIsLeftWithUntilTheRestIsHandedOver(t *testing.T) {
	withFleetOf(t, &fleet{groups: 600, timing: elector.DefaultTiming()}, func(f *fleet) {
		host := f.hosts[0]
		alone := join(t, host, "alone", "n0")
		require.NoError(t, alone.Start())
		<-time.After(time.Second)
		require.Greater(t, host.Progress().Led, protocol.UsualMoves)
		closed := order(host.Close)
		looks, led := 0, 0
		for {
			leads := alone.Status().Role == memberstate.Leader
			if p := host.Progress(); p.Waiting+p.Moving == 0 {
				break
			}
			looks++
			if leads {
				led++
			}
			<-time.After(100 * time.Microsecond)
		}
		assert.Greater(t, looks, 10)
		assert.Equal(t, looks, led)
		<-time.After(time.Minute)
		require.NoError(t, closed.answered(t))
		assert.True(t, alone.Status().Stopped)
		f.start(0)
	})
}

func TestAHostThatNobodyAnswersIsClosedSoon(t *testing.T) {
	withFleetOf(t, &fleet{groups: 900, timing: elector.DefaultTiming()}, func(f *fleet) {
		f.isolate(0, true)
		began := time.Now()
		require.NoError(t, f.hosts[0].Close(context.Background()))
		assert.Less(t, time.Since(began), 4*f.timing.Detection())
		f.start(0)
	})
}

func TestAHostThatIsClosedHandsOverUntilTheContextEnds(t *testing.T) {
	withFleetOf(t, &fleet{groups: 900, timing: elector.DefaultTiming()}, func(f *fleet) {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Microsecond)
		defer cancel()
		others := func() int { return f.hosts[1].Progress().Led + f.hosts[2].Progress().Led }
		before := others()
		require.NoError(t, f.hosts[0].Close(ctx))
		assert.Equal(t, before, others(), "a handover takes longer")
		assert.Zero(t, f.hosts[0].Progress().Led)
		assert.Equal(t, rpc.Serving, f.hosts[0].Progress().Standing.State, "nobody has ordered a drain")
		f.start(0)
	})
}
