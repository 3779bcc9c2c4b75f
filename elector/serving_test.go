// A host serves its transport from the start of its first group to the end of its last, and
// from then on for nobody.

package elector_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// slowTransport is a transport that takes its time to begin, and to end.
type slowTransport struct {
	rpc.Transport
	begins func()
	ends   chan struct{}
	served atomic.Int32 // how many times
}

func (s *slowTransport) Serve(h rpc.Handler) (stop func(), err error) {
	s.served.Add(1)
	if s.begins != nil {
		s.begins()
	}
	inner, err := s.Transport.Serve(h)
	return func() {
		if s.ends != nil {
			<-s.ends
		}
		inner()
	}, err
}

// aloneOn are the groups of a host, each with this node as its only voter.
func aloneOn(t *testing.T, transport rpc.Transport, store memberstate.Store, groups ...string) (all []*elector.Elector) {
	t.Helper()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: store, Transport: transport})
	require.NoError(t, err)
	for _, group := range groups {
		el, err := host.Join(elector.GroupConfig{
			Group: group, Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		all = append(all, el)
	}
	return all
}

// Whoever has waited for the end of a group has waited for the transport, too: another host may
// serve it then, or somebody may close it.
func TestWhoeverWaitsForTheEndWaitsForTheTransport(t *testing.T) {
	started := func(wait func(*elector.Elector) error) func(*elector.Elector) error {
		return func(el *elector.Elector) error {
			if err := el.Start(); err != nil {
				return err
			}
			<-time.After(time.Second)
			return wait(el)
		}
	}
	untilItLeads := func(el *elector.Elector) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return el.Run(ctx)
	}
	stop := started(func(el *elector.Elector) error { return el.Stop(context.Background()) })
	shut := started(func(el *elector.Elector) error { return el.Host().Close(context.Background()) })
	for name, end := range map[string]struct {
		fails bool // the group ends by itself
		wait  func(el *elector.Elector) error
	}{
		"Stop":                       {false, stop},
		"Run":                        {false, untilItLeads},
		"Run of one that fails":      {true, untilItLeads},
		"Close":                      {false, shut},
		"Close when all have failed": {true, shut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), ends: make(chan struct{})}
				store := new(brittleStore)
				store.brittle.Store(end.fails)
				el := aloneOn(t, transport, store, "g")[0]
				over := make(chan error, 1)
				go func() { over <- end.wait(el) }()
				<-time.After(time.Minute)
				assert.True(t, el.Status().Stopped)
				assert.Empty(t, over, "it does not wait")
				close(transport.ends)
				if err := <-over; !end.fails {
					assert.NoError(t, err)
				}
				assert.EqualValues(t, 1, transport.served.Load())
			})
		})
	}
}

// brittleStore keeps the first state, and may fail from then on.
type brittleStore struct {
	memberstate.MemStore
	brittle atomic.Bool
	saves   atomic.Int32
}

func (s *brittleStore) Save(batch []memberstate.Record) error {
	if s.saves.Add(1) > 1 && s.brittle.Load() {
		return assert.AnError
	}
	return s.MemStore.Save(batch)
}

// A host whose last group has failed, and for which nobody waits, may be given another group at
// once. That one begins when the transport is free.
func TestAGroupBeginsWhenTheTransportIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), ends: make(chan struct{})}
		store := new(brittleStore)
		store.brittle.Store(true)
		all := aloneOn(t, transport, store, "fails", "next")
		require.NoError(t, all[0].Start())
		<-all[0].Done()
		require.ErrorIs(t, all[0].Err(), assert.AnError)
		store.brittle.Store(false)
		begun := make(chan error, 1)
		go func() { begun <- all[1].Start() }()
		<-time.After(time.Minute)
		assert.Empty(t, begun, "it has begun too early")
		close(transport.ends)
		require.NoError(t, <-begun)
		assert.NoError(t, all[1].Stop(context.Background()))
	})
}

// Groups that start at once begin to serve once.
func TestGroupsThatStartAtOnceServeOnce(t *testing.T) {
	transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), begins: func() {
		for range 1000 { // the others have time to come here, too
			runtime.Gosched()
		}
	}}
	all := aloneOn(t, transport, new(memberstate.MemStore), "a", "b", "c")
	var starting sync.WaitGroup
	for _, el := range all {
		starting.Go(func() { assert.NoError(t, el.Start()) })
	}
	starting.Wait()
	assert.EqualValues(t, 1, transport.served.Load())
	assert.NoError(t, all[0].Host().Close(context.Background()))
}

// Whoever asks why a member has ended may do so while it fails.
func TestErrMayBeAskedWhileTheMemberFails(t *testing.T) {
	store := new(brittleStore)
	store.brittle.Store(true)
	el := aloneOn(t, rpc.NewNetwork(1).Join("n0"), store, "g")[0]
	require.NoError(t, el.Start())
	over := el.Done()
	for el.Err() == nil {
		runtime.Gosched()
	}
	<-over
	require.ErrorIs(t, el.Stop(context.Background()), assert.AnError)
}

// Whoever gives an order to a member that begins or ends is told why it takes none.
func TestAnOrderMayBeGivenWhileAMemberBeginsAndEnds(t *testing.T) {
	el := aloneOn(t, rpc.NewNetwork(1).Join("n0"), new(memberstate.MemStore), "g")[0]
	require.ErrorIs(t, el.Resign(context.Background()), elector.ErrStopped)
	var working sync.WaitGroup
	working.Go(func() {
		assert.NoError(t, el.Start())
		assert.NoError(t, el.Stop(context.Background()))
	})
	for !el.Status().Stopped {
		_ = el.Resign(context.Background())
	}
	require.ErrorIs(t, el.Resign(context.Background()), elector.ErrStopped)
	working.Wait()
}

// A group whose host has a transport that serves nobody does not begin, and says why.
func TestAGroupDoesNotBeginWithoutATransport(t *testing.T) {
	network := rpc.NewNetwork(1)
	stop, err := network.Join("n0").Serve(&outsider{})
	require.NoError(t, err)
	all := aloneOn(t, network.Join("n0"), new(memberstate.MemStore), "g", "h")
	require.ErrorContains(t, all[0].Start(), "is being served already")
	<-all[0].Done()
	require.ErrorContains(t, all[0].Err(), "is being served already")
	stop()
	require.NoError(t, all[1].Start(), "another may begin when it serves somebody")
	require.NoError(t, all[1].Stop(context.Background()))
}
