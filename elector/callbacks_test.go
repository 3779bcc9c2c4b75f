// The engine's functions: any of them may be missing, slow, or end early.

package elector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestAnEngineMayPassOneFunctionAlone(t *testing.T) {
	for name, pass := range map[string]func(c *config, called func()){
		"Lead": func(c *config, called func()) {
			c.Lead = func(ctx context.Context, term memberstate.Term) error {
				called()
				return untilEnd(ctx, term)
			}
		},
		"Pause": func(c *config, called func()) {
			c.Pause = func(context.Context, memberstate.Term) error {
				called()
				return nil
			}
		},
		"Handlers": func(c *config, called func()) { c.Handlers = []elector.RoleHandler{onStartup(called)} },
	} {
		t.Run(name, func(t *testing.T) {
			calls := make(chan struct{}, 100)
			withCluster(t, 3, func(c *config) {
				c.Lead = nil
				pass(c, func() { calls <- struct{}{} })
			}, func(cluster *cluster) {
				cluster.pass(time.Second)
				require.NoError(t, cluster.awaitLeader().el.TransferLeadership(context.Background(), ""))
				synctest.Wait()
				assert.NotEmpty(t, calls)
			})
		})
	}
}

// onStartup is a handler that calls a function at Startup.
type onStartup func()

func (f onStartup) Startup()            { f() }
func (onStartup) Handle(elector.Status) {}
func (onStartup) Shutdown()             {}

// A handler's first status is one of the member's own, and not that of a member that has not begun. Here a
// function of Metrics blocks the loop, which it should not do.
func TestHandlersBeginAfterTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, begun := make(chan struct{}), make(chan struct{}, 1)
		node := elector.IsolatedNode(new(memberstate.MemStore))
		node.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) { <-held }}
		host := elector.MustHost(t, node)
		require.NoError(t, join(t, host, "other", "n0", "n1").Start())
		host.Receive(make([]rpc.Message, 1)) // of no group
		synctest.Wait()
		c := elector.GroupOf("g", "n0", "n1")
		c.Handlers = []elector.RoleHandler{onStartup(func() { begun <- struct{}{} })}
		el := elector.MustJoin(t, host, c)
		started := order(func(context.Context) error { return el.Start() })
		assert.Empty(t, begun)
		close(held)
		require.NoError(t, started.answered(t))
		assert.Len(t, begun, 1)
		require.NoError(t, host.Close(t.Context()))
	})
}

// first is the node that leads a new cluster of three, because its turn is the first in the group's term 0.
const first = "n1"

// replaceFirstLead gives that node another Lead.
func replaceFirstLead(c *config, lead func(context.Context, memberstate.Term) error) {
	if c.Self == first {
		c.Lead = lead
	}
}

// awaitSecondLeader waits for the leader after the first, whose Lead replaceFirstLead has replaced.
func (cluster *cluster) awaitSecondLeader() {
	cluster.t.Helper()
	cluster.pass(200 * time.Millisecond)
	leader := cluster.awaitLeader()
	assert.NotEqual(cluster.t, first, leader.id)
	assert.Less(cluster.t, memberstate.Term(1), leader.el.Status().Term, "%s never led, so this shows nothing", first)
}
