// A keeper at rest.

package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// hanging is a store that gives every lease, and of which every other call of each kind fails when its time is up;
// every third one hangs beyond that.
type hanging struct {
	Store // for what a keeper does not call
	mu    sync.Mutex
	calls map[protocol.Kind]int
}

func (h *hanging) trouble(ctx context.Context, kind protocol.Kind) error {
	h.mu.Lock()
	h.calls[kind]++
	n := h.calls[kind]
	h.mu.Unlock()
	switch {
	case n%3 == 0:
		<-time.After(DefaultTiming().Timeout * 2)
		return errors.New("the driver hung")
	case n%2 == 0:
		<-ctx.Done()
	}
	return ctx.Err()
}

func (h *hanging) Read(ctx context.Context, _ []string) ([]Record, error) {
	return nil, h.trouble(ctx, protocol.Read)
}

func (h *hanging) Acquire(ctx context.Context, _ Claim) (bool, error) {
	return true, h.trouble(ctx, protocol.Acquire)
}

func (h *hanging) Release(ctx context.Context, _ string, _ Held) error {
	return h.trouble(ctx, protocol.Release)
}

func (h *hanging) Renew(ctx context.Context, _ string, held []Held) (kept []string, err error) {
	for _, l := range held {
		kept = append(kept, l.Name)
	}
	return kept, h.trouble(ctx, protocol.Renew)
}

// leadsFor runs a candidate until it has led for some time.
func leadsFor(t *testing.T, k *Keeper, name string, lasts time.Duration, all *sync.WaitGroup) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	e, err := k.Join(GroupConfig{
		Name: name, Vouch: time.Minute, Healthy: func(context.Context) error { return nil },
		Lead: func(ctx context.Context, _ memberstate.Term) error {
			time.AfterFunc(lasts, cancel)
			<-ctx.Done()
			return nil
		},
	})
	require.NoError(t, err)
	all.Go(func() { assert.NoError(t, e.Run(ctx)) })
}

// A keeper whose leases have come and gone, with a database that hung again and again, is as it was made: it has no
// timer, goroutine, line or lapse left, and its value holds nothing.
func TestAKeeperWithoutLeasesIsAsItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := NewKeeper(KeeperConfig{
			Self: "a", Store: &hanging{calls: map[protocol.Kind]int{}}, Timing: DefaultTiming(),
			Logger: slog.New(slog.DiscardHandler), Stalled: func(context.Context) []string { return nil },
		})
		require.NoError(t, err)
		for round := range 5 {
			var all sync.WaitGroup
			for _, name := range []string{"g", "h"} {
				leadsFor(t, k, name, time.Duration(round)*time.Second, &all)
			}
			all.Wait()
			k.mu.Lock()
			assert.Nil(t, k.timer)
			assert.Empty(t, k.joined)
			assert.Zero(t, k.running)
			assert.Empty(t, k.lapses)
			assert.Empty(t, k.lines)
			require.Error(t, k.listening.Err())
			assert.Equal(t, protocol.Holdings{}, k.value.Holdings())
			k.mu.Unlock()
		}
	})
}
