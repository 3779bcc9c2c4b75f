package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// This example inspects a node, waits until it leads, and makes it resign. The node is alone in
// its group, and has no TLS; with TLS, Dial needs an operator's certificate.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	transport, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: listener})
	if err != nil {
		panic(err)
	}
	defer transport.Close()
	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: transport})
	if err != nil {
		panic(err)
	}
	operator.Register(transport.Registrar(), host, transport.Address) // the node's side
	el, err := host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- el.Run(ctx) }()

	fmt.Println(operate(ctx, listener.Addr().String()))
	cancel()
	fmt.Println(<-ended)
	// Output:
	// [n0]
	// "n0" in "orders": leader in term 1, voted for "n0"
	// <nil>
	// <nil>
}

// operate is the operator's side.
func operate(ctx context.Context, address string) (err error) {
	client, err := operator.Dial(address, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	members, err := client.Members(ctx, "orders")
	if err != nil {
		return err
	}
	fmt.Println(members)
	for status, err := range client.Watch(ctx, "orders") {
		if err != nil {
			return err
		}
		if status.Role == memberstate.Leader {
			fmt.Println(status)
			break
		}
	}
	return nil
}
