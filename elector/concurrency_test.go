// All methods that may be called at any time are called concurrently, for the race detector.

package elector_test

import (
	"context"
	"fmt"
	"sync"
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

func TestAllMethodsMayBeCalledConcurrently(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	stays := join(t, host, "stays", "n0", "n1")
	require.NoError(t, stays.Start())
	beat := heartbeat(t, "n1", "n0", 1)
	beat.Group, beat.Voters = "stays", digest(t, "n0", "n1")
	const times = 20
	done := endedContext()
	comesAndGoes := func(name string) func(int) {
		return func(i int) {
			el := join(t, host, fmt.Sprint(name, i%2), "n0")
			assert.NoError(t, el.Start())
			if i%3 == 0 {
				_ = el.Stop(done)
				return
			}
			assert.NoError(t, el.Stop(context.Background()))
			<-el.Done()
			assert.NoError(t, el.Err())
		}
	}
	var calls, reading sync.WaitGroup
	readers, leave := context.WithCancel(context.Background())
	reading.Go(func() {
		for range host.Watch(readers) {
			_ = host.Progress()
		}
	})
	reading.Go(func() {
		for range host.WatchBatches(readers, 2) {
			_ = host.Progress()
		}
	})
	for _, call := range map[string]func(int){
		"one":      comesAndGoes("one"),
		"another":  comesAndGoes("another"),
		"messages": func(int) { host.Receive([]rpc.Message{beat}) },
		"losses":   func(int) { host.PeerLost("n1") },
		"questions": func(int) {
			for _, el := range host.Electors() {
				_, _ = el.Status(), el.Err()
				_, _, _ = el.Lease()
			}
			_ = host.Elector("one0")
			_ = host.Dropped(protocol.DropUnknownGroup)
			_, err := stays.Report(context.Background())
			assert.NoError(t, err)
		},
		"orders": func(i int) {
			stays.Campaign()
			_ = stays.Heard(memberstate.Term(i+1), "n1") // it may be stale by now
			_ = stays.Resign(done)
			_ = stays.TransferLeadership(done, "n1")
			_ = stays.SetWeight(1 + i%9)
		},
		"watching": func(int) {
			for range stays.Watch(context.Background()) {
				break
			}
			for range host.Watch(context.Background()) {
				break
			}
		},
		"watching many": func(int) {
			for range host.WatchBatches(context.Background(), 2) {
				break
			}
		},
		"orders for the node": func(i int) {
			assert.NoError(t, host.Balance(time.Duration(i)*time.Second))
			assert.NoError(t, host.Protect(i%3 == 0))
			assert.Error(t, host.Drain(done))
			assert.NoError(t, host.Serve())
		},
		"questions about the node": func(int) {
			_, err := host.Nodes(context.Background())
			assert.NoError(t, err)
			_, err = host.StuckGroups(context.Background())
			assert.NoError(t, err)
			_, err = host.BalancePlan(context.Background())
			assert.NoError(t, err)
			assert.NotZero(t, host.Incarnation())
			for range host.WatchProgress(context.Background()) {
				break
			}
		},
		"beats": func(i int) {
			host.ReceiveBeat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: uint64(i)}})
		},
	} {
		calls.Go(func() {
			for i := range times {
				call(i)
			}
		})
	}
	calls.Wait()
	leave()
	reading.Wait()
	require.NoError(t, host.Close(context.Background()))
	assert.Empty(t, host.Electors())
}

// eagerTransport delivers messages as soon as Serve is called.
type eagerTransport struct {
	rpc.Transport
	host     func() *elector.Host
	arriving sync.WaitGroup
}

func (e *eagerTransport) Serve(h rpc.Handler) (func(), error) {
	for range 4 {
		e.arriving.Go(func() {
			for range 10 {
				h.Receive([]rpc.Message{{Group: "unknown"}})
				_ = e.host().Electors()
			}
		})
	}
	return e.Transport.Serve(h)
}

// Messages may arrive before Serve has returned.
func TestMessagesMayArriveWhileAHostBegins(t *testing.T) {
	var host *elector.Host
	transport := &eagerTransport{Transport: rpc.NewNetwork(1).Join("n0"), host: func() *elector.Host { return host }}
	host = elector.MustHost(t, elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: transport})
	for range 50 {
		el := join(t, host, "g", "n0")
		require.NoError(t, el.Start())
		require.NoError(t, el.Stop(t.Context()))
	}
	transport.arriving.Wait()
}

// Groups start and stop while other goroutines read and stop them, sometimes before the start. The
// test is for the race detector.
func TestGroupsMayStartAndStopConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		require.NoError(t, join(t, host, "stays", "n0").Start())
		var coming, looking sync.WaitGroup
		for i := range 4 {
			coming.Go(func() {
				for turn := range 40 {
					comeAndGo(t, host, fmt.Sprint("g", i, " ", turn), turn%2 == 0)
				}
			})
		}
		ended := make(chan struct{})
		looking.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					host.PeerLost("n1")
					host.Electors()
				}
			}
		})
		coming.Wait()
		close(ended)
		looking.Wait()
		assert.Len(t, host.Electors(), 1)
		require.NoError(t, host.Close(context.Background()))
	})
}

// comeAndGo lets a group join and start while other goroutines read and stop it.
func comeAndGo(t *testing.T, host *elector.Host, group string, startFirst bool) {
	t.Helper()
	el, err := host.Join(elector.GroupOf(group, "n0"))
	if !assert.NoError(t, err) {
		return
	}
	start := func() {
		if err := el.Start(); err != nil {
			assert.ErrorIs(t, err, elector.ErrStopped)
		}
	}
	var beside sync.WaitGroup
	if startFirst {
		start()
	} else {
		beside.Go(start)
	}
	beside.Go(func() { assert.NoError(t, el.Err()) })
	beside.Go(func() { <-el.Done() })
	beside.Go(func() { assert.NoError(t, el.Stop(context.Background())) })
	beside.Wait()
}
