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

// replaceFirstLead gives n2, the first node to lead, another Lead.
func replaceFirstLead(c *config, lead func(context.Context, memberstate.Term) error) {
	if c.Self == "n2" {
		c.Lead = lead
	}
}

// awaitSecondLeader waits for the leader that follows n2, whose Lead replaceFirstLead has replaced.
func (cluster *cluster) awaitSecondLeader() {
	cluster.t.Helper()
	cluster.pass(200 * time.Millisecond)
	leader := cluster.awaitLeader()
	assert.NotEqual(cluster.t, "n2", leader.id)
	assert.Less(cluster.t, memberstate.Term(1), leader.el.Status().Term, "n2 never led, so this shows nothing")
}
