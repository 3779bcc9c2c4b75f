// All methods that may be called at any time are called concurrently, for the race detector.

package elector_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
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

// caller calls the methods of a host, and of its groups. One of these takes part all the time.
type caller struct {
	t     *testing.T
	host  *elector.Host
	stays *elector.Elector
}

// Each goroutine calls one method again and again. A method that no goroutine calls fails the test, so a new one is added here.
func TestAllMethodsMayBeCalledConcurrently(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	c := &caller{t, host, join(t, host, "stays", "n0", "n1")}
	require.NoError(t, c.stays.Start())
	ofElector, ofHost := c.ofElector(), c.ofHost()
	assert.Empty(t, uncalled[*elector.Elector](ofElector))
	assert.Empty(t, uncalled[*elector.Host](ofHost))
	const times = 20
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
	for _, methods := range []map[string]func(int){ofElector, ofHost} {
		for _, call := range methods {
			calls.Go(func() {
				for i := range times {
					call(i)
				}
			})
		}
	}
	calls.Wait()
	leave()
	reading.Wait()
	require.NoError(t, host.Close(context.Background()))
	assert.Empty(t, host.Electors())
}

// uncalled are the methods of a type that are not called.
func uncalled[T any](calls map[string]func(int)) (missing []string) {
	for m := range reflect.TypeFor[T]().Methods() {
		if calls[m.Name] == nil {
			missing = append(missing, m.Name)
		}
	}
	return missing
}

// comesAndGoes joins a group, calls begin, and stops it. StartAll may start it first.
func (c *caller) comesAndGoes(name string, begin func(*elector.Elector) error) {
	el := join(c.t, c.host, name, "n0")
	if err := begin(el); err != nil {
		assert.ErrorIs(c.t, err, elector.ErrStopped)
	}
	assert.NoError(c.t, el.Stop(context.Background()))
	<-el.Done()
	assert.NoError(c.t, el.Err())
}

// ofElector are calls of the methods of an Elector.
func (c *caller) ofElector() map[string]func(int) {
	done := endedContext()
	all := func(f func(*elector.Elector)) func(int) {
		return func(int) {
			for _, el := range c.host.Electors() {
				f(el)
			}
		}
	}
	timing := elector.DefaultTiming()
	return map[string]func(int){
		"Alive":     all((*elector.Elector).Alive),
		"Done":      all(func(el *elector.Elector) { _ = el.Done() }),
		"Err":       all(func(el *elector.Elector) { _ = el.Err() }),
		"Host":      all(func(el *elector.Elector) { assert.Same(c.t, c.host, el.Host()) }),
		"Lease":     all(func(el *elector.Elector) { _, _, _ = el.Lease() }),
		"Members":   all(func(el *elector.Elector) { assert.NotEmpty(c.t, el.Members()) }),
		"Preferred": all(func(el *elector.Elector) { _ = el.Preferred() }),
		"Status":    all(func(el *elector.Elector) { _ = el.Status() }),
		"Timing":    all(func(el *elector.Elector) { assert.Equal(c.t, timing.Leak, el.Timing().Leak) }),
		"Start": func(i int) {
			c.comesAndGoes(fmt.Sprint("started", i%2), (*elector.Elector).Start)
		},
		"Stop": func(i int) {
			c.comesAndGoes(fmt.Sprint("stopped", i%2), func(el *elector.Elector) error {
				return cmp.Or(el.Start(), el.Stop(done))
			})
		},
		"Run": func(i int) {
			c.comesAndGoes(fmt.Sprint("run", i%2), func(el *elector.Elector) error { return el.Run(done) })
		},
		"Campaign":           func(int) { c.stays.Campaign() },
		"Electable":          func(i int) { assert.NoError(c.t, c.stays.Electable(i%2 == 0)) },
		"Heard":              func(i int) { _ = c.stays.Heard(memberstate.Term(i+1), "n1") }, // it may be stale by now
		"Resign":             func(int) { _ = c.stays.Resign(done) },
		"TransferLeadership": func(int) { _ = c.stays.TransferLeadership(done, "n1") },
		"SetWeight":          func(i int) { assert.NoError(c.t, c.stays.SetWeight(1+i%9)) },
		"SetPreferred":       func(i int) { assert.NoError(c.t, c.stays.SetPreferred([]string{"n0", "n1"}[:i%3]...)) },
		"SetTiming": func(i int) {
			timing := timing
			timing.MaxVoteWait += time.Duration(i%3) * time.Millisecond
			assert.NoError(c.t, c.stays.SetTiming(timing))
		},
		"Report": func(int) {
			_, err := c.stays.Report(context.Background())
			assert.NoError(c.t, err)
		},
		"Watch": func(int) {
			for range c.stays.Watch(context.Background()) {
				break
			}
		},
	}
}

