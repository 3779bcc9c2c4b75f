// Many groups that join and start together.

package elector_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// batchStore notes how many records are saved together.
type batchStore struct {
	memberstate.MemStore
	mu      sync.Mutex
	batches []int
	fails   error // of the next save
}

func (s *batchStore) Save(batch []memberstate.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails; err != nil {
		s.fails = nil
		return err
	}
	s.batches = append(s.batches, len(batch))
	return s.MemStore.Save(batch)
}

// numbered are the configurations of so many groups, "g0" and so on, with these voters.
func numbered(count int, voters ...string) iter.Seq[elector.GroupConfig] {
	return func(yield func(elector.GroupConfig) bool) {
		for i := range count {
			if !yield(elector.GroupOf(fmt.Sprint("g", i), voters...)) {
				return
			}
		}
	}
}

func TestManyGroupsStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups = 2500
		store := new(batchStore)
		host := elector.IsolatedHost(t, store)
		all, err := host.JoinAll(numbered(groups, "n0", "n1", "n2"))
		require.NoError(t, err)
		assert.Len(t, all, groups)
		before := runtime.NumGoroutine()
		require.NoError(t, host.StartAll())
		assert.Equal(t, []int{1024, 1024, groups - 2048}, store.batches)
		assert.LessOrEqual(t, runtime.NumGoroutine(), before+4, "a group that follows needs no goroutine")
		for _, el := range all {
			assert.EqualValues(t, 1, el.Status().Revision, "it takes part")
		}
		require.NoError(t, host.StartAll(), "there is nothing left to start")
		require.ErrorIs(t, all[7].Start(), elector.ErrStopped)
		require.NoError(t, host.Close(t.Context()))

		host = elector.IsolatedHost(t, store)
		store.batches = nil
		_, err = host.JoinAll(numbered(groups, "n0", "n1", "n2"))
		require.NoError(t, err)
		require.NoError(t, host.StartAll())
		assert.Empty(t, store.batches, "the store knows all groups")
		require.NoError(t, host.Close(t.Context()))
	})
}

// Whoever has started groups may give each of them orders. Here a function of Metrics blocks the loop at the last one, which it should not do.
func TestGroupsHaveStartedWhenTheLastOneHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		node := elector.IsolatedNode(new(memberstate.MemStore))
		node.Metrics = &elector.Metrics{Changed: func(s elector.Status) {
			if s.Group == "g2" {
				<-held
			}
		}}
		host := elector.MustHost(t, node)
		_, err := host.JoinAll(numbered(3, "n0", "n1"))
		require.NoError(t, err)
		started := order(func(context.Context) error { return host.StartAll() })
		assert.Empty(t, started.outcome)
		close(held)
		require.NoError(t, started.answered(t))
		require.NoError(t, host.Close(t.Context()))
	})
}

// Each group has handlers of its own, and ends only when they have seen its end.
func TestGroupsThatStartTogetherCallTheirHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, held := elector.IsolatedHost(t, new(memberstate.MemStore)), make(chan struct{})
		begun := make(chan string, 10)
		var all []*elector.Elector
		for c := range numbered(3, "n0", "n1") {
			c.Handlers = []elector.RoleHandler{onStartup(func() { begun <- c.Group }), &holdingHandler{held}}
			all = append(all, elector.MustJoin(t, host, c))
		}
		require.NoError(t, host.StartAll())
		synctest.Wait()
		close(begun)
		var groups []string
		for group := range begun {
			groups = append(groups, group)
		}
		assert.ElementsMatch(t, []string{"g0", "g1", "g2"}, groups)
		var stopping []*call
		for _, el := range all {
			stopping = append(stopping, order(el.Stop))
		}
		<-time.After(time.Minute)
		for i, stop := range stopping {
			assert.Empty(t, stop.outcome, all[i].Status().Group)
		}
		close(held)
		for _, stop := range stopping {
			require.NoError(t, stop.answered(t))
		}
	})
}

func TestGroupsThatWereStartedBeforeAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		host := elector.IsolatedHost(t, store)
		slow, other := join(t, host, "slow", "n0"), join(t, host, "other", "n0")
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, slow.Start()) })
		<-store.loading
		require.NoError(t, host.StartAll(), "it does not wait for the start of the slow one")
		<-time.After(time.Second)
		assert.Equal(t, memberstate.Leader, other.Status().Role)
		store.outcome <- nil
		calls.Wait()
		require.NoError(t, host.Close(t.Context()))
	})
}

