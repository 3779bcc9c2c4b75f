package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// trio is three nodes of a group in virtual time. n0 leads.
type trio struct {
	t       *testing.T
	network *rpc.Network
	hosts   []*elector.Host
	leader  *node
	log     strings.Builder
	ledgers electiontest.Ledgers
	pause   func(ctx context.Context) error // of n0; nil: there is nothing to pause
	hangs   atomic.Pointer[chan struct{}]   // the loop of n0 hangs until it is closed; nil: it does not
}

func withTrio(t *testing.T, wait time.Duration, pause func(ctx context.Context) error, play func(*trio)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := &trio{t: t, network: rpc.NewNetwork(1), pause: pause}
		for i := range 3 {
			x.join(i)
		}
		first := x.hosts[0].Electors()[0]
		x.leader = &node{
			member: member{host: x.hosts[0], election: first, log: slog.New(slog.NewTextHandler(&x.log, nil))}, config: Config{DrainWait: &wait}, health: newHealthService(),
			detection: elector.DefaultTiming().Detection(),
		}
		for now := range first.Watch(t.Context()) {
			if now.Leader == "n0" {
				break
			}
			if now.Leader != "" {
				_ = x.hosts[now.Leader[1]-'0'].Electors()[0].TransferLeadership(t.Context(), "n0")
			}
		}
		<-time.After(time.Second)
		require.Equal(t, memberstate.Leader, first.Status().Role)
		play(x)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for _, h := range x.hosts {
			require.NoError(t, h.Close(ended))
		}
	})
}

func (x *trio) join(i int) {
	x.t.Helper()
	id := fmt.Sprint("n", i)
	hostConfig := elector.HostConfig{
		Self: id, Store: new(memberstate.MemStore), Transport: x.network.Join(id), Logger: slog.New(slog.DiscardHandler),
	}
	if i == 0 {
		hostConfig.Metrics = &elector.Metrics{BeatSent: func(string) { // the loop calls it, and waits
			if over := x.hangs.Load(); over != nil {
				<-*over
			}
		}}
	}
	host, err := elector.NewHost(hostConfig)
	require.NoError(x.t, err)
	config := elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return x.ledgers.End(id, "orders") },
	}
	if i == 0 && x.pause != nil {
		config.Pause = func(ctx context.Context, _ memberstate.Term) error { return x.pause(ctx) }
	}
	el, err := host.Join(config)
	require.NoError(x.t, err)
	require.NoError(x.t, el.Start())
	x.hosts = append(x.hosts, host)
}

// writes has n0 write, so that the others are behind.
func (x *trio) writes() {
	x.t.Helper()
	x.ledgers.Write(x.t, x.hosts[0].Electors()[0])
}

// catchUp has the others write the same.
func (x *trio) catchUp() {
	x.t.Helper()
	for _, h := range x.hosts[1:] {
		x.ledgers.Write(x.t, h.Electors()[0])
	}
}

// cut cuts n0 off, or ends that.
func (x *trio) cut(off bool) {
	for _, other := range []string{"n1", "n2"} {
		x.network.SetLink("n0", other, rpc.Link{Cut: off})
		x.network.SetLink(other, "n0", rpc.Link{Cut: off})
	}
}

// drain drains n0, and returns how long that took.
func (x *trio) drain() time.Duration {
	began := time.Now()
	x.leader.drain()
	return time.Since(began)
}

// health is what the health service of n0 says.
func (x *trio) health() grpc_health_v1.HealthCheckResponse_ServingStatus {
	x.t.Helper()
	synctest.Wait()
	answer, err := x.leader.health.Check(x.t.Context(), new(grpc_health_v1.HealthCheckRequest))
	require.NoError(x.t, err)
	return answer.GetStatus()
}

