package lease_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// The claims that wait for their turn when a keeper retires are never sent.
func TestAKeeperThatRetiresSendsNoQueuedClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 20
		sent := make(chan string, leases)
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		c.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op != "acquire" {
				return do(ctx)
			}
			sent <- op
			<-ctx.Done()
			return ctx.Err()
		})
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: c, Timing: timing})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i := range leases {
			el, err := k.Join(lease.GroupConfig{Name: fmt.Sprint(i)})
			require.NoError(t, err)
			running.Go(func() { assert.NoError(t, el.Run(ctx)) })
		}
		<-sent
		synctest.Wait()
		underWay := len(sent)
		require.Less(t, underWay, leases-1, "none has to wait")
		cancel()
		running.Wait()
		assert.Len(t, sent, underWay)
	})
}

// A claim that is never answered delays no candidate that retires, neither its own nor those
// whose claims wait for their turn. Only the keeper's last candidate waits for the calls.
func TestClaimsThatAreNeverAnsweredHoldUpNobodyThatRetires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 20
		answered := make(chan struct{})
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		c.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op == "acquire" {
				<-answered
				return ctx.Err()
			}
			return do(ctx)
		})
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: c, Timing: timing, Logger: silence})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, leases)
		for i := range leases {
			el, err := k.Join(lease.GroupConfig{Name: fmt.Sprint(i)})
			require.NoError(t, err)
			go func() { ended <- el.Run(ctx) }()
		}
		<-time.After(timing.Timeout / 2)
		cancel()
		<-time.After(4 * timing.Timeout)
		assert.Len(t, ended, leases-1)
		close(answered)
		for range leases {
			assert.NoError(t, <-ended)
		}
	})
}

// muffled is a waker whose wake-ups hang as long as they may.
type muffled struct{ *mem.Store }

func (muffled) Wake(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// A wake-up that hangs has a time-out like every other call, so it holds up nobody that retires.
func TestAWakeUpThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		el, err := lease.New(lease.KeeperConfig{Self: "n", Store: muffled{new(mem.Store)}, Timing: timing, Logger: silence}, lease.GroupConfig{Name: "g"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- el.Run(ctx) }()
		<-time.After(10 * time.Second)
		require.Equal(t, memberstate.Leader, el.Status().Role)
		cancel()
		<-time.After(timing.Timeout + 1)
		require.Len(t, ended, 1)
		assert.NoError(t, <-ended)
	})
}
