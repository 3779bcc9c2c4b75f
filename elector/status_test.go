// The status of a member that has ended, and of one that changes while its report is awaited.

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

// The last status is not ahead of the disk. Otherwise the next incarnation would begin with a lower
// term.
func TestTheLastStatusIsDurable(t *testing.T) {
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
						assert.NoError(t, el.Stop(endedContext()))
					})
					synctest.Wait()
				} else {
					store.gate <- saved
					<-el.Done()
					assert.ErrorIs(t, el.Err(), burnt)
				}
				s := el.Status()
				require.True(t, s.Stopped)
				durable, _, err := store.Load("g")
				require.NoError(t, err)
				assert.Equal(t, durable.Term, s.Term)
				assert.Equal(t, durable.Vote, s.Vote)
				close(store.gate)
				stopped.Wait()
			})
		})
	}
}

func TestAMemberStoppedDuringItsStartHasTheTermOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		require.NoError(t, store.Save([]memberstate.Record{{Group: "slow", Term: 8, Vote: "n0", Voters: digest(t, "n0")}}))
		host := elector.IsolatedHost(t, store)
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

// The status in a report is that of the moment at which its figures are read, and not that of the question. Here a function of
// Metrics blocks the loop, which it should not do.
func TestTheStatusInAReportBelongsToItsFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		store := new(memberstate.MemStore)
		require.NoError(t, store.Save([]memberstate.Record{{Group: "g", Term: 5, Voters: digest(t, "n0", "n1", "n2")}}))
		node := elector.IsolatedNode(store)
		node.Metrics = &elector.Metrics{Dropped: func(elector.Drop, int) { <-held }}
		host := elector.MustHost(t, node)
		el := join(t, host, "g", "n0", "n1", "n2")
		require.NoError(t, el.Start())
		host.Receive(make([]rpc.Message, 1)) // of no group
		synctest.Wait()
		host.Receive([]rpc.Message{heartbeat(t, "n1", "n0", 5)})
		reported := make(chan elector.Report, 1)
		go func() {
			r, err := el.Report(t.Context())
			assert.NoError(t, err)
			reported <- r
		}()
		synctest.Wait()
		require.Empty(t, el.Status().Leader, "the loop is held")
		close(held)
		assert.Equal(t, "n1", (<-reported).Leader)
		require.NoError(t, host.Close(t.Context()))
	})
}
