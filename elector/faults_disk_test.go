// DLedger's faults that need a disk: with the store that is shipped, on a disk that
// loses whatever was not synced.

package elector_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// witness is a store on disk that knows, after every save, what a crash would leave,
// and a transport that holds what is said against that.
type witness struct {
	*memberstate.FileStore
	rpc.Transport
	t    *testing.T
	disk *crashdisk.Disk

	mu      sync.Mutex
	durable memberstate.Record
	said    int
}

func newWitness(t *testing.T, id string, transport rpc.Transport) *witness {
	t.Helper()
	w := &witness{t: t, disk: new(crashdisk.Disk), Transport: transport}
	var err error
	w.FileStore, err = memberstate.CreateFileOn(w.disk, id, id)
	require.NoError(t, err)
	return w
}

// Save saves, and then looks at what the worst crash would leave.
func (w *witness) Save(batch []memberstate.Record) error {
	if err := w.FileStore.Save(batch); err != nil {
		return err
	}
	for after := range w.disk.States(rand.New(rand.NewPCG(1, 1))) {
		s, err := memberstate.OpenFileOn(after, w.Node(), w.Node())
		if err != nil {
			return err
		}
		r, _, err := s.Load("g")
		w.mu.Lock()
		w.durable = r
		w.mu.Unlock()
		return err // the first state is the one that has lost everything
	}
	return nil
}

// Send sends what could be said again after a crash, and fails the test otherwise.
func (w *witness) Send(to string, batch []rpc.Message) {
	w.mu.Lock()
	for i := range batch {
		w.check(&batch[i])
	}
	w.mu.Unlock()
	w.Transport.Send(to, batch)
}

func (w *witness) check(m *rpc.Message) {
	w.said++
	if m.Mark == rpc.PreVote {
		return // binds nobody
	}
	assert.GreaterOrEqual(w.t, w.durable.Term, m.Term, "%s says %v of term %d", m.From, m.Kind, m.Term)
	switch {
	case m.Kind == rpc.VoteResponse && m.Result == rpc.Accept:
		assert.Equal(w.t, m.To, w.durable.Vote, "its vote of term %d", m.Term)
	case m.Kind == rpc.VoteRequest, m.Kind == rpc.Heartbeat:
		assert.Equal(w.t, m.From, w.durable.Vote, "its own vote of term %d", m.Term)
	}
}

// Nothing on the vote path is ever synced. Here nothing is said that a crash, which
// loses all that was not synced, would make untrue.
func TestFault02WhatIsSaidIsOnTheDisk(t *testing.T) {
	witnesses := map[string]*witness{}
	witnessed := func(c *config) {
		w := witnesses[c.Self]
		if w == nil {
			w = newWitness(t, c.Self, c.Transport)
			witnesses[c.Self] = w
		}
		c.Store, c.Transport = w, w
	}
	inTown(t, 3, witnessed, func(town *town) {
		for range 5 {
			leader := town.leader()
			assert.NoError(t, leader.el.Resign(context.Background()))
		}
		town.leader()
	})
	for id, w := range witnesses {
		assert.Positive(t, w.said, id)
		assert.GreaterOrEqual(t, w.durable.Term, memberstate.Term(6), id)
	}
}
