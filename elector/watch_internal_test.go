package elector

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// However often a group changes while nobody reads, it waits once, so the list is no longer than the groups are many.
func TestAGroupThatChangesOftenWaitsOnce(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	w, _ := host.watch()
	often, once := MustJoin(t, host, GroupOf("often", "n0")), MustJoin(t, host, GroupOf("once", "n0"))
	for range 3 {
		host.watchers.tell(often)
	}
	host.watchers.tell(once)
	assert.Len(t, w.unseen, 2)
	assert.Same(t, often, w.next())
	host.watchers.tell(often)
	assert.Same(t, once, w.next())
	assert.Same(t, often, w.next())
	assert.Nil(t, w.next())
	host.watchers.end(w)
	host.watchers.tell(once)
	assert.Nil(t, w.next())
}

// A group that ends and joins again, again and again, waits once, too, and its newest elector is what the reader sees.
func TestAGroupThatJoinsAgainWaitsOnce(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	w, _ := host.watch()
	var newest *Elector
	for range 3 {
		newest = MustJoin(t, host, GroupOf("g", "n0"))
		host.watchers.tell(newest)
		require.NoError(t, newest.Stop(t.Context()))
	}
	assert.Len(t, w.unseen, 1)
	assert.Same(t, newest, w.next())
	assert.Nil(t, w.next())
	assert.Empty(t, w.listed)
}

// A change may come after the reader has looked for one, and before it waits.
func TestAChangeBeforeTheWaitEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := IsolatedHost(t, new(memberstate.MemStore))
		w := host.watchers.begin()
		assert.Nil(t, w.next())
		host.watchers.tell(MustJoin(t, host, GroupOf("g", "n0")))
		waited := false
		go func() {
			w.wait(t.Context())
			waited = true
		}()
		synctest.Wait()
		assert.True(t, waited)
	})
}

// A group that begins while the others are listed is told of, so that no group is missed.
func TestAWatchBeginsBeforeTheGroupsAreListed(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	host.mu.Lock() // they cannot be listed now
	watching := make(chan *watcher)
	go func() {
		w, _ := host.watch()
		watching <- w
	}()
	assert.Eventually(t, func() bool { return host.Watchers() == 1 }, 10*time.Second, time.Millisecond)
	host.mu.Unlock()
	host.watchers.end(<-watching)
}

// The loop tells all that were there when it began, whoever comes and goes meanwhile.
func TestTheListOfWatchersIsNeverChanged(t *testing.T) {
	var l watchers
	var all []*watcher
	for range 3 {
		all = append(all, l.begin())
	}
	seen := l.list()
	l.end(all[0])
	l.begin()
	require.Len(t, seen, 3)
	for i, w := range all {
		assert.Same(t, w, seen[i])
	}
	assert.Len(t, l.list(), 3)
}

// Each of those who begin at once is told of changes, and none that has ended is.
func TestNoWatcherIsForgotten(t *testing.T) {
	var l watchers
	var watching sync.WaitGroup
	for range 4 {
		watching.Go(func() {
			for range 20_000 {
				w := l.begin()
				assert.True(t, slices.Contains(l.list(), w))
				l.end(w)
			}
		})
	}
	watching.Wait()
	assert.Empty(t, l.list())
}

// A group that ends while a watch begins, and joins again, is listed as it is, and not as it was.
func TestAGroupThatJoinsAgainWhileAWatchBeginsIsTheNewest(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	w := host.watchers.begin()
	old := MustJoin(t, host, GroupOf("g", "n0"))
	require.NoError(t, old.Stop(t.Context()))
	newest := MustJoin(t, host, GroupOf("g", "n0"))
	host.watchers.tell(newest)
	w.begin(old)
	assert.Equal(t, 1, w.count())
	large := reflect.ValueOf(w.listed).Pointer()
	assert.Same(t, newest, w.next())
	assert.Nil(t, w.next())
	assert.Nil(t, w.unseen, "nothing is kept")
	assert.NotEqual(t, large, reflect.ValueOf(w.listed).Pointer(), "nor is a map that was large")
}

// A reader who is told of a change reads the status at once. If it were still the old one, nobody would tell him of the new one.
func TestAChangeIsToldOnceItIsShown(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	el := MustJoin(t, host, GroupOf("g", "n0"))
	w := host.watchers.begin()
	before := el.view.Load()
	w.mu.Lock() // it cannot be told now
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		(*engine)(el).Show(before.View)
	}()
	assert.Eventually(t, func() bool { return el.view.Load() != before }, 20*time.Second, time.Millisecond)
	w.mu.Unlock()
	<-shown
	assert.Same(t, el, w.next())
}
