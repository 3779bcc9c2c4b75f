// What is wrong with DLedger around the protocol: callbacks, broken engines, and
// leaving without a word.

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

// Fault 19: a leader whose engine is broken stays leader. Here its Lead returns,
// and with it the office: it resigns, and another one leads.
func TestFault19AnEngineThatCannotLeadGivesItUp(t *testing.T) {
	inTown(t, 3, func(c *config) {
		if c.Self == "n2" { // the first in turn
			c.Lead = func(context.Context, memberstate.Term) error { return errors.New("no disk to write to") }
		}
	}, func(town *town) {
		town.pass(100 * time.Millisecond)
		assert.NotEqual(t, "n2", town.leader().id)
		assert.Less(t, memberstate.Term(1), town.leader().el.Status().Term, "n2 was never in office, and this shows nothing")
	})
}

// Fault 29: the role handler runs inside the state lock, and is not told who
// leads. Here it may call whatever it likes, and is told.
func TestFault29HandlersRunOutsideAnyLockAndAreToldTheLeader(t *testing.T) {
	seen := &askingHandler{leaders: map[string]bool{}}
	inTown(t, 3, func(c *config) { c.Handlers = []elector.RoleHandler{seen} }, func(town *town) {
		first := town.leader()
		seen.mu.Lock()
		seen.ask = func() { // from inside Handle
			_ = first.el.Status()
			_ = first.el.Host().Dropped(protocol.DropMalformed)
			_, _, _ = first.el.Lease()
		}
		seen.mu.Unlock()
		require.NoError(t, first.el.TransferLeadership(context.Background(), ""))
		second := town.leader()
		town.pass(time.Second)
		seen.mu.Lock()
		defer seen.mu.Unlock()
		assert.True(t, seen.leaders[first.id])
		assert.True(t, seen.leaders[second.id])
	})
	assert.Equal(t, 3, seen.started)
	assert.Equal(t, 3, seen.ended)
}

// askingHandler asks its elector while it is being told.
type askingHandler struct {
	mu             sync.Mutex
	ask            func()
	leaders        map[string]bool
	started, ended int
}

func (h *askingHandler) Startup() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started++
}

func (h *askingHandler) Handle(s elector.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaders[s.Leader] = true
	if h.ask != nil {
		h.ask()
	}
}

func (h *askingHandler) Shutdown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
}

// Fault 30: a leader that shuts down does not resign, and the others wait for
// its silence to be noticed.
func TestFault30WhoLeavesHandsOverFirst(t *testing.T) {
	inTown(t, 3, nil, func(town *town) {
		first := town.leader()
		before := time.Now()
		require.NoError(t, town.end(first))
		town.leader()
		assert.Less(t, time.Since(before), elector.DefaultTiming().Detection(), "in virtual time: the others had to wait")
	})
}
