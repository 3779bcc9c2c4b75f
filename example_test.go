package hustings_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// A node as it is in production: its store on disk, its transport over the network,
// and open to operators. This one is alone in its group, and has no TLS.
func Example() {
	if err := runNode(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// leading in term 1
}

func runNode() (err error) {
	dir, err := os.MkdirTemp("", "hustings-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Once in a node's life. Every other time it is OpenFile.
	store, err := memberstate.CreateFile(filepath.Join(dir, "n0.store"), "n0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	transport, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: listener, Peers: nil /* by id, host:port */})
	if err != nil {
		return err
	}
	defer transport.Close()

	host, err := elector.NewHost(elector.HostConfig{Self: "n0", Store: store, Transport: transport})
	if err != nil {
		return err
	}
	operator.Register(transport.Registrar(), host, transport.Address)
	ctx, cancel := context.WithCancel(context.Background())
	el, err := host.Join(elector.GroupConfig{
		Group: "orders", Members: memberstate.Voters("n0"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		Lead: func(ctx context.Context, term memberstate.Term) error {
			fmt.Println("leading in term", term)
			cancel()
			<-ctx.Done()
			return nil
		},
	})
	if err != nil {
		return err
	}
	return el.Run(ctx)
}
