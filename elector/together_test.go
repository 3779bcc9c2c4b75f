// What may be called at any time, called at once: the race detector sees what is not locked.

package elector_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Groups come and go on a host that takes messages, is asked for what it has, and loses
// peers, while others give orders.
func TestEverythingMayBeCalledAtOnce(t *testing.T) {
	host := loner(t, new(memberstate.MemStore))
	stays := join(t, host, "stays", "n0", "n1")
	require.NoError(t, stays.Start())
	members, err := memberstate.NewMembers(memberstate.Voters("n0", "n1"))
	require.NoError(t, err)
	hint := rpc.Message{
		Group: "stays", From: "n1", To: "n0", Leader: "n1", Voters: members.Digest(),
		Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1, Round: 1},
	}
	const times = 20
	done, cancel := context.WithCancel(t.Context())
	cancel()
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
	var calls sync.WaitGroup
	for _, call := range map[string]func(int){
		"one":      comesAndGoes("one"),
		"another":  comesAndGoes("another"),
		"messages": func(int) { host.Receive([]rpc.Message{hint}) },
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
		},
		"watching": func(int) {
			for range stays.Watch(context.Background()) {
				break
			}
		},
	} {
		calls.Go(func() {
			for i := range times {
				call(i)
			}
		})
	}
	calls.Wait()
	require.NoError(t, host.Close(context.Background()))
	assert.Empty(t, host.Electors())
}

// eager is a transport that delivers from the moment at which it is told to serve.
type eager struct {
	rpc.Transport
	host     func() *elector.Host
	arriving sync.WaitGroup
}

func (e *eager) Serve(h rpc.Handler) (func(), error) {
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

// Messages may arrive before the host that serves has begun to.
func TestMessagesArriveWhileAHostBegins(t *testing.T) {
	var host *elector.Host
	transport := &eager{Transport: rpc.NewNetwork(1).Join("n0"), host: func() *elector.Host { return host }}
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: transport})
	require.NoError(t, err)
	for range 50 {
		el := join(t, host, "g", "n0")
		require.NoError(t, el.Start())
		require.NoError(t, el.Stop(t.Context()))
	}
	transport.arriving.Wait()
}
