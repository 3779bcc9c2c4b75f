// A host serves its transport from the start of its first group to the end of its last.

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
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// slowTransport is a transport that is slow to begin and to end.
type slowTransport struct {
	rpc.Transport
	begins func()        // called when Serve begins; may be nil
	ends   chan struct{} // stop waits for it, if not nil
	served atomic.Int32  // calls of Serve
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

// singleMembers are the members of these groups at one host. Each is the only one of its group.
func singleMembers(t *testing.T, transport rpc.Transport, store memberstate.Store, groups ...string) (all []*elector.Elector) {
	t.Helper()
	host := elector.MustHost(t, elector.HostConfig{Self: "n0", Store: store, Transport: transport})
	for _, group := range groups {
		all = append(all, join(t, host, group, "n0"))
	}
	return all
}

// When Stop, Run or Close has returned, another host may serve the transport, and the transport may
// be closed.
func TestStopRunAndCloseWaitForTheTransport(t *testing.T) {
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
	hurry := started(func(el *elector.Elector) error { return el.Stop(endedContext()) })
	shut := started(func(el *elector.Elector) error { return el.Host().Close(context.Background()) })
	for name, end := range map[string]struct {
		fails bool // the group ends by itself
		alone bool // no other group has joined
		wait  func(el *elector.Elector) error
	}{
		"Stop":                       {false, false, stop},
		"Stop without a handover":    {false, false, hurry},
		"Run":                        {false, false, untilItLeads},
		"Run of one that fails":      {true, false, untilItLeads},
		"Close":                      {false, false, shut},
		"Close when all have failed": {true, false, shut},
		"Close when none is left":    {true, true, shut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), ends: make(chan struct{})}
				store := newFailingStore()
				store.failing.Store(end.fails)
				groups := []string{"g", "never started"}
				if end.alone {
					groups = groups[:1]
				}
				el := singleMembers(t, transport, store, groups...)[0]
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

// The host's last group has failed, and no caller has waited for the end of the loop. Another group
// may start at once; it begins when the transport is free.
func TestAGroupBeginsWhenTheTransportIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), ends: make(chan struct{})}
		store := newFailingStore()
		all := singleMembers(t, transport, store, "fails", "next")
		require.NoError(t, all[0].Start())
		<-all[0].Done()
		require.ErrorIs(t, all[0].Err(), assert.AnError)
		store.failing.Store(false)
		begun := make(chan error, 1)
		go func() { begun <- all[1].Start() }()
		<-time.After(time.Minute)
		assert.Empty(t, begun, "it has begun too early")
		close(transport.ends)
		require.NoError(t, <-begun)
		assert.NoError(t, all[1].Stop(context.Background()))
	})
}

func TestGroupsThatStartTogetherServeTheTransportOnce(t *testing.T) {
	transport := &slowTransport{Transport: rpc.NewNetwork(1).Join("n0"), begins: func() {
		for range 1000 { // the others have time to get here, too
			runtime.Gosched()
		}
	}}
	all := singleMembers(t, transport, new(memberstate.MemStore), "a", "b", "c")
	var starting sync.WaitGroup
	for _, el := range all {
		starting.Go(func() { assert.NoError(t, el.Start()) })
	}
	starting.Wait()
	assert.EqualValues(t, 1, transport.served.Load())
	assert.NoError(t, all[0].Host().Close(context.Background()))
}

func TestErrMayBeCalledWhileTheMemberFails(t *testing.T) {
	el := join(t, elector.IsolatedHost(t, newFailingStore()), "g", "n0")
	require.NoError(t, el.Start())
	over := el.Done()
	for el.Err() == nil {
		runtime.Gosched()
	}
	<-over
	require.ErrorIs(t, el.Stop(context.Background()), assert.AnError)
}

func TestAnOrderMayBeGivenWhileAMemberBeginsAndEnds(t *testing.T) {
	el := join(t, elector.IsolatedHost(t, new(memberstate.MemStore)), "g", "n0")
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

// Start fails if the transport cannot be served, here because another handler serves it.
func TestAGroupDoesNotBeginWithoutATransport(t *testing.T) {
	network := rpc.NewNetwork(1)
	stop, err := network.Join("n0").Serve(&fakePeer{})
	require.NoError(t, err)
	all := singleMembers(t, network.Join("n0"), new(memberstate.MemStore), "g", "h")
	require.ErrorContains(t, all[0].Start(), "is being served already")
	<-all[0].Done()
	require.ErrorContains(t, all[0].Err(), "is being served already")
	stop()
	require.NoError(t, all[1].Start(), "the transport is free again")
	require.NoError(t, all[1].Stop(context.Background()))
}

// overwriting is a transport that writes over each batch as soon as its handler has returned, and remembers the bonds that
// were sent.
type overwriting struct {
	rpc.BeatTransport
	mu    sync.Mutex
	bonds map[*rpc.Bond]rpc.Bond // as they were when they were sent
}

func (o *overwriting) Send(to string, batch []rpc.Message) {
	o.mu.Lock()
	for i := range batch {
		if b := batch[i].Bond; b != nil {
			o.bonds[b] = *b
		}
	}
	o.mu.Unlock()
	o.BeatTransport.Send(to, batch)
}

func (o *overwriting) Serve(h rpc.Handler) (stop func(), err error) {
	return o.BeatTransport.Serve(overwritten{h.(rpc.BeatHandler)})
}

// overwritten is the handler of such a transport.
type overwritten struct{ rpc.BeatHandler }

func (o overwritten) Receive(batch []rpc.Message) {
	o.BeatHandler.Receive(batch)
	for i := range batch {
		batch[i] = rpc.Message{Group: batch[i].Group, From: batch[i].From, To: batch[i].To} // which no node sends
	}
}

// A transport may use the slice of a batch again once Receive has returned. So the node copies what it needs: elections,
// handovers and bonds go on. And a bond that was sent is not changed, because both sides may keep it.
func TestANodeKeepsNoBatchAndChangesNoBond(t *testing.T) {
	var transports []*overwriting
	withFleet(t, func(_ int, c *elector.HostConfig) {
		o := &overwriting{BeatTransport: c.Transport.(rpc.BeatTransport), bonds: map[*rpc.Bond]rpc.Bond{}}
		c.Transport, transports = o, append(transports, o)
	}, func(f *fleet) {
		rest := func(without int) {
			t.Helper()
			<-time.After(3 * time.Second)
			nodes, _ := f.leaders()
			assert.NotContains(t, nodes, -1)
			assert.NotContains(t, nodes, without)
			messages, _ := f.traffic(time.Second)
			assert.Zero(t, messages, "groups are not bonded")
		}
		rest(-1)
		require.NoError(t, drain(f.hosts[0]))
		rest(0)
		require.NoError(t, f.hosts[1].Close(endedContext()))
		f.start(1)
		rest(0)
		for i, h := range f.hosts {
			assert.Zero(t, h.Dropped(protocol.DropMalformed), i)
		}
	})
	for _, o := range transports {
		assert.NotEmpty(t, o.bonds)
		for b, was := range o.bonds {
			assert.Equal(t, was, *b)
		}
	}
}
