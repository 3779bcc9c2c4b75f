// A machine, and the processes that run on it one after another.

package simulated

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

type node struct {
	world *World
	id    string
	disk  *vfs.MemFS
	store *memberstate.MemStore
	made  bool         // it has data
	lasts atomic.Int64 // a sync

	mu      sync.Mutex
	process *process // nil: none runs
}

// process is one of them.
type process struct {
	engine *engine.Engine
	died   chan struct{}
	mouth  *mouth
	disk   *vfs.MemFS
	open   atomic.Bool // its syncs take time
}

// running is the process that runs; nil if none does.
func (n *node) running() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// start starts a process.
func (n *node) start() {
	w := n.world
	p := &process{died: make(chan struct{}), disk: n.disk}
	again := n.made
	if !again {
		n.made = true
		if err := engine.Create("data", n.disk, w.shards); err != nil {
			w.fail("%s: %v", n.id, err)
		}
	}
	p.mouth = &mouth{BeatTransport: w.elections.Join(n.id).(rpc.BeatTransport), died: p.died}
	lasts := func() time.Duration {
		if !p.open.Load() {
			return 0
		}
		return time.Duration(n.lasts.Load())
	}
	var err error
	p.engine, err = engine.Open(engine.Config{
		Self: n.id, Members: w.members, Shards: w.shards, Timing: w.timing, Leases: w.leases, Hold: again, Keep: w.keep, Part: w.part, Sessions: w.sessions, Dir: "data", FS: slowDisk{n.disk, lasts},
		Store: terms{n.store, p.died, lasts}, Elections: p.mouth, Network: wire{w.network, n.id, p.died},
		Logger: slog.New(slog.DiscardHandler),
		Failed: func(err error) {
			if !isClosed(p.died) {
				w.fail("%s: %v", n.id, err)
			}
		},
	})
	if err != nil {
		w.fail("%s does not start: %v", n.id, err)
		return
	}
	p.open.Store(true)
	w.network.serve(n.id, p.engine)
	if err := p.engine.Start(); err != nil {
		w.fail("%s does not start: %v", n.id, err)
	}
	n.mu.Lock()
	n.process = p
	n.mu.Unlock()
}

// ends is the process that runs, which is to end now; nil if none does.
func (n *node) ends() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.process
	if n.process = nil; p != nil {
		p.open.Store(false)
	}
	return p
}

// die ends the process without a word, by a loss of power.
func (n *node) die(r *rand.Rand) {
	p := n.ends()
	if p == nil {
		return
	}
	close(p.died)
	n.world.network.serve(n.id, nil)
	n.disk = survivors(p.disk, r)
	n.store.Crash(func(memberstate.Record) bool { return r.IntN(2) == 0 })
	p.mouth.cut()
	n.world.work.Go(func() { // its goroutines end where nobody sees them
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.engine.Close(ended)
	})
}

// stop ends the process as an operator would.
func (n *node) stop(ctx context.Context) {
	p := n.ends()
	if p == nil {
		return
	}
	_ = p.engine.Close(ctx)
	close(p.died)
	n.world.network.serve(n.id, nil)
}

// leads returns the elector of a shard if it leads here.
func (n *node) leads(shard uint32) *elector.Elector {
	p := n.running()
	if p == nil {
		return nil
	}
	el := p.engine.Host().Elector(engine.Group(shard))
	if el == nil || el.Status().Role != memberstate.Leader {
		return nil
	}
	return el
}
