// What a node tells the service manager, in virtual time.

package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// manager is a service manager that keeps what it is told.
type manager struct {
	mu   sync.Mutex
	told []string
}

func (m *manager) Write(message []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, string(message))
	return len(message), nil
}

func (m *manager) Close() error { return nil }

// takes returns what it was told since it was called last.
func (m *manager) takes() []string {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	told := m.told
	m.told = nil
	return told
}

// managed plays a test with a leader that speaks to a service manager, which wants to hear so often that the node runs; 0: never.
func managed(t *testing.T, period time.Duration, play func(x *trio, told func() []string)) {
	t.Helper()
	withTrio(t, time.Minute, nil, func(x *trio) {
		m := new(manager)
		x.leader.service = &service{to: m, period: period}
		ctx, stop := context.WithCancel(x.t.Context())
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			x.leader.service.follow(ctx, &x.leader.member, x.leader.loops)
		}()
		play(x, m.takes)
		stop()
		<-followed
	})
}

// It is ready when its page says so, and says that once. Systemd has no word for a service that is not ready any more.
func TestAServiceIsReadyOnce(t *testing.T) {
	managed(t, 0, func(x *trio, told func() []string) {
		term := uint64(x.leader.election.Status().Term)
		assert.Equal(t, []string{fmt.Sprintf("READY=1\nSTATUS=ready: n0 leads term %d", term)}, told())
		require.NoError(t, x.leader.host.Drain(x.t.Context()))
		assert.Equal(t, "STATUS=not ready: the node is drained", last(told()))
		require.NoError(t, x.leader.host.Serve())
		assert.Regexp(t, `^STATUS=ready: n[12] leads term \d+$`, last(told()), "nothing but that")
	})
}

func last(of []string) string { return of[len(of)-1] }

func TestAServiceThatIsNotReadySaysWhy(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		require.NoError(t, x.leader.host.Drain(x.t.Context()))
		m := new(manager)
		s := &service{to: m}
		s.look(&x.leader.member)
		s.look(&x.leader.member)
		assert.Equal(t, []string{"STATUS=not ready: the node is drained"}, m.takes())
		var none *service
		none.follow(x.t.Context(), &x.leader.member, x.leader.loops)
		none.stop(&x.leader.member, time.Minute)
		none.close()
	})
}

func TestAServiceThatStopsSaysHowFarItHasDrained(t *testing.T) {
	managed(t, 0, func(x *trio, told func() []string) {
		told()
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		defer cancel()
		stop()
		<-leads.Done()
		within := time.Minute + x.leader.detection + 2*patience
		assert.Equal(t, []string{
			fmt.Sprintf("STOPPING=1\nEXTEND_TIMEOUT_USEC=%d", within.Microseconds()),
			"STATUS=stopping: 0 of 1 groups are handed over",
			"STATUS=stopping: 1 of 1 groups are handed over",
			"STATUS=stopping: drained, 1 of 1 groups were handed over",
		}, told())
	})
	managed(t, 0, func(x *trio, told func() []string) {
		told()
		x.leader.service.stop(&member{election: x.leader.election}, time.Second)
		assert.Equal(t, []string{"STOPPING=1\nEXTEND_TIMEOUT_USEC=1000000", "STATUS=stopping"}, told(), "it contends for a lease")
	})
}

// A load balancer must learn that a node drains, and not only that it is gone.
func TestANodeSaysHowItIsUntilItEnds(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		m := new(manager)
		x.leader.service = &service{to: m}
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		defer cancel()
		assert.ErrorIs(t, x.leader.followed(func() error {
			assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, x.health())
			assert.Contains(t, m.takes()[0], "READY=1")
			stop()
			<-leads.Done()
			assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, x.health())
			assert.Equal(t, "STATUS=stopping: drained, 1 of 1 groups were handed over", last(m.takes()))
			return assert.AnError
		}), assert.AnError)
	})
}

// It would be started as if it were to stay.
func TestAServiceThatStopsDoesNotBecomeReady(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		m := new(manager)
		s := &service{to: m}
		s.stop(&x.leader.member, time.Second)
		assert.Equal(t, []string{"STOPPING=1\nEXTEND_TIMEOUT_USEC=1000000", "STATUS=stopping: 0 of 1 groups are handed over"}, m.takes())
		s.stop(&member{host: x.hosts[1], election: x.hosts[1].Electors()[0]}, time.Second)
		assert.Equal(t, "STATUS=stopping", last(m.takes()), "it leads nothing that could be handed over")
	})
}

// While the loop hangs nothing is said, so that the service manager can end the node.
func TestAServiceSaysThatItRunsWhileItsLoopDoes(t *testing.T) {
	const period = 10 * time.Second
	managed(t, period, func(x *trio, told func() []string) {
		assert.Contains(t, told(), "WATCHDOG=1", "at once")
		<-time.After(10 * period)
		assert.Len(t, told(), 20)
		over := make(chan struct{})
		x.hangs.Store(&over)
		<-time.After(period) // it may have begun to speak before
		told()
		<-time.After(10 * period)
		for _, message := range told() {
			assert.NotContains(t, message, "WATCHDOG")
		}
		x.hangs.Store(nil)
		close(over)
		<-time.After(period)
		assert.Contains(t, told(), "WATCHDOG=1")
	})
	managed(t, 0, func(_ *trio, told func() []string) {
		<-time.After(time.Hour)
		assert.NotContains(t, strings.Join(told(), " "), "WATCHDOG", "nobody wants to know")
	})
}

func TestThePeriodIsForTheProcessThatIsNamed(t *testing.T) {
	for _, c := range []struct {
		process, period string
		want            time.Duration
	}{
		{"", "", 0},
		{"", "10000000", 10 * time.Second},
		{strconv.Itoa(os.Getpid()), "10000000", 10 * time.Second},
		{"1", "10000000", 0},
		{"", "soon", 0},
		{"", "-1", 0},
	} {
		t.Setenv("WATCHDOG_PID", c.process)
		t.Setenv("WATCHDOG_USEC", c.period)
		assert.Equal(t, c.want, askedPeriod(), "%+v", c)
	}
}

func TestAServiceManagerThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	none, err := newService()
	require.NoError(t, err)
	assert.Nil(t, none)
	t.Setenv("NOTIFY_SOCKET", t.TempDir()+"/missing")
	_, err = newService()
	assert.ErrorContains(t, err, "cannot speak to the service manager that has started this node")
}

// A service manager that hangs reads nothing. The node loses what it says then, and goes on.
func TestANodeDoesNotWaitForAServiceManagerThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	hangs, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, hangs.Close()) }()
	t.Setenv("NOTIFY_SOCKET", path)
	s, err := newService()
	require.NoError(t, err)
	defer s.close()
	for err == nil { // until there is no room for more
		_, err = s.to.Write([]byte("STATUS=well"))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
