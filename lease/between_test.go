// Electors of one keeper that begin and end, when others come between any two statements.

package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/between"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// listeners counts those who listen.
type listeners struct {
	lease.Waker
	now, most atomic.Int32
}

func (l *listeners) Listen(ctx context.Context, woken func(string)) error {
	l.most.Store(max(l.most.Load(), l.now.Add(1)))
	defer l.now.Add(-1)
	return l.Waker.Listen(ctx, woken)
}

// part is a part that an elector takes.
type part struct {
	elector     *lease.Elector
	ctx         context.Context
	end         context.CancelFunc
	began, over chan struct{}
	once        sync.Once
	in          atomic.Int32 // calls of Lead
}

func take(t *testing.T, k *lease.Keeper, name string) *part {
	t.Helper()
	p := &part{began: make(chan struct{}), over: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(context.Background())
	var err error
	p.elector, err = k.Join(lease.GroupConfig{Name: name, Lead: func(ctx context.Context, _ memberstate.Term) error {
		assert.EqualValues(t, 1, p.in.Add(1))
		<-ctx.Done()
		p.in.Add(-1)
		return nil
	}})
	require.NoError(t, err)
	return p
}

func (p *part) run(t *testing.T) {
	t.Helper()
	p.once.Do(func() {
		go func() {
			defer close(p.over)
			assert.NoError(t, p.elector.Run(p.ctx))
		}()
	})
}

func (p *part) stop() {
	p.end()
	<-p.over
}

// keepers have two leases, one of which is held.
func keepers(t *testing.T) between.World {
	t.Helper()
	store, listening := new(mem.Store), new(listeners)
	listening.Waker = store
	k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n0", Store: store, Waker: listening, Timing: lease.DefaultTiming(), Logger: silence})
	require.NoError(t, err)
	first, second := take(t, k, "first"), take(t, k, "second")
	first.run(t)
	for first.elector.Status().Role != memberstate.Leader {
		<-time.After(100 * time.Millisecond)
	}
	return between.World{
		Operations: []between.Operation{
			{Name: "the last one ends", Do: first.stop},
			{Name: "another one begins", Do: func() { second.run(t) }},
			{Name: "Resign", Do: func() {
				if err := first.elector.Resign(context.Background()); !errors.Is(err, elector.ErrNotLeader) && !errors.Is(err, elector.ErrStopped) {
					assert.NoError(t, err)
				}
			}},
			{Name: "Electable", Do: func() { _ = first.elector.Electable(false) }},
			{Name: "another one begins and ends", Do: func() { second.run(t); second.stop() }, Later: true},
			{Name: "Status", Do: func() { _ = first.elector.Status() }, Later: true},
			{Name: "Lease", Do: func() { _, _, _ = first.elector.Lease() }, Later: true},
			{Name: "three seconds", Do: func() {}, Takes: 3 * time.Second},
		},
		Patience: 10 * time.Second, // a call of the store that was held up is repeated
		Judge: func(t *testing.T) {
			t.Helper()
			second.run(t)
			<-time.After(time.Minute)
			synctest.Wait()
			if second.ctx.Err() == nil {
				assert.Equal(t, memberstate.Leader, second.elector.Status().Role, "what begins as the last one ends leads")
				assert.EqualValues(t, 1, listening.now.Load(), "it listens")
			}
			first.stop()
			second.stop()
			for _, p := range []*part{first, second} {
				assert.True(t, p.elector.Status().Stopped)
				assert.Zero(t, p.in.Load())
			}
			synctest.Wait()
			assert.Zero(t, listening.now.Load())
		},
	}
}

// unreleased is a store that releases nothing.
type unreleased struct{ lease.Store }

func (unreleased) Release(context.Context, string, lease.Held) error { return assert.AnError }

// refused holds a lease that cannot be released: whoever resigns is told so.
func refused(t *testing.T) between.World {
	t.Helper()
	k, err := lease.NewKeeper(lease.KeeperConfig{
		Self: "n0", Store: unreleased{new(mem.Store)}, Timing: lease.DefaultTiming(), Logger: silence,
	})
	require.NoError(t, err)
	p := take(t, k, "first")
	p.run(t)
	for p.elector.Status().Role != memberstate.Leader {
		<-time.After(100 * time.Millisecond)
	}
	return between.World{
		Operations: []between.Operation{
			{Name: "Resign", Takes: 10 * time.Second, Of: "its owner", Do: func() {
				assert.Error(t, p.elector.Resign(context.Background()))
			}},
			{Name: "a moment", Do: func() {}, Later: true, Takes: 1},
		},
		Patience: 10 * time.Second,
		Judge:    func(*testing.T) { p.stop() },
	}
}

// Whoever comes between two statements of a keeper, what runs leads and listens, and what has ended leaves nothing
// behind.
func TestOthersMayComeBetweenTheStatementsOfAKeeper(t *testing.T) {
	if !between.Rebuild(t, "mem", "../internal/office", "../internal/level") {
		return
	}
	t.Run("its life", func(t *testing.T) { between.All(t, false, keepers) })
	t.Run("a release that fails", func(t *testing.T) { between.All(t, false, refused) })
}
