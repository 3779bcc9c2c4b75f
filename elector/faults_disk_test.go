// DLedger's faults that need a disk, tested with the real store on a disk that loses all
// data that was not synced.

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

// witness is a store on disk that notes, after every save, what a crash would leave, and a
// transport that compares every message with that.
type witness struct {
	*memberstate.FileStore
	rpc.Transport
	t    *testing.T
	disk *crashdisk.Disk

	mu      sync.Mutex
	durable memberstate.Record
	sent    int
}

func newWitness(t *testing.T, id string, transport rpc.Transport) *witness {
	t.Helper()
	w := &witness{t: t, disk: new(crashdisk.Disk), Transport: transport}
	var err error
	w.FileStore, err = memberstate.CreateFileOn(w.disk, id, id)
	require.NoError(t, err)
	return w
}

// Save saves, and then notes what the worst crash would leave.
func (w *witness) Save(batch []memberstate.Record) error {
	if err := w.FileStore.Save(batch); err != nil {
		return err
	}
	for after := range w.disk.States(rand.New(rand.NewPCG(1, 1)), 1) {
		s, err := memberstate.OpenFileOn(after, w.Node(), w.Node())
		if err != nil {
			return err
		}
		r, _, err := s.Load("g")
		w.mu.Lock()
		w.durable = r
		w.mu.Unlock()
		return err // the first state has lost all data that was not synced
	}
	return nil
}

// Send checks and sends: a member must be able to repeat its messages after a crash.
func (w *witness) Send(to string, batch []rpc.Message) {
	w.mu.Lock()
	for i := range batch {
		w.check(&batch[i])
	}
	w.mu.Unlock()
	w.Transport.Send(to, batch)
}

func (w *witness) check(m *rpc.Message) {
	w.sent++
	if m.Mark == rpc.PreVote {
		return // it promises nothing
	}
	assert.GreaterOrEqual(w.t, w.durable.Term, m.Term, "%s sends %v of term %d", m.From, m.Kind, m.Term)
	switch {
	case m.Kind == rpc.VoteResponse && m.Result == rpc.Accept:
		assert.Equal(w.t, m.To, w.durable.Vote, "its vote of term %d", m.Term)
	case m.Kind == rpc.VoteRequest, m.Kind == rpc.Heartbeat:
		assert.Equal(w.t, m.From, w.durable.Vote, "its own vote of term %d", m.Term)
	}
}

// Fault 2: DLedger never syncs on the path of a vote. Here a member sends only what is still
// true after a crash that loses all data that was not synced.
func TestFault02EveryMessageIsBackedByTheDisk(t *testing.T) {
	witnesses := map[string]*witness{}
	witnessed := func(c *config) {
		w := witnesses[c.Self]
		if w == nil {
			w = newWitness(t, c.Self, c.Transport)
			witnesses[c.Self] = w
		}
		c.Store, c.Transport = w, w
	}
	withCluster(t, 3, witnessed, func(cluster *cluster) {
		for range 5 {
			leader := cluster.awaitLeader()
			assert.NoError(t, leader.el.Resign(context.Background()))
		}
		cluster.awaitLeader()
	})
	for id, w := range witnesses {
		assert.Positive(t, w.sent, id)
		assert.GreaterOrEqual(t, w.durable.Term, memberstate.Term(6), id)
	}
}
