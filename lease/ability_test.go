// Leading is bound to the ability to work: services that hang, or say that they are not well.

package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// service is what a candidate runs.
type service struct {
	*candidate
	mu      sync.Mutex
	problem error
	hung    chan struct{} // not nil: Healthy does not return until it is closed
}

func (c *service) healthy(context.Context) error {
	c.mu.Lock()
	hung, problem := c.hung, c.problem
	c.mu.Unlock()
	if hung != nil {
		<-hung
	}
	return problem
}

// falters has the service say that it is not well; nil: it is.
func (c *service) falters(problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem = problem
}

// hangs has Healthy not return from now on, until the test calls the function.
func (c *service) hangs() (returns func()) {
	hung := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hung = hung
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hung = nil
		close(hung)
	}
}

var errNotWell = errors.New("compaction is behind")

// services runs candidates whose services are asked, and returns them, the leader first. Their word counts
// for a TTL.
func (s *stage) services(count int) (all []*service) {
	for i := range count {
		c := &service{}
		c.candidate = s.enter(string(rune('a'+i)), func(config *settings) {
			config.Vouch, config.Healthy = timing.TTL, c.healthy
		})
		all = append(all, c)
		s.until("one leads", all[0].leads)
	}
	s.pass(time.Minute)
	return all
}

// replaced waits until a leader leads no more and another candidate does, and returns how long that took.
func (s *stage) replaced(by ...*service) time.Duration {
	return s.until("another candidate leads", func() bool {
		for _, c := range by {
			if c.leads() {
				return true
			}
		}
		return false
	})
}

// asked is how long it takes at most until a service that is asked once a Renew was asked again.
const askedAgain = 2*time.Second + 2*time.Second/4

func TestALeaderWhoseServiceHangsIsReplaced(t *testing.T) {
	playBoth(t, func(s *stage, _ func(*settings)) {
		all := s.services(3)
		returns := all[0].hangs()
		took := s.replaced(all[1:]...)
		assert.Greater(t, took, timing.TTL-askedAgain, "its last word counted for a TTL")
		assert.Less(t, took, timing.TTL+timing.Renew/4+timing.Poll+watched)
		status := all[0].Status()
		assert.Equal(t, voting.NotAbleSilent, status.Inability)
		assert.Equal(t, voting.DepartedNotAble, status.Departure)
		assert.Equal(t, status.Self, status.LastLeader)
		s.pass(timing.Poll)
		for _, c := range all[1:] {
			status := c.Status()
			assert.Equal(t, all[0].Status().Self, status.LastLeader)
			if status.Role == memberstate.Leader {
				assert.Equal(t, voting.DepartedHandedOver, status.Departure, "the lease was released")
			}
		}
		s.pass(time.Minute)
		returns()
		s.pass(time.Minute)
		assert.Equal(t, voting.Able, all[0].Status().Inability)
		assert.Len(t, all[0].began, 1)
	})
}

func TestALeaderWhoseServiceIsNotWellIsReplaced(t *testing.T) {
	play(t, func(s *stage) {
		all := s.services(2)
		all[0].falters(errNotWell)
		took := s.replaced(all[1])
		assert.Less(t, took, askedAgain+timing.Poll+watched)
		s.pass(timing.Poll)
		status := all[0].Status()
		assert.Equal(t, voting.NotAbleUnhealthy, status.Inability)
		assert.Contains(t, all[0].Status().String(), "(not able: unhealthy)")
		all[1].falters(errNotWell)
		all[0].falters(nil)
		s.replaced(all[0])
	})
}

// If nobody is able there is a leader all the same, and it changes ever more rarely.
func TestAGroupInWhichNobodyIsAbleHasALeader(t *testing.T) {
	play(t, func(s *stage) {
		all := s.services(3)
		for _, c := range all {
			c.falters(errNotWell)
		}
		led := time.Duration(0)
		for range time.Hour / time.Second {
			s.pass(time.Second)
			if s.serving() > 0 {
				led += time.Second
			}
		}
		assert.Greater(t, led, 50*time.Minute)
		offices := 0
		for _, c := range all {
			offices += len(c.began)
		}
		assert.Less(t, offices, 3*(8+5), "each gives up at most eight times, and then once in 128 TTLs")
		all[1].falters(nil)
		s.pass(15 * time.Minute)
		assert.True(t, all[1].leads(), "the able one has its turn after at most 128 TTLs")
	})
}

