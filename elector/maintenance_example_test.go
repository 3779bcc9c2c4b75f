// What an engine does so that its node can be taken out of service; docs/maintenance.md quotes it.

package elector_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// maintained is the storage of the other example, with what maintenance needs of it.
type maintained struct {
	storage
	paused atomic.Bool // writes are refused meanwhile
}

// Pause refuses writes until the handover is over. If another member leads then, the term refuses them.
func (m *maintained) Pause(ctx context.Context, _ memberstate.Term) error {
	m.paused.Store(true)
	context.AfterFunc(ctx, func() { m.paused.Store(false) })
	return nil
}

// CatchUp returns when this node's data is complete. Here it always is.
func (*maintained) CatchUp(context.Context) error { return nil }

// Probe writes something small to the disk of the ledger. Here there is none.
func (*maintained) Probe(context.Context) error { return nil }

// maintain is one node: it serves nothing until its data is complete, and nothing more when ctx has ended.
func maintain(ctx context.Context, self string, store memberstate.Store, transport rpc.Transport, engine *maintained) error {
	host, err := elector.NewHost(elector.HostConfig{Self: self, Store: store, Transport: transport, Hold: true})
	if err != nil {
		return err
	}
	_, err = host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
		LedgerEnd: engine.LedgerEnd, Lead: engine.ServeWrites, Pause: engine.Pause,
		Vouch: time.Second, Healthy: engine.Probe,
	})
	if err != nil {
		return err
	}
	if err := host.StartAll(); err != nil {
		return err
	}
	if err := engine.CatchUp(ctx); err == nil {
		if err := host.Serve(); err != nil {
			return err
		}
	}
	<-ctx.Done()
	wait, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := host.DrainPatiently(wait); err != nil {
		log.Print(err) // the process has to end all the same
	}
	return host.Close(wait)
}

// Three nodes serve, and are taken out of service together, so the last one leads until it ends.
func Example_maintenance() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log.SetOutput(io.Discard) // that the last one cannot hand over is no surprise
	defer log.SetOutput(os.Stderr)
	var once sync.Once
	wrote := func() {
		once.Do(func() { fmt.Println("one of three leads, and serves writes") })
		cancel()
	}
	network := rpc.NewNetwork(1)
	var nodes sync.WaitGroup
	for _, self := range []string{"n0", "n1", "n2"} {
		nodes.Go(func() {
			engine := &maintained{storage: storage{wrote: wrote}}
			if err := maintain(ctx, self, new(memberstate.MemStore), network.Join(self), engine); err != nil {
				fmt.Println(err)
			}
		})
	}
	nodes.Wait()
	// Output:
	// one of three leads, and serves writes
}
