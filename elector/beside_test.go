// What must not hold up or touch each other: groups that end together, and an append beside a
// look at the ledger.

package elector_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Close has all groups end together: one whose Lead takes its time delays no other.
func TestCloseEndsAllGroupsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
		require.NoError(t, err)
		release, told := make(chan struct{}), map[string]*atomic.Bool{}
		for _, group := range []string{"a", "b", "c"} {
			over := new(atomic.Bool)
			told[group] = over
			el, err := host.Join(elector.GroupConfig{
				Group: group, Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
				LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
				Lead: func(ctx context.Context, _ memberstate.Term) error {
					<-ctx.Done()
					over.Store(true)
					<-release
					return nil
				},
			})
			require.NoError(t, err)
			require.NoError(t, el.Start())
			for s := range el.Watch(t.Context()) {
				if s.Role == memberstate.Leader {
					break
				}
			}
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- host.Close(context.Background()) }()
		<-time.After(time.Minute)
		for group, over := range told {
			assert.True(t, over.Load(), group)
		}
		assert.Empty(t, closed)
		close(release)
		assert.NoError(t, <-closed)
	})
}

// The ledger's end is taken, and an append is checked and written, in one step each: neither
// comes into the middle of another.
func TestAPromiseKeepsAppendsApart(t *testing.T) {
	steps := map[string]func(p *elector.Promise, do func()){
		"the end": func(p *elector.Promise, do func()) {
			p.End(3, func() memberstate.Position { do(); return memberstate.Position{} })
		},
		"an append": func(p *elector.Promise, do func()) {
			assert.NoError(t, p.Accept(3, func() error { do(); return nil }))
		},
	}
	for name, first := range steps {
		for then, second := range steps {
			t.Run(name+", then "+then, func(t *testing.T) {
				var p elector.Promise
				var over, came atomic.Bool
				done := make(chan struct{})
				first(&p, func() {
					go func() {
						defer close(done)
						came.Store(true)
						second(&p, func() { assert.True(t, over.Load(), "it came into the middle") })
					}()
					for !came.Load() {
						runtime.Gosched()
					}
					for range 1000 { // it has time to
						runtime.Gosched()
					}
					over.Store(true)
				})
				<-done
			})
		}
	}
}