func TestANodeThatIsToldToStopHandsOver(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		watching, stop := context.WithCancel(x.t.Context())
		followed := make(chan struct{})
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, x.health(), "nobody has looked")
		go func() {
			x.leader.health.follow(watching, &x.leader.member)
			close(followed)
		}()
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, x.health())
		code, body := page(x.leader.drainedPage)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "not drained\n", body)

		assert.LessOrEqual(t, x.drain(), 2*elector.DefaultTiming().Heartbeat)
		assert.NotEqual(t, memberstate.Leader, x.leader.election.Status().Role)
		assert.NotContains(t, x.log.String(), "WARN")
		assert.Contains(t, x.log.String(), "msg=draining for_at_most=1m0s")
		code, body = page(x.leader.drainedPage)
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "drained\n", body)
		code, body = page(x.leader.readyPage)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "not ready: the node is drained\n", body)
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, x.health())
		require.NoError(t, x.leader.host.Serve())
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, x.health())
		code, _ = page(x.leader.readyPage)
		assert.Equal(t, http.StatusOK, code)
		select {
		case <-followed:
			assert.Fail(t, "it has returned, and goes on")
		default:
		}
		stop()
		<-followed
	})
}

// It gives up what it leads anyway, and better while service goes on.
func TestANodeThatIsProtectedIsDrainedBeforeItEnds(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		require.NoError(t, x.leader.host.Protect(true))
		assert.LessOrEqual(t, x.drain(), 2*elector.DefaultTiming().Heartbeat)
		assert.True(t, x.leader.drained())
		assert.NotContains(t, x.log.String(), "WARN")
	})
}

// A node that leads nothing before and after is not ready while it knows no leader.
func TestAFollowerThatKnowsNoLeaderIsNotServing(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		x.leader = &node{member: member{host: x.hosts[1], election: x.hosts[1].Electors()[0]}, health: newHealthService()}
		watching, stop := context.WithCancel(x.t.Context())
		followed := make(chan struct{})
		go func() {
			x.leader.health.follow(watching, &x.leader.member)
			close(followed)
		}()
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, x.health())
		x.cut(true)
		x.network.SetLink("n1", "n2", rpc.Link{Cut: true})
		<-time.After(2 * elector.DefaultTiming().Detection())
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, x.health())
		x.cut(false)
		x.network.SetLink("n1", "n2", rpc.Link{})
		<-time.After(time.Second)
		assert.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, x.health())
		stop()
		<-followed
	})
}

func TestANodeIsDrainedBeforeItEnds(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		synctest.Wait()
		require.NoError(t, leads.Err())
		stop()
		<-leads.Done()
		assert.True(t, x.leader.drained())
		cancel()
	})
	withTrio(t, time.Minute, nil, func(x *trio) {
		ctx, stop := context.WithCancel(x.t.Context())
		leads, cancel := x.leader.untilOutOfService(ctx)
		cancel()
		require.Error(t, leads.Err())
		stop()
		synctest.Wait()
		assert.Equal(t, rpc.Serving, x.leader.host.Progress().Standing.State, "it has ended otherwise, so there is nothing to drain")
	})
}

func TestANodeDoesNotWaitIfNobodyIsThere(t *testing.T) {
	alone := map[string]func(x *trio){
		"the others are cut off": func(x *trio) {
			x.cut(true)
			<-time.After(250 * time.Millisecond) // it still leads
		},
		"the others drain": func(x *trio) {
			for _, h := range x.hosts[1:] {
				require.NoError(x.t, h.Drain(x.t.Context()))
			}
			<-time.After(time.Second)
		},
	}
	for name, prepare := range alone {
		withTrio(t, time.Minute, nil, func(x *trio) {
			prepare(x)
			require.Equal(t, memberstate.Leader, x.leader.election.Status().Role, name)
			assert.LessOrEqual(t, x.drain(), 3*elector.DefaultTiming().Detection(), name)
			if x.leader.election.Status().Role == memberstate.Leader { // a leader that is cut off resigns by itself
				assert.Contains(t, x.log.String(), "stopping although this node leads, because nobody has taken over\" error=\"elector: the node still leads 1 group (1 all leaving)\"", name)
			}
			assert.NotContains(t, x.log.String(), "context", name)
		})
	}
}

