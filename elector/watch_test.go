// Watching all groups of a host.

package elector_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
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
		assert.Equal(t, 2, host.Watchers(), "nothing of it is left")
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

func TestAWatchEndsWithItsContext(t *testing.T) {
	watching(t, func(w *watched) {
		el := w.start("g")
		for name, all := range map[string]iter.Seq[elector.Status]{"host": w.host.Watch(endedContext()), "elector": el.Watch(endedContext())} {
			for range all {
				assert.Fail(w.t, "it has yielded a status", name)
			}
		}
	})
}

// batch is what a reader of batches sees next.
type batch struct {
	statuses []elector.Status
	current  bool
}

// readBatches passes batches on, one when it is asked for one, until the context ends.
func readBatches(ctx context.Context, host *elector.Host, most int) <-chan batch {
	all := make(chan batch)
	go func() {
		defer close(all)
		for some, current := range host.WatchBatches(ctx, most) {
			select {
			case all <- batch{slices.Clone(some), current}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return all
}

// nextBatch is the next one, and none comes after it.
func nextBatch(t *testing.T, all <-chan batch) (b batch) {
	t.Helper()
	synctest.Wait()
	select {
	case b = <-all:
	default:
		require.Fail(t, "no batch has come")
	}
	return b
}

// The reader learns when it has seen every group. From then on changes come, as many at a time as there are.
func TestBatchesSayWhenTheReaderHasAllGroups(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		var groups []*elector.Elector
		for i := range 5 {
			groups = append(groups, w.start(fmt.Sprint("group ", i)))
		}
		status := func(i int) elector.Status { return groups[i].Status() }
		ctx, cancel := context.WithCancel(t.Context())
		all := readBatches(ctx, host, 2)
		assert.Equal(t, batch{[]elector.Status{status(0), status(1)}, false}, nextBatch(t, all))
		assert.Equal(t, batch{[]elector.Status{status(2), status(3)}, false}, nextBatch(t, all))
		last := status(4)
		synctest.Wait() // the reader holds the last one in its hand
		groups[0].Campaign()
		synctest.Wait()
		groups[4].Campaign()
		synctest.Wait()
		require.NoError(t, groups[2].Stop(t.Context()))
		synctest.Wait()
		assert.Equal(t, batch{[]elector.Status{last}, true}, nextBatch(t, all), "all that were there in the beginning")
		assert.Equal(t, batch{[]elector.Status{status(0), status(4)}, true}, nextBatch(t, all), "in the order in which they changed")
		assert.Equal(t, batch{[]elector.Status{status(2)}, true}, nextBatch(t, all))
		assert.True(t, status(2).Stopped)
		synctest.Wait()
		select {
		case b := <-all:
			assert.Fail(t, "there is nothing more", "%v", b)
		default:
		}
		cancel()
		synctest.Wait()
		assert.Zero(t, host.Watchers(), "its context has ended")
	})
}

// A group that joins while the reader still takes in those that were there is a change, and is not waited for.
func TestAReaderThatIsSlowStillLearnsThatItHasAll(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		w.start("a")
		w.start("b")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := readBatches(ctx, host, 1)
		assert.False(t, nextBatch(t, all).current)
		for i := range 3 {
			w.start(fmt.Sprint("later ", i))
		}
		assert.True(t, nextBatch(t, all).current)
	})
}

func TestABatchSaysThatThereIsNoGroup(t *testing.T) {
	watching(t, func(w *watched) {
		t, host := w.t, w.host
		join(t, host, "never started", "n0")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := readBatches(ctx, host, 0)
		assert.Equal(t, batch{nil, true}, nextBatch(t, all))
		el := w.start("a")
		assert.Equal(t, batch{[]elector.Status{el.Status()}, true}, nextBatch(t, all), "at least one at a time")
		for range host.WatchBatches(ctx, 1) {
			break // and nothing goes on
		}
		assert.Equal(t, 1, host.Watchers())
	})
}

// A node passes on who leads each of its groups, many in a message.
func ExampleHost_WatchBatches() {
	host, err := elector.NewHost(elector.HostConfig{
		Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		if _, err := host.Join(elector.GroupConfig{
			Group: fmt.Sprint("shard ", i), Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(), LedgerEnd: new(storage).LedgerEnd,
		}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := host.StartAll(); err != nil {
		fmt.Println(err)
		return
	}
	leaders := make(map[string]string)
	for rows, current := range host.WatchBatches(context.Background(), 256) {
		for _, s := range rows {
			if leaders[s.Group] = s.Leader; s.Stopped {
				delete(leaders, s.Group)
			}
		}
		if current && leaders["shard 0"] != "" && leaders["shard 1"] != "" && leaders["shard 2"] != "" {
			break
		}
	}
	fmt.Println(leaders)
	_ = host.Close(context.Background())
	// Output:
	// map[shard 0:n0 shard 1:n0 shard 2:n0]
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
