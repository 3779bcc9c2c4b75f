package lease_test

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// This example has only one candidate. Real ones share a database: see package sqllease.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	el, err := lease.New(lease.KeeperConfig{Self: "host-1", Store: new(mem.Store), Timing: lease.DefaultTiming()}, lease.GroupConfig{
		Name: "reports",
		// A service that cannot work lets another candidate lead.
		Vouch:   lease.DefaultTiming().TTL,
		Healthy: func(context.Context) error { return nil }, // a real service tries its disk here
		// Serve until ctx ends; term fences every write.
		Lead: func(ctx context.Context, term memberstate.Term) error {
			fmt.Println("leading in term", term)
			cancel() // a real service does its work here
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
