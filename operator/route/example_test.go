package route_test

import (
	"context"
	"fmt"
	"net"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/operator/route"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// This example sends requests to the leader of a group. Its only node is alone in the group, and has no TLS.
func Example() {
	address, stop := serve()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	router, err := route.New(ctx, route.Config{Addresses: []string{address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	for request := range 3 {
		leader, err := router.Await(ctx, "orders")
		for err == nil && !accepts(leader, request) {
			router.Refused("orders", leader.Term)
			leader, err = router.Await(ctx, "orders")
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s has accepted request %d\n", leader.ID, request)
	}
	// Output:
	// n0 has accepted request 0
	// n0 has accepted request 1
	// n0 has accepted request 2
}

// accepts sends a request to a leader, by the engine's own protocol, and says whether the leader has accepted it. An engine's
// requests carry the term, so that a leader can refuse those that were meant for another.
func accepts(leader route.Leader, _ int) bool { return leader.Term > 0 }

// serve runs the node.
func serve() (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	transport, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: listener})
	if err != nil {
		panic(err)
	}
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: transport})
	if err != nil {
		panic(err)
	}
	operator.Register(transport.Registrar(), host, transport.Address)
	if _, err = host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	}); err == nil {
		err = host.StartAll()
	}
	if err != nil {
		panic(err)
	}
	return listener.Addr().String(), func() {
		_ = host.Close(context.Background())
		transport.Close()
	}
}