// ofHost are calls of the methods of a Host.
func (c *caller) ofHost() map[string]func(int) {
	t, host, done := c.t, c.host, endedContext()
	beat := heartbeat(t, "n1", "n0", 1)
	beat.Group, beat.Voters = "stays", digest(t, "n0", "n1")
	return map[string]func(int){
		"Balance": func(i int) { assert.NoError(t, host.Balance(time.Duration(i)*time.Second)) },
		"BalancePlan": func(int) {
			_, err := host.BalancePlan(context.Background())
			assert.NoError(t, err)
		},
		// Close ends the groups of a host. Here all of them come and go, and it is closed again and again.
		"Close": func(i int) {
			other := elector.IsolatedHost(t, new(memberstate.MemStore))
			assert.NoError(t, join(t, other, fmt.Sprint(i), "n0").Start())
			var beside sync.WaitGroup
			for range 2 {
				beside.Go(func() { assert.NoError(t, other.Close(context.Background())) })
			}
			beside.Wait()
		},
		"Drain":          func(int) { assert.Error(t, host.Drain(done)) },
		"DrainPatiently": func(int) { assert.Error(t, host.DrainPatiently(done)) },
		"DrainInFlight":  func(i int) { assert.Error(t, host.DrainInFlight(done, 1+i, false)) },
		"Dropped":        func(int) { _ = host.Dropped(protocol.DropUnknownGroup) },
		"Elector":        func(int) { assert.Same(t, c.stays, host.Elector("stays")) },
		"Electors":       func(int) { assert.True(t, slices.Contains(host.Electors(), c.stays)) },
		"Incarnation":    func(int) { assert.NotZero(t, host.Incarnation()) },
		"Join":           func(i int) { c.comesAndGoes(fmt.Sprint("joined", i), func(*elector.Elector) error { return nil }) },
		"JoinAll": func(i int) {
			all, err := host.JoinAll(slices.Values([]elector.GroupConfig{elector.GroupOf(fmt.Sprint("all", i), "n0")}))
			assert.NoError(t, err)
			for _, el := range all {
				assert.NoError(t, el.Stop(context.Background()))
			}
		},
		"KeepDrained": func(i int) { assert.NoError(t, host.KeepDrained(i%2 == 0)) },
		"Nodes": func(int) {
			_, err := host.Nodes(context.Background())
			assert.NoError(t, err)
		},
		"PeerLost": func(int) { host.PeerLost("n1") },
		"Progress": func(int) { _ = host.Progress() },
		"Protect":  func(i int) { assert.NoError(t, host.Protect(i%3 == 0)) },
		"Receive":  func(int) { host.Receive([]rpc.Message{beat}) },
		"ReceiveBeat": func(i int) {
			host.ReceiveBeat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: uint64(i)}})
		},
		"Self":     func(int) { assert.Equal(t, "n0", host.Self()) },
		"Serve":    func(int) { assert.NoError(t, host.Serve()) },
		"StartAll": func(int) { assert.NoError(t, host.StartAll()) },
		"StuckGroups": func(int) {
			_, err := host.StuckGroups(context.Background())
			assert.NoError(t, err)
		},
		"Undrain": func(int) { assert.NoError(t, host.Undrain()) },
		"Watch": func(int) {
			for range host.Watch(context.Background()) {
				break
			}
		},
		"WatchBatches": func(int) {
			for range host.WatchBatches(context.Background(), 2) {
				break
			}
		},
		"WatchProgress": func(int) {
			for range host.WatchProgress(context.Background()) {
				break
			}
		},
		"Watchers": func(int) { _ = host.Watchers() }, // of the tests
	}
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
