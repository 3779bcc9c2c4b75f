// Functions of the engine that do not return: they end their goroutine, as t.FailNow
// does, or panic. None blocks its member for ever.

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
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

func TestALeadThatEndsItsGoroutineResigns(t *testing.T) {
	for name, leases := range map[string]bool{"without leases": false, "with leases": true} {
		t.Run(name, func(t *testing.T) {
			log := new(logBuffer)
			withCluster(t, 3, func(c *config) {
				c.Leases, c.Logger = leases, log.logger()
				replaceFirstLead(c, func(context.Context, memberstate.Term) error {
					runtime.Goexit()
					return nil
				})
			}, func(cluster *cluster) {
				cluster.awaitSecondLeader()
				synctest.Wait() // the line is logged aside
				assert.Contains(t, log.String(), "it has ended its goroutine (runtime.Goexit) instead of returning")
				assert.False(t, holdsLease(cluster.nodes[first].el))
				require.NoError(t, cluster.stop(cluster.nodes[first]))
			})
		})
	}
}

func TestALeadThatEndsItsGoroutineAfterItsContextHasReturned(t *testing.T) {
	withCluster(t, 3, func(c *config) {
		lead := c.Lead
		c.Lead = func(ctx context.Context, term memberstate.Term) error {
			_ = lead(ctx, term)
			runtime.Goexit()
			return nil
		}
	}, func(cluster *cluster) {
		for range 10 {
			require.NoError(t, cluster.awaitLeader().el.TransferLeadership(context.Background(), ""))
		}
		term := cluster.awaitLeader().el.Status().Term
		cluster.pass(time.Second)
		assert.Equal(t, term, cluster.awaitLeader().el.Status().Term, "no member resigned")
	})
}

func TestAPauseThatEndsItsGoroutineHasFailed(t *testing.T) {
	withCluster(t, 3, func(c *config) {
		c.Pause = func(context.Context, memberstate.Term) error {
			runtime.Goexit()
			return nil
		}
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		began := time.Now()
		require.ErrorIs(t, leader.el.TransferLeadership(context.Background(), ""), elector.ErrTransferFailed)
		assert.Less(t, time.Since(began), elector.DefaultTiming().Detection(), "the handover waited for it")
		assert.Equal(t, leader, cluster.awaitLeader())
	})
}

// An engine that ends the goroutine of its Healthy is not well, and does not hang.
func TestAHealthyThatEndsItsGoroutineIsABadAnswer(t *testing.T) {
	withHealth(t, 3, func(cluster *cluster, all *health) {
		leader := cluster.awaitLeader()
		all.exit(leader.id)
		_, took := cluster.takesOver(leader)
		assert.Less(t, took, 4*elector.DefaultTiming().Heartbeat, "as if it had returned an error")
		assert.Equal(t, protocol.NotAbleUnhealthy, leader.el.Status().Inability)
	})
}

// It has named no group. If it were waited for, the node would lead nothing any more, and nobody would be asked again.
func TestAStalledThatEndsItsGoroutineHasReturned(t *testing.T) {
	var asked atomic.Int32
	withCluster(t, 1, func(c *config) {
		c.Stalled = func(context.Context) []string {
			asked.Add(1)
			runtime.Goexit()
			return nil
		}
	}, func(cluster *cluster) {
		leader := cluster.awaitLeader()
		cluster.pass(time.Minute)
		assert.Equal(t, protocol.Able, leader.el.Status().Inability)
		assert.Greater(t, asked.Load(), int32(10))
	})
}

// A member may not vote without the end of its ledger, or without a save.
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
				c := singleConfig()
				change(&c)
				err := newElector(t, c).Run(context.Background())
				require.ErrorContains(t, err, name)
				assert.ErrorContains(t, err, "ended its goroutine")
			})
		})
	}
}

func TestAHandlerThatEndsItsGoroutineDoesNotBlockStop(t *testing.T) {
	withCluster(t, 1, func(c *config) {
		c.Handlers = []elector.RoleHandler{exitingHandler{t}}
	}, func(cluster *cluster) {
		cluster.awaitLeader()
	})
}

// exitingHandler must not be called any more once it has exited.
type exitingHandler struct{ t *testing.T }

func (exitingHandler) Startup()                { runtime.Goexit() }
func (h exitingHandler) Handle(elector.Status) { h.t.Error("Handle was called") }
func (h exitingHandler) Shutdown()             { h.t.Error("Shutdown was called") }

// A panic is not recovered, so it ends the process and the others elect.
func TestALeadThatPanicsEndsTheProcess(t *testing.T) {
	const mark = "HUSTINGS_LEAD_PANICS"
	if os.Getenv(mark) != "" {
		c := singleConfig()
		c.Lead = func(context.Context, memberstate.Term) error { panic("no disk to write to") }
		require.NoError(t, newElector(t, c).Run(context.Background()))
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), mark+"=1")
	output, err := child.CombinedOutput()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed, "%s", output)
	assert.Contains(t, string(output), "panic: no disk to write to")
}