func TestGroupsJoinTogetherOrNotAtAll(t *testing.T) {
	host := elector.IsolatedHost(t, new(memberstate.MemStore))
	taken := join(t, host, "g3", "n0")
	_, err := host.JoinAll(numbered(5, "n0"))
	require.ErrorIs(t, err, elector.ErrGroupExists)
	require.ErrorContains(t, err, `"g3"`)
	assert.Equal(t, []*elector.Elector{taken}, host.Electors())
	_, err = host.JoinAll(numbered(1, "n1"))
	var wrong *elector.ConfigError
	require.ErrorAs(t, err, &wrong)
	require.ErrorContains(t, err, `group "g0"`)
	require.NoError(t, host.Close(t.Context()))
	all, err := host.JoinAll(numbered(5, "n0"))
	require.NoError(t, err)
	assert.Len(t, all, 5, "their names are free again")
	require.NoError(t, host.Close(t.Context()))
}

// A ledger that the store does not know of keeps its own group from starting, and no other.
func TestGroupsThatCannotBeStartedAreListed(t *testing.T) {
	for unfit, listed := range map[int]int{1: 1, 10: 10, 12: 10} {
		synctest.Test(t, func(t *testing.T) {
			store := new(batchStore)
			host := elector.IsolatedHost(t, store)
			for i := range unfit {
				c := elector.GroupOf(fmt.Sprint("unfit ", i), "n0")
				c.LedgerEnd = func(memberstate.Term) memberstate.Position { return memberstate.Position{Term: 9, Index: 1} }
				require.NoError(t, store.MemStore.Save([]memberstate.Record{{Group: c.Group, Term: 1, Voters: digest(t, "n0")}}))
				_, err := host.Join(c)
				require.NoError(t, err)
			}
			bad := host.Electors()
			all, err := host.JoinAll(numbered(3, "n0"))
			require.NoError(t, err)
			err = host.StartAll()
			require.ErrorIs(t, err, elector.ErrStoreBehindLedger)
			for i, el := range bad {
				require.ErrorIs(t, el.Err(), elector.ErrStoreBehindLedger)
				if listed == unfit || i < 2 {
					assert.ErrorContains(t, err, el.Err().Error())
				}
			}
			if unfit > listed {
				require.ErrorContains(t, err, fmt.Sprintf("%d more groups could not be started", unfit-listed))
			} else {
				assert.NotContains(t, err.Error(), "more groups")
			}
			<-time.After(time.Second)
			for _, el := range all {
				assert.Equal(t, memberstate.Leader, el.Status().Role)
			}
			require.NoError(t, host.Close(t.Context()))
		})
	}
}

// Its own error is what counts.
func TestAnUnfitGroupOfABatchThatCannotBeSavedEndsOnce(t *testing.T) {
	full := errors.New("no space left")
	store := &batchStore{fails: full}
	require.NoError(t, store.MemStore.Save([]memberstate.Record{{Group: "unfit", Term: 1, Voters: digest(t, "n0")}}))
	host := elector.IsolatedHost(t, store)
	c := elector.GroupOf("unfit", "n0")
	c.LedgerEnd = endAt(9, 1)
	unfit, fit := elector.MustJoin(t, host, c), join(t, host, "fit", "n0")
	err := host.StartAll()
	require.ErrorIs(t, err, elector.ErrStoreBehindLedger)
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, unfit.Err(), elector.ErrStoreBehindLedger)
	assert.Equal(t, full, errors.Unwrap(fit.Err()))
	assert.Empty(t, host.Electors())
}

func TestABatchThatCannotBeSavedStartsNoGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left")
		store := &batchStore{fails: full}
		host := elector.IsolatedHost(t, store)
		all, err := host.JoinAll(numbered(1500, "n0"))
		require.NoError(t, err)
		err = host.StartAll()
		require.ErrorIs(t, err, full)
		var names []string
		for _, el := range all {
			names = append(names, strconv.Quote(el.Status().Group))
		}
		slices.Sort(names)
		require.ErrorContains(t, err, "group "+strings.Join(names[:4], ", ")+" and 1020 others: saving the first hard state: no space left")
		failed := 0
		for _, el := range all {
			if el.Err() != nil {
				assert.ErrorIs(t, el.Err(), full)
				failed++
			}
		}
		assert.Equal(t, 1024, failed, "the next batch was saved")
		assert.Equal(t, []int{1500 - 1024}, store.batches)
		assert.Len(t, host.Electors(), 1500-1024)
		require.NoError(t, host.Close(t.Context()))
	})
}
