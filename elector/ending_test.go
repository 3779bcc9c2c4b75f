// Members that are stopped before they have begun, or while they do.

package elector_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// slowStore is a store that takes its time to load one group.
type slowStore struct {
	memberstate.MemStore
	slow    string
	loading chan struct{}
	outcome chan error
}

func (s *slowStore) Load(group string) (memberstate.Record, bool, error) {
	if group == s.slow {
		close(s.loading)
		if err := <-s.outcome; err != nil {
			return memberstate.Record{}, false, err
		}
	}
	return s.MemStore.Load(group)
}

// loner is a host whose groups have no other member.
func loner(t *testing.T, store memberstate.Store) *elector.Host {
	t.Helper()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: store, Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	return host
}

func join(t *testing.T, host *elector.Host, group string, members ...string) *elector.Elector {
	t.Helper()
	el, err := host.Join(elector.GroupConfig{
		Group: group, Members: memberstate.Voters(members...), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(t, err)
	return el
}

func TestAGroupThatIsStoppedWhileItStartsEndsOnce(t *testing.T) {
	for name, outcome := range map[string]error{"it would have started": nil, "it cannot start": errors.New("no disk")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slowStore{slow: "slow", loading: make(chan struct{}), outcome: make(chan error)}
				host := loner(t, store)
				other, slow := join(t, host, "other", "n0"), join(t, host, "slow", "n0")
				require.NoError(t, other.Start())

				var started, stopped error
				var calls sync.WaitGroup
				calls.Go(func() { started = slow.Start() })
				<-store.loading
				hurried, cancel := context.WithCancel(t.Context())
				cancel()
				calls.Go(func() { stopped = slow.Stop(t.Context()) })
				calls.Go(func() { _ = slow.Stop(hurried) })
				synctest.Wait()
				store.outcome <- outcome
				calls.Wait()
				<-slow.Done()
				assert.ErrorIs(t, started, outcome)
				assert.ErrorIs(t, stopped, outcome)
				assert.ErrorIs(t, slow.Err(), outcome)
				assert.Nil(t, host.Elector("slow"))

				<-time.After(time.Second)
				assert.Equal(t, memberstate.Leader, other.Status().Role, "the host goes on with its other group")
				again := join(t, host, "slow", "n0")
				require.NoError(t, again.Stop(t.Context()), "it was never started")
				require.NoError(t, host.Close(t.Context()))
			})
		})
	}
}

// What cannot be ordered yet, or any more, is refused with the reason.
func TestAGroupThatDoesNotRunSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{slow: "slow", loading: make(chan struct{}), outcome: make(chan error)}
		host := loner(t, store)
		el, never := join(t, host, "slow", "n0", "n1"), join(t, host, "never", "n0", "n1")
		refused := func(el *elector.Elector, why string) {
			t.Helper()
			for name, err := range map[string]error{
				"Resign":             el.Resign(context.Background()),
				"TransferLeadership": el.TransferLeadership(context.Background(), "n1"),
				"Heard":              el.Heard(1, "n1"),
			} {
				require.ErrorIs(t, err, elector.ErrStopped, name)
				assert.ErrorContains(t, err, why, name)
			}
		}
		refused(el, `group "slow" has not been started: Run or Start comes first`)
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, el.Start()) })
		<-store.loading
		refused(el, `group "slow" is still being started`)
		store.outcome <- nil
		calls.Wait()
		require.ErrorIs(t, el.Resign(context.Background()), elector.ErrNotLeader)
		err := el.Start()
		require.ErrorIs(t, err, elector.ErrStopped)
		assert.ErrorContains(t, err, `group "slow" has been started or stopped before`)
		require.NoError(t, host.Close(context.Background()))
		refused(el, `group "slow" has stopped`)
		refused(never, `group "never" has stopped`)
	})
}

// TestAGroupThatWasNotStartedDoesNotStand: it has not loaded what it has voted yet.
func TestAGroupThatWasNotStartedDoesNotStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memberstate.MemStore)
		host := loner(t, store)
		other, waits := join(t, host, "other", "n0"), join(t, host, "waits", "n0")
		require.NoError(t, other.Start())
		waits.Campaign()
		<-time.After(time.Minute)
		assert.Zero(t, waits.Status().Revision)
		_, known, err := store.Load("waits")
		require.NoError(t, err)
		assert.False(t, known, "nothing was saved for it")
		require.NoError(t, host.Close(t.Context()))
	})
}