func TestAServiceVouchesByItsWork(t *testing.T) {
	play(t, func(s *stage) {
		vouching := func(c *settings) { c.Vouch = 2 * timing.Renew }
		first := s.enter("first", vouching)
		s.lead(first)
		second := s.enter("second", vouching)
		work := func(lasts time.Duration, all ...*candidate) {
			for range lasts / (100 * time.Millisecond) {
				for _, c := range all {
					c.Alive()
				}
				s.pass(100 * time.Millisecond)
			}
		}
		work(time.Minute, first, second)
		require.Len(t, first.began, 1, "nothing happens to a service that works")
		require.Empty(t, second.began)
		// The keeper looks at its leases once in a quarter of a Renew: it takes the last word so much later,
		// and so much later it sees that the word counts no more.
		work(2*timing.Renew+2*timing.Renew/4+timing.Poll+watched, second)
		assert.True(t, second.leads())
	})
}

func TestACandidateThatIsNotToLeadIsTheLastChoice(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", nil)
		s.lead(first)
		second := s.enter("second", nil)
		s.pass(time.Minute)
		require.NoError(t, first.Electable(false))
		assert.Equal(t, voting.NotAbleOrdered, first.Status().Inability)
		s.pass(timing.Poll + watched)
		require.True(t, second.leads())
		second.stop()
		<-second.ended
		require.ErrorIs(t, second.Electable(false), elector.ErrStopped)
		s.pass(4 * timing.Poll)
		require.False(t, first.leads(), "others may have come")
		s.pass(2 * timing.Poll)
		require.True(t, first.leads())
		assert.Contains(t, first.Status().String(), "leader (not able: ordered)")
		require.NoError(t, first.Electable(true))
		assert.Equal(t, voting.Able, first.Status().Inability)
	})
}

// An order may be the first thing that happens.
func TestAnOrderNeedsAnElectorThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		el, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing}, lease.GroupConfig{Name: "g"})
		require.NoError(t, err)
		require.ErrorIs(t, el.Electable(false), elector.ErrStopped)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- el.Run(ctx) }()
		synctest.Wait()
		require.NoError(t, el.Electable(false))
		<-time.After(3 * timing.Poll)
		assert.Equal(t, memberstate.Candidate, el.Status().Role)
		cancel()
		require.NoError(t, <-ended)
		require.ErrorIs(t, el.Electable(true), elector.ErrStopped)
	})
}

// Run returns when Healthy has. Healthy may end its goroutine, and has as much time as its answer counts.
func TestHealthyIsWaitedFor(t *testing.T) {
	const counts = 10 * time.Second // longer than a TTL
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var within time.Duration
		hung := make(chan struct{})
		el, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing, Logger: silence}, lease.GroupConfig{
			Name: "g", Vouch: counts, Healthy: func(ctx context.Context) error {
				end, _ := ctx.Deadline()
				within = time.Until(end)
				if calls.Add(1) == 1 {
					runtime.Goexit()
				}
				<-hung
				return ctx.Err()
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- el.Run(ctx) }()
		<-time.After(askedAgain)
		assert.Equal(t, voting.NotAbleUnhealthy, el.Status().Inability)
		<-time.After(time.Minute)
		assert.EqualValues(t, 2, calls.Load(), "it has not returned")
		assert.Equal(t, counts, within)
		cancel()
		<-time.After(time.Hour)
		require.Empty(t, ended)
		close(hung)
		require.NoError(t, <-ended)
	})
}

func TestVouchingIsConfiguredAsAWhole(t *testing.T) {
	config := lease.GroupConfig{Name: "g", Healthy: func(context.Context) error { return nil }}
	timing := timing
	timing.Timeout = timing.Renew / 2
	for vouch, want := range map[time.Duration]string{
		0: "Vouch is zero", -1: "Vouch is negative", 2*timing.Renew - 1: "Vouch is 3.999999999s", 2 * timing.Renew: "",
	} {
		config.Vouch = vouch
		_, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing}, config)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		wrong, is := errors.AsType[*elector.ConfigError](err)
		require.True(t, is)
		assert.Equal(t, "Vouch", wrong.Field)
	}
}

// The log says why a candidate is not able, and why it leads no more.
func TestTheLogSaysWhyACandidateIsNotAble(t *testing.T) {
	play(t, func(s *stage) {
		var said strings.Builder
		c := s.enter("only", func(config *settings) {
			config.Vouch, config.Logger = timing.TTL, slog.New(slog.NewTextHandler(&said, nil))
			config.Healthy = func(context.Context) error { return errNotWell }
		})
		s.until("it leads no more", func() bool { return c.Status().LastLeader != "" })
		c.stop()
		<-c.ended
		assert.Contains(t, said.String(), `level=WARN msg="not able to lead" group=g term=1 why=unhealthy error="compaction is behind"`)
		last := fmt.Sprintf(`msg=role group=g term=1 role=candidate leader="" last_leader=%s departure="not able" ability=unhealthy`, c.Status().Self)
		assert.Contains(t, said.String(), last)
	})
}
