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

// An engine that hands in one of its functions and none of the others is called all the same.
func TestAnEngineMayHandInOneFunctionAlone(t *testing.T) {
	for name, handIn := range map[string]func(c *config, called func()){
		"Lead": func(c *config, called func()) {
			c.Lead = func(ctx context.Context, _ memberstate.Term) error {
				called()
				<-ctx.Done()
				return nil
			}
		},
		"Pause": func(c *config, called func()) {
			c.Pause = func(context.Context, memberstate.Term) error {
				called()
				return nil
			}
		},
		"Handlers": func(c *config, called func()) { c.Handlers = []elector.RoleHandler{calling(called)} },
	} {
		t.Run(name, func(t *testing.T) {
			calls := make(chan struct{}, 100)
			inTown(t, 3, func(c *config) {
				c.Lead = nil
				handIn(c, func() { calls <- struct{}{} })
			}, func(town *town) {
				town.pass(time.Second)
				require.NoError(t, town.leader().el.TransferLeadership(context.Background(), ""))
				synctest.Wait()
				assert.NotEmpty(t, calls)
			})
		})
	}
}

// calling is a handler that only says that it was called.
type calling func()

func (f calling) Startup()            { f() }
func (calling) Handle(elector.Status) {}
func (calling) Shutdown()             {}
