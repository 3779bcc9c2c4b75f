// DLedger's faults outside the protocol: callbacks, broken engines, and leaders that
// shut down without a handover.

package elector_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Fault 19: a leader whose engine is broken stays leader. Here its Lead returns, so it
// resigns and another member leads.
func TestFault19AnEngineThatCannotLeadGivesItUp(t *testing.T) {
	withCluster(t, 3, func(c *config) {
		replaceFirstLead(c, func(context.Context, memberstate.Term) error { return errors.New("no disk to write to") })
	}, func(cluster *cluster) {
		cluster.awaitSecondLeader()
	})
}

// Fault 29: the role handler runs under the state lock, and does not learn the leader.
// Here it may call the elector, and receives the leader.
func TestFault29HandlersRunOutsideAnyLockAndReceiveTheLeader(t *testing.T) {
	seen := &callingHandler{leaders: map[string]bool{}}
	withCluster(t, 3, func(c *config) { c.Handlers = []elector.RoleHandler{seen} }, func(cluster *cluster) {
		first := cluster.awaitLeader()
		seen.mu.Lock()
		seen.call = func() { // inside Handle
			_ = first.el.Status()
			_ = first.el.Host().Dropped(protocol.DropMalformed)
			_, _, _ = first.el.Lease()
		}
		seen.mu.Unlock()
		require.NoError(t, first.el.TransferLeadership(context.Background(), ""))
		second := cluster.awaitLeader()
		cluster.pass(time.Second)
		seen.mu.Lock()
		defer seen.mu.Unlock()
		assert.True(t, seen.leaders[first.id])
		assert.True(t, seen.leaders[second.id])
	})
	assert.Equal(t, 3, seen.started)
	assert.Equal(t, 3, seen.ended)
}

// callingHandler calls its elector inside Handle.
type callingHandler struct {
	mu             sync.Mutex
	call           func()
	leaders        map[string]bool
	started, ended int
}

func (h *callingHandler) Startup() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started++
}

func (h *callingHandler) Handle(s elector.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaders[s.Leader] = true
	if h.call != nil {
		h.call()
	}
}

func (h *callingHandler) Shutdown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
}

// Fault 30: a leader that shuts down does not resign, so the others have to wait until
// they detect its silence.
func TestFault30ALeaderThatStopsHandsOverFirst(t *testing.T) {
	withCluster(t, 3, nil, func(cluster *cluster) {
		first := cluster.awaitLeader()
		before := time.Now()
		require.NoError(t, cluster.stop(first))
		cluster.awaitLeader()
		assert.Less(t, time.Since(before), elector.DefaultTiming().Detection(), "in virtual time: the others had to wait")
	})
}
