// What waits for a host's loop, and for a step that is under way, is bounded.

package elector_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// gatedStore is a store whose saves wait for their outcome, once it is told to.
type gatedStore struct {
	memberstate.MemStore
	gate chan error // set while nothing is saved
}

func (s *gatedStore) Save(batch []memberstate.Record) error {
	if s.gate != nil {
		if err := <-s.gate; err != nil {
			return err
		}
	}
	return s.MemStore.Save(batch)
}

// withSlowDisk plays a test against n0, which follows n1 in term 1 and can save
// nothing for the time being.
func withSlowDisk(t *testing.T, play func(el *elector.Elector, store *gatedStore, n1 rpc.Message)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, store := goodConfig(), new(gatedStore)
		c.Store = store
		c.Lead = func(context.Context, memberstate.Term) error { return nil } // never called
		members, err := memberstate.NewMembers(c.Members)
		require.NoError(t, err)
		el, err := elector.New(c)
		require.NoError(t, err)
		require.NoError(t, el.Start())
		require.NoError(t, el.Heard(1, "n1"))
		store.gate = make(chan error)
		play(el, store, rpc.Message{
			Group: "g", From: "n1", To: "n0", Leader: "n1", Voters: members.Digest(),
			Body: rpc.Body{Kind: rpc.Heartbeat, Term: 2, Round: 1},
		})
	})
}
