// Functions of the engine that do not return: they end their goroutine, as t.FailNow
// does, or panic. No member is held up by one for ever.

package elector_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func TestALeadThatEndsItsGoroutineResigns(t *testing.T) {
	for name, leases := range map[string]bool{"without leases": false, "with leases": true} {
		t.Run(name, func(t *testing.T) {
			inTown(t, 3, func(c *config) {
				c.Leases = leases
				if c.Self == "n2" { // the first in turn
					c.Lead = func(context.Context, memberstate.Term) error {
						runtime.Goexit()
						return nil
					}
				}
			}, func(town *town) {
				town.pass(200 * time.Millisecond)
				leader := town.leader()
				assert.NotEqual(t, "n2", leader.id)
				assert.Less(t, memberstate.Term(1), leader.el.Status().Term, "n2 was never in office, and this shows nothing")
				_, _, holds := town.nodes["n2"].el.Lease()
				assert.False(t, holds)
				require.NoError(t, town.end(town.nodes["n2"]))
			})
		})
	}
}

// Whoever ends its goroutine when it is told to leave has left, and no more.
func TestALeadThatEndsItsGoroutineWhenItIsToldToHasReturned(t *testing.T) {
	inTown(t, 3, func(c *config) {
		lead := c.Lead
		c.Lead = func(ctx context.Context, term memberstate.Term) error {
			_ = lead(ctx, term)
			runtime.Goexit()
			return nil
		}
	}, func(town *town) {
		for range 10 {
			require.NoError(t, town.leader().el.TransferLeadership(context.Background(), ""))
		}
		term := town.leader().el.Status().Term
		town.pass(time.Second)
		assert.Equal(t, term, town.leader().el.Status().Term, "nobody resigned")
	})
}

func TestAPauseThatEndsItsGoroutineHasFailed(t *testing.T) {
	inTown(t, 3, func(c *config) {
		c.Pause = func(context.Context, memberstate.Term) error {
			runtime.Goexit()
			return nil
		}
	}, func(town *town) {
		leader := town.leader()
		began := time.Now()
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), ""), elector.ErrTransferFailed)
		assert.Less(t, time.Since(began), elector.DefaultTiming().Detection(), "it was waited for")
		assert.Equal(t, leader, town.leader())
	})
}

// What cannot be asked any more where its ledger ends, or cannot save, can vouch for nothing.
func TestALedgerOrAStoreThatEndsItsGoroutineStopsTheMember(t *testing.T) {
	var asked atomic.Int32
	for name, change := range map[string]func(*config){
		"LedgerEnd": func(c *config) {
			c.LedgerEnd = func(memberstate.Term) memberstate.Position {
				if asked.Add(1) > 1 {
					runtime.Goexit()
				}
				return memberstate.Position{}
			}
		},
		"saving": func(c *config) { c.Store = new(exitingStore) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := goodConfig()
				c.Members = memberstate.Voters("n0")
				change(&c)
				el, err := elector.New(c.HostConfig, c.GroupConfig)
				require.NoError(t, err)
				err = el.Run(context.Background())
				require.ErrorContains(t, err, name)
				assert.ErrorContains(t, err, "ended its goroutine")
			})
		})
	}
}

// exitingStore saves once.
type exitingStore struct {
	memberstate.MemStore
	saved atomic.Int32
}

func (s *exitingStore) Save(batch []memberstate.Record) error {
	if s.saved.Add(1) > 1 {
		runtime.Goexit()
	}
	return s.MemStore.Save(batch)
}

func TestAHandlerThatEndsItsGoroutineHoldsUpNoStop(t *testing.T) {
	inTown(t, 1, func(c *config) {
		c.Handlers = []elector.RoleHandler{exitingHandler{}}
	}, func(town *town) {
		town.leader()
	})
}

type exitingHandler struct{}

func (exitingHandler) Startup()              { runtime.Goexit() }
func (exitingHandler) Handle(elector.Status) {}
func (exitingHandler) Shutdown()             {}

// A panic is not recovered, so it ends the process, and the others elect.
func TestALeadThatPanicsEndsTheProcess(t *testing.T) {
	const mark = "HUSTINGS_LEAD_PANICS"
	if os.Getenv(mark) != "" {
		c := goodConfig()
		c.Members = memberstate.Voters("n0")
		c.Lead = func(context.Context, memberstate.Term) error { panic("no disk to write to") }
		el, err := elector.New(c.HostConfig, c.GroupConfig)
		require.NoError(t, err)
		require.NoError(t, el.Run(context.Background()))
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), mark+"=1")
	said, err := child.CombinedOutput()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed, "%s", said)
	assert.Contains(t, string(said), "panic: no disk to write to")
}
