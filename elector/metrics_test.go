// What happens is told to those who measure.

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
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// tally counts what it is told.
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

func (y *tally) count(what string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.counts[what]
}

// total counts everything that begins so.
func (y *tally) total(prefix string) (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for what, count := range y.counts {
		if strings.HasPrefix(what, prefix) {
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
		Saved:   func(records int, _ time.Duration, err error) { y.add("saved %d %v", records, err) },
		Sent:    func(to string, _ []rpc.Message) { y.add("sent to %s", to) },
		Dropped: func(why elector.Drop, _ int) { y.add("dropped %v", why) },
	}
}

func TestMetricsAreToldWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := newTally()
		town := newTown(t, 3, func(c *config) { c.Metrics = told.metrics() })
		town.open()
		defer town.close()
		town.leader()
		town.pass(10 * elector.DefaultTiming().Heartbeat)
		for _, once := range []string{"g asks won", "g won PASSED", "is leader"} {
			assert.Equal(t, 1, told.count(once), once)
		}
		assert.Positive(t, told.count("g asks pre-vote"))
		assert.Positive(t, told.count("g pre-vote PASSED"))
		assert.Positive(t, told.count("g answers won ACCEPT"))
		assert.Positive(t, told.count("g answers pre-vote ACCEPT"))
		assert.GreaterOrEqual(t, told.count("saved 1 <nil>"), 2)
		assert.InDelta(t, 10, told.count("quorum"), 2)
		assert.Equal(t, 2*time.Millisecond, told.longest, "there and back")
		assert.Positive(t, told.count("sent to n0"))
		town.network.Join("n0").Send("n1", []rpc.Message{{Group: "other", From: "n0", To: "n1"}})
		town.pass(time.Second)
		assert.Equal(t, 1, told.count("dropped unknown group"))
	})
}

// Whoever is asked again is in the same round, and that is counted once.
func TestMetricsCountARoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := newTally()
		town := newTown(t, 3, func(c *config) { c.Metrics = told.metrics() })
		town.network.SetAll(rpc.Link{Delay: 40 * time.Millisecond})
		town.open()
		defer town.close()
		town.leader()
		town.pass(time.Second)
		assert.InDelta(t, told.total("g pre-vote "), told.total("g asks pre-vote"), 2, "but those that another's lead ended")
	})
}

// A save is measured, whatever came of it.
func TestASaveIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type saved struct {
			records int
			took    time.Duration
			err     error
		}
		told, store := make(chan saved, 10), new(gatedStore)
		c := goodConfig()
		c.Members, c.Store = memberstate.Voters("n0"), store
		c.Metrics = &elector.Metrics{Saved: func(records int, took time.Duration, err error) { told <- saved{records, took, err} }}
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		store.gate = make(chan error)
		go func() {
			store.gate <- nil // its first state
			<-time.After(time.Second)
			store.gate <- assert.AnError
		}()
		before := time.Now()
		require.ErrorIs(t, el.Run(context.Background()), assert.AnError)
		took := time.Since(before)
		require.Len(t, told, 1)
		s := <-told
		assert.Equal(t, 1, s.records)
		assert.Equal(t, assert.AnError, s.err)
		assert.Positive(t, s.took)
		assert.LessOrEqual(t, s.took, took)
	})
}
