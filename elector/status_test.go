// What is shown of a member holds after it has ended, too.

package elector_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A member that ends is not ahead of its disk: the next incarnation would show less.
func TestAMemberThatEndsShowsWhatIsDurable(t *testing.T) {
	burnt := errors.New("disk on fire")
	for name, saved := range map[string]error{"it could not save": burnt, "it had not saved yet": nil} {
		t.Run(name, func(t *testing.T) {
			withSlowDisk(t, func(el *elector.Elector, store *gatedStore, n1 rpc.Message) {
				n1.Kind, n1.Term = rpc.VoteRequest, 7
				el.Host().Receive([]rpc.Message{n1})
				synctest.Wait()
				var stopped sync.WaitGroup
				if saved == nil {
					stopped.Go(func() {
						ended, cancel := context.WithCancel(context.Background())
						cancel()
						assert.NoError(t, el.Stop(ended))
					})
					synctest.Wait()
				} else {
					store.gate <- saved
					<-el.Done()
					assert.ErrorIs(t, el.Err(), burnt)
				}
				s := el.Status()
				require.True(t, s.Stopped)
				on, _, err := store.Load("g")
				require.NoError(t, err)
				assert.Equal(t, on.Term, s.Term)
				assert.Equal(t, on.Vote, s.Vote)
				close(store.gate)
				stopped.Wait()
			})
		})
	}
}

// One that is stopped while it is being started shows no lower term than before.
func TestAMemberThatEndsAtOnceShowsItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{slow: "slow", loading: make(chan struct{}), outcome: make(chan error)}
		require.NoError(t, store.Save([]memberstate.Record{{Group: "slow", Term: 8, Vote: "n0", Voters: digest(t, "n0")}}))
		host := loner(t, store)
		el := join(t, host, "slow", "n0")
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, el.Start()) })
		<-store.loading
		calls.Go(func() { assert.NoError(t, el.Stop(context.Background())) })
		synctest.Wait()
		store.outcome <- nil
		calls.Wait()
		s := el.Status()
		assert.True(t, s.Stopped)
		assert.EqualValues(t, 8, s.Term)
		assert.Equal(t, "n0", s.Vote)
	})
}

func digest(t *testing.T, voters ...string) uint64 {
	t.Helper()
	members, err := memberstate.NewMembers(memberstate.Voters(voters...))
	require.NoError(t, err)
	return members.Digest()
}
