package elector_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// storage is the engine: it owns a ledger, and no more is shown of it than the election needs.
type storage struct {
	promise elector.Promise
	end     memberstate.Position // where the ledger ends
	wrote   func()
}

// LedgerEnd promises to accept no append of a lower term from here on.
func (s *storage) LedgerEnd(term memberstate.Term) memberstate.Position {
	return s.promise.End(term, func() memberstate.Position { return s.end })
}

// ServeWrites appends an entry in its term. A real engine sends it to the other members, too.
func (s *storage) ServeWrites(ctx context.Context, term memberstate.Term) error {
	err := s.promise.Accept(term, func() error {
		s.end = memberstate.Position{Term: term, Index: s.end.Index + 1}
		return nil
	})
	if err != nil {
		return err
	}
	s.wrote()
	<-ctx.Done()
	return nil
}

// embed is one member of the group.
func embed(ctx context.Context, self string, store memberstate.Store, transport rpc.Transport, engine *storage) error {
	el, err := elector.New(elector.HostConfig{Self: self, Store: store, Transport: transport}, elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
		// Where the ledger ends; no append below term is accepted from here on.
		LedgerEnd: engine.LedgerEnd,
		// Serve until ctx ends; term fences every write.
		Lead: func(ctx context.Context, term memberstate.Term) error {
			return engine.ServeWrites(ctx, term)
		},
	})
	if err != nil {
		return err
	}
	return el.Run(ctx) // returns once Lead and every goroutine have ended
}

// Three engines in one process elect one of them, which serves writes. Real ones have a
// process each, a store on disk and a transport over the network.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var once sync.Once
	wrote := func() {
		once.Do(func() { fmt.Println("one of three leads, and serves writes") })
		cancel()
	}
	network := rpc.NewNetwork(1)
	var members sync.WaitGroup
	for _, self := range []string{"n0", "n1", "n2"} {
		members.Go(func() {
			if err := embed(ctx, self, new(memberstate.MemStore), network.Join(self), &storage{wrote: wrote}); err != nil {
				fmt.Println(err)
			}
		})
	}
	members.Wait()
	// Output:
	// one of three leads, and serves writes
}