// The others are there, and have not caught up.
func TestANodeWaitsForOthersThatMayTakeOver(t *testing.T) {
	withTrio(t, 10*time.Second, nil, func(x *trio) {
		x.writes()
		assert.Equal(t, 10*time.Second, x.drain())
		assert.Contains(t, x.log.String(), "nobody has taken over")
		assert.False(t, x.leader.drained(), "it leads on")
		code, body := page(x.leader.readyPage)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "not ready: the node is draining\n", body)
		require.NoError(t, x.leader.host.Serve())
		x.catchUp()
		assert.LessOrEqual(t, x.drain(), time.Second)
	})
	withTrio(t, 10*time.Second, nil, func(x *trio) {
		x.writes()
		hurry := make(chan struct{})
		x.leader.config.Hurry = hurry
		time.AfterFunc(3*time.Second, func() { close(hurry) })
		assert.Equal(t, 3*time.Second, x.drain(), "it is told to hurry")
	})
	withTrio(t, 10*time.Second, nil, func(x *trio) {
		hurry := make(chan struct{})
		close(hurry)
		x.leader.host, x.leader.config.Hurry = x.hosts[1], hurry
		assert.Zero(t, x.drain())
		assert.NotContains(t, x.log.String(), "WARN", "it leads nothing, and was in a hurry from the beginning")
	})
	withTrio(t, 0, nil, func(x *trio) {
		assert.Zero(t, x.drain())
		assert.Equal(t, rpc.Serving, x.leader.host.Progress().Standing.State, "it is not to wait at all")
		assert.Empty(t, x.log.String())
	})
}

// It is killed next.
func TestANodeDoesNotWaitForAProgramThatDoesNotEnd(t *testing.T) {
	stubborn := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	withTrio(t, time.Minute, stubborn, func(x *trio) {
		assert.LessOrEqual(t, x.drain(), 2*elector.DefaultTiming().Detection())
		assert.Contains(t, x.log.String(), "1 not paused")
	})
}

// Others that do not answer for a moment are waited for, and so are some that come back again and again.
func TestANodeWaitsForOthersThatAreSilentForAMoment(t *testing.T) {
	withTrio(t, time.Minute, nil, func(x *trio) {
		x.cut(true)
		<-time.After(250 * time.Millisecond)
		time.AfterFunc(elector.DefaultTiming().Heartbeat/2, func() { x.cut(false) })
		assert.LessOrEqual(t, x.drain(), 3*elector.DefaultTiming().Detection())
		assert.NotEqual(t, memberstate.Leader, x.leader.election.Status().Role)
		assert.NotContains(t, x.log.String(), "WARN")
	})
	withTrio(t, 10*time.Second, nil, func(x *trio) {
		served := time.AfterFunc(elector.DefaultTiming().Detection(), func() { // the others serve again, and are behind
			x.writes()
			for _, h := range x.hosts[1:] {
				assert.NoError(t, h.Serve())
			}
		})
		defer served.Stop()
		for _, h := range x.hosts[1:] {
			require.NoError(t, h.Drain(x.t.Context()))
		}
		<-time.After(200 * time.Millisecond)
		assert.Equal(t, 10*time.Second, x.drain())
	})
}

// Others that have left are waited for until they have been gone for longer than a detection time, whenever that began.
func TestANodeWaitsForAWhileForOthersThatHaveLeft(t *testing.T) {
	for _, first := range []bool{true, false} { // they leave first, or while the node finds out that they are behind
		withTrio(t, time.Minute, nil, func(x *trio) {
			x.writes() // those that are there are behind
			leave := func() {
				for _, h := range x.hosts[1:] {
					assert.NoError(t, h.Drain(x.t.Context()))
				}
			}
			if first {
				leave()
				<-time.After(time.Second)
			} else {
				time.AfterFunc(elector.DefaultTiming().Heartbeat/2, leave)
			}
			watching, stop := context.WithCancel(x.t.Context())
			noticed := make(chan time.Time, 1)
			go func() {
				for p := range x.leader.host.WatchProgress(watching) {
					if p.Deserted() {
						noticed <- time.Now()
						return
					}
				}
			}()
			began := time.Now()
			x.drain()
			ended := time.Now()
			stop()
			since := <-noticed
			assert.Equal(t, first, since.Equal(began))
			assert.Equal(t, 3*x.leader.detection/2, ended.Sub(since))
		})
	}
}
