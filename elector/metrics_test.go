// The functions of Metrics are called for everything that happens, and as often as it happens.

package elector_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/rpc"
)

// tally counts calls of the functions of Metrics, by a text for each.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int
	longest time.Duration // from a heartbeat to its quorum
}

func newTally() *tally { return &tally{counts: map[string]int{}} }

func (y *tally) add(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[fmt.Sprintf(format, args...)]++
}

func (y *tally) count(text string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.counts[text]
}

// total is the sum of all counts whose text begins with the prefix.
func (y *tally) total(prefix string) (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for text, count := range y.counts {
		if strings.HasPrefix(text, prefix) {
			n += count
		}
	}
	return n
}

func (y *tally) metrics() *elector.Metrics {
	return &elector.Metrics{
		Changed:  func(s elector.Status) { y.add("is %v", s.Role) },
		Asked:    func(group string, mark rpc.Mark) { y.add("%s asks %v", group, mark) },
		Judged:   func(group string, mark rpc.Mark, j elector.Judgement) { y.add("%s %v %v", group, mark, j) },
		Answered: func(group string, mark rpc.Mark, r rpc.Result) { y.add("%s answers %v %v", group, mark, r) },
		QuorumHeard: func(_ string, took time.Duration) {
			y.add("quorum")
			y.mu.Lock()
			defer y.mu.Unlock()
			y.longest = max(y.longest, took)
		},
		Saved:    func(records int, _ time.Duration, err error) { y.add("saved %d %v", records, err) },
		Sent:     func(to string, _ []rpc.Message) { y.add("sent to %s", to) },
		BeatSent: func(to string) { y.add("beat to %s", to) },
		Dropped:  func(why elector.Drop, _ int) { y.add("dropped %v", why) },
	}
}

func TestMetricsCountWhatHappens(t *testing.T) {
	tally := newTally()
	withCluster(t, 3, func(c *config) { c.Metrics = tally.metrics() }, func(cluster *cluster) {
		cluster.awaitLeader()
		cluster.pass(10 * elector.DefaultTiming().Heartbeat)
		for _, once := range []string{"g asks won", "g won PASSED", "is leader"} {
			assert.Equal(t, 1, tally.count(once), once)
		}
		assert.Positive(t, tally.count("g asks pre-vote"))
		assert.Positive(t, tally.count("g pre-vote PASSED"))
		assert.Positive(t, tally.count("g answers won ACCEPT"))
		assert.Positive(t, tally.count("g answers pre-vote ACCEPT"))
		assert.GreaterOrEqual(t, tally.count("saved 1 <nil>"), 2)
		assert.InDelta(t, 10, tally.count("quorum"), 2)
		assert.Equal(t, 2*time.Millisecond, tally.longest, "there and back")
		assert.Positive(t, tally.count("sent to n0"))
		cluster.network.Join("n0").Send("n1", []rpc.Message{{Group: "other", From: "n0", To: "n1"}})
		cluster.pass(time.Second)
		assert.Equal(t, 1, tally.count("dropped unknown group"))
	})
}

// A request that is repeated belongs to the same round, which is counted once.
func TestMetricsCountARoundOnce(t *testing.T) {
	tally := newTally()
	withNewCluster(t, 3, func(c *config) { c.Metrics = tally.metrics() }, func(cluster *cluster) {
		cluster.network.SetAll(rpc.Link{Delay: 40 * time.Millisecond})
		cluster.startAll()
		cluster.awaitLeader()
		cluster.pass(time.Second)
		assert.InDelta(t, tally.total("g pre-vote "), tally.total("g asks pre-vote"), 2, "all except rounds that another leader ended")
	})
}

// A save that fails is measured, too.
func TestASaveIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type saved struct {
			records int
			took    time.Duration
			err     error
		}
		saves, store, c := make(chan saved, 10), new(gatedStore), singleConfig()
		c.Store = store
		c.Metrics = &elector.Metrics{Saved: func(records int, took time.Duration, err error) {
			<-time.After(1) // virtual time; the member waits for it, too
			saves <- saved{records, took, err}
		}}
		el := newElector(t, c)
		store.gate = make(chan error)
		go func() {
			store.gate <- nil // its first state
			<-time.After(time.Second)
			store.gate <- assert.AnError
		}()
		before := time.Now()
		require.ErrorIs(t, el.Run(context.Background()), assert.AnError)
		took := time.Since(before)
		require.Len(t, saves, 1)
		s := <-saves
		assert.Equal(t, 1, s.records)
		assert.Equal(t, assert.AnError, s.err)
		assert.Greater(t, s.took, 800*time.Millisecond, "it began with the first alarm")
		assert.LessOrEqual(t, s.took, took)
	})
}

func TestChangedIsCalledWhenTheMemberHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []elector.Status
		c := singleConfig()
		c.Metrics = &elector.Metrics{Changed: func(s elector.Status) { changes = append(changes, s) }}
		el := startElector(t, c)
		<-time.After(time.Second)
		require.NoError(t, el.Stop(t.Context()))
		require.NotEmpty(t, changes)
		assert.Equal(t, el.Status(), changes[len(changes)-1])
		assert.True(t, changes[len(changes)-1].Stopped)
	})
}
