// A Lead that does not return, but ends in another way.

package lease_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// A Lead that ends its goroutine, as t.FailNow does, counts as returned: the lease is released,
// and not renewed while no Lead serves.
func TestALeadThatEndsItsGoroutineResigns(t *testing.T) {
	for name, waits := range map[string]bool{"by itself": false, "when its context has ended": true} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				var over context.Context
				first := s.enter("first", func(c *settings) {
					c.Lead = func(ctx context.Context, _ memberstate.Term) error {
						over = ctx
						if waits {
							<-ctx.Done()
						} else {
							<-time.After(time.Minute)
						}
						runtime.Goexit()
						return nil
					}
				})
				s.lead(first)
				second := s.enter("second", nil)
				s.pass(time.Minute - time.Second)
				require.True(t, first.leads())
				if waits {
					require.NoError(t, first.Resign(context.Background()))
				} else {
					s.pass(2 * time.Second)
				}
				assert.Error(t, over.Err())
				assert.Equal(t, 1, first.conn.count("release"))
				assert.LessOrEqual(t, s.lead(second), 2*timing.Poll)
				first.conn.count("renew")
				s.pass(time.Minute)
				assert.Zero(t, first.conn.count("renew"))
				first.stop()
				<-first.ended
			})
		})
	}
}

// released is a store that reports a release.
type released struct{ *mem.Store }

func (s released) Release(context.Context, string, lease.Held) error {
	println("the lease was released")
	return nil
}

// panicker is set in the process that panics.
const panicker = "HUSTINGS_TEST_PANIC"

// A panic of Lead is reported like any other, with its stack, and the lease is not released,
// because goroutines of Lead may still be at work.
func TestALeadThatPanicsEndsItsProcess(t *testing.T) {
	if os.Getenv(panicker) != "" {
		el, err := lease.New(
			lease.KeeperConfig{Self: "n", Store: released{new(mem.Store)}, Timing: lease.DefaultTiming()}, lease.GroupConfig{Name: "g", Lead: panics},
		)
		require.NoError(t, err)
		require.NoError(t, el.Run(t.Context()))
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), panicker+"=1")
	out, err := again.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Contains(t, string(out), "panic: out of paper")
	assert.Contains(t, string(out), "lease_test.panics(")
	assert.NotContains(t, string(out), "released")
	assert.NotContains(t, string(out), "lead returned early", "it has not")
}

func panics(context.Context, memberstate.Term) error { panic("out of paper") }
