// Watching all groups of a host.

package elector_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// watched is a host whose groups have one member.
type watched struct {
	t    *testing.T
	host *elector.Host
}

// watching runs play with such a host.
func watching(t *testing.T, play func(w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		host := elector.IsolatedHost(t, new(memberstate.MemStore))
		play(&watched{t, host})
		require.NoError(t, host.Close(context.Background()))
	})
}

// start starts a group.
func (w *watched) start(name string) *elector.Elector {
	w.t.Helper()
	el := join(w.t, w.host, name, "n0")
	require.NoError(w.t, el.Start())
	synctest.Wait()
	return el
}

// next returns what a reader of statuses sees next.
func next(t *testing.T, all <-chan elector.Status) elector.Status {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-all:
		return s
	default:
		require.Fail(t, "no status has come")
		return elector.Status{}
	}
}

// assertNone checks that a reader has seen everything.
func assertNone(t *testing.T, all <-chan elector.Status) {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-all:
		assert.Fail(t, "a status has come", "%v", s)
	default:
	}
}

// read passes all statuses on, one when it is asked for one, until the context ends.
func read(ctx context.Context, host *elector.Host) <-chan elector.Status {
	all := make(chan elector.Status)
	go func() {
		defer close(all)
		for s := range host.Watch(ctx) {
			select {
			case all <- s:
			case <-ctx.Done():
				return
			}
		}
	}()
	return all
}

func TestAHostYieldsTheStatusOfEachGroup(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		a := w.start("a")
		join(t, host, "never started", "n0")
		ctx, cancel := context.WithCancel(t.Context())
		all := read(ctx, host)
		assert.Equal(t, a.Status(), next(t, all), "it was there before")
		b := w.start("b")
		assert.Equal(t, b.Status(), next(t, all), "it came later, and all its changes are one")
		require.NoError(t, a.Stop(t.Context()))
		synctest.Wait()
		assert.True(t, a.Status().Stopped)
		assert.Equal(t, a.Status(), next(t, all))
		assertNone(t, all)
		cancel()
		synctest.Wait()
		assert.Zero(t, host.Watchers(), "its context has ended")
	})
}

// A reader that takes its time sees each group that has changed once, as it is then.
func TestASlowReaderOfAHostSeesTheLatest(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := read(ctx, host)
		first := w.start("first").Status() // which the reader holds in its hand
		var groups []*elector.Elector
		for i := range 3 {
			groups = append(groups, w.start(fmt.Sprint("group ", i)))
		}
		for _, el := range groups {
			el.Campaign()
		}
		synctest.Wait()
		assert.Equal(t, first.Group, next(t, all).Group)
		for _, el := range groups {
			assert.Equal(t, el.Status(), next(t, all), "in the order in which they changed")
		}
		assertNone(t, all)
	})
}

// A change while the reader handles the status before is not lost, and each of several readers sees it.
func TestEveryReaderOfAHostSeesAChange(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		el := w.start("g")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		one, other := read(ctx, host), read(ctx, host)
		synctest.Wait()
		left := make(chan elector.Status, 1)
		for s := range host.Watch(ctx) {
			left <- s // and it goes away
			break
		}
		synctest.Wait()
		before := el.Status()
		el.Campaign()
		synctest.Wait()
		require.Greater(t, el.Status().Revision, before.Revision)
		for _, reader := range []<-chan elector.Status{one, other} {
			assert.Equal(t, before, next(t, reader))
			assert.Equal(t, el.Status(), next(t, reader))
		}
		assert.Equal(t, before, <-left)
	})
}

func TestAWatchOfAHostEndsWithItsContext(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		w.start("g")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range host.Watch(ctx) {
			assert.Fail(t, "it has yielded a status")
		}
	})
}

// An engine with many groups serves those that it leads, in one loop.
func ExampleHost_Watch() {
	host, err := elector.NewHost(elector.HostConfig{
		Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	groups := func(yield func(elector.GroupConfig) bool) {
		for i := range 3 {
			ledger := new(storage)
			if !yield(elector.GroupConfig{
				Group: fmt.Sprint("shard ", i), Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(), LedgerEnd: ledger.LedgerEnd,
			}) {
				return
			}
		}
	}
	if _, err = host.JoinAll(groups); err == nil {
		err = host.StartAll()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	serves := make(map[string]bool)
	for s := range host.Watch(context.Background()) {
		switch leads := s.Role == memberstate.Leader; {
		case leads && !serves[s.Group]:
			fmt.Println("serves", s.Group, "in term", s.Term)
			serves[s.Group] = true
		case !leads:
			delete(serves, s.Group) // and no more writes are accepted
		}
		if len(serves) == 3 {
			break
		}
	}
	_ = host.Close(context.Background())
	// Unordered output:
	// serves shard 0 in term 1
	// serves shard 1 in term 1
	// serves shard 2 in term 1
}
