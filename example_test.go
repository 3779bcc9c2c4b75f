package hustings_test

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A group of one, in the process. Real groups have three voters or more, a store
// on disk and a transport over the network.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	el, err := elector.New(elector.Config{
		Group: "orders", Self: "n0", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0"),
		// Where the ledger ends; no append below term is acknowledged from here on.
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		// Serve until ctx ends; term fences every write.
		Lead: func(ctx context.Context, term memberstate.Term) error {
			fmt.Println("leading in term", term)
			cancel() // a real engine serves its writes here
			<-ctx.Done()
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("ended:", el.Run(ctx))
	// Output:
	// leading in term 1
	// ended: <nil>
}
