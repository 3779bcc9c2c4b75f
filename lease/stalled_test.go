// One function of a process judges the services of all its leases. It may hang, or end its goroutine.

package lease_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// judge is KeeperConfig.Stalled. It takes a second for each answer.
type judge struct {
	mu       sync.Mutex
	verdict  verdict
	calls    int
	within   time.Duration // how long its last context was to last
	running  bool
	overlaps bool // it was called while it ran
}

// verdict is how it answers.
type verdict struct {
	stalled []string
	hung    chan struct{} // not nil: it does not return until this is closed
	quits   bool          // it ends its goroutine instead of returning
}

func (j *judge) judge(ctx context.Context) []string {
	j.begin(ctx)
	defer j.end()
	<-time.After(time.Second)
	v := j.now()
	if v.quits {
		runtime.Goexit()
	}
	if v.hung != nil {
		<-v.hung
	}
	return v.stalled
}

func (j *judge) begin(ctx context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end, _ := ctx.Deadline()
	j.overlaps = j.overlaps || j.running
	j.running, j.within = true, time.Until(end)
	j.calls++
}

func (j *judge) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running = false
}

func (j *judge) now() verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.verdict
}

// answers sets how it answers from now on.
func (j *judge) answers(v verdict) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.verdict = v
}

// called returns how often it was called, and how long its last context was to last.
func (j *judge) called() (times int, within time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.calls, j.within
}

// withJudge runs a keeper of two leases with a judge, until both are led.
func withJudge(t *testing.T, test func(j *judge, orders, reports *lease.Elector, stop func() error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := new(judge)
		keeper, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing, Logger: silence, Stalled: j.judge})
		require.NoError(t, err)
		var both [2]*lease.Elector
		for i, name := range []string{"orders", "reports"} {
			both[i], err = keeper.Join(lease.GroupConfig{Name: name})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for _, el := range both {
			go func() { ended <- el.Run(ctx) }()
		}
		<-time.After(time.Minute)
		for _, el := range both {
			require.Equal(t, memberstate.Leader, el.Status().Role)
		}
		stop := sync.OnceValue(func() error {
			cancel()
			return errors.Join(<-ended, <-ended)
		})
		test(j, both[0], both[1], stop)
		require.NoError(t, stop())
		assert.False(t, j.overlaps, "it was called while it ran")
	})
}

// assertOnceARenew checks how often it was called in a minute. The keeper asks when it has other work to do.
func assertOnceARenew(t *testing.T, calls int) {
	t.Helper()
	most := int(time.Minute / timing.Renew)
	assert.LessOrEqual(t, calls, most+1, "it is called once for both leases")
	assert.GreaterOrEqual(t, calls, most*3/4)
}

func TestALeaseIsGivenUpIfItsServiceIsNamed(t *testing.T) {
	withJudge(t, func(j *judge, orders, reports *lease.Elector, _ func() error) {
		calls, within := j.called()
		assertOnceARenew(t, calls)
		assert.Equal(t, timing.TTL, within)
		j.answers(verdict{stalled: []string{"reports"}})
		<-time.After(timing.Renew + 2*time.Second)
		assert.Equal(t, memberstate.Leader, orders.Status().Role)
		assert.Equal(t, voting.NotAbleUnhealthy, reports.Status().Inability)
		assert.NotEqual(t, memberstate.Leader, reports.Status().Role)
		j.answers(verdict{})
		<-time.After(5 * timing.TTL)
		assert.Equal(t, voting.Able, reports.Status().Inability)
		assert.Equal(t, memberstate.Leader, reports.Status().Role)
	})
}

func TestAllLeasesAreGivenUpIfTheJudgeHangs(t *testing.T) {
	withJudge(t, func(j *judge, orders, reports *lease.Elector, stop func() error) {
		hung := make(chan struct{})
		j.answers(verdict{hung: hung})
		<-time.After(timing.Renew + timing.TTL + time.Second)
		for _, el := range []*lease.Elector{orders, reports} {
			assert.Equal(t, voting.NotAbleSilent, el.Status().Inability)
		}
		before, _ := j.called()
		<-time.After(time.Minute)
		after, _ := j.called()
		assert.Equal(t, before, after, "it has not returned")
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		<-time.After(time.Hour)
		assert.Empty(t, ended, "Run waits for it")
		close(hung)
		require.NoError(t, <-ended)
	})
}

// A judge that ends its goroutine has named no lease.
func TestAJudgeThatEndsItsGoroutineHasAnswered(t *testing.T) {
	withJudge(t, func(j *judge, orders, _ *lease.Elector, _ func() error) {
		j.answers(verdict{quits: true})
		before, _ := j.called()
		<-time.After(time.Minute)
		after, _ := j.called()
		assertOnceARenew(t, after-before)
		assert.Equal(t, memberstate.Leader, orders.Status().Role)
	})
}
