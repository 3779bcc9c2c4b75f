package grpcrpc_test

import (
	"fmt"
	"net"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// inbox is a handler. In a program, the elector.Host is the transport's handler.
type inbox struct{ arrived chan rpc.Message }

// Receive drops messages when there is no room, because a handler must not wait.
func (i inbox) Receive(batch []rpc.Message) {
	for _, m := range batch {
		select {
		case i.arrived <- m:
		default:
		}
	}
}

func (i inbox) PeerLost(string) {}

// Two nodes on one machine. Without TLS a transport listens on loopback addresses only; between
// machines both have TLS: &grpcrpc.TLS{CA: "ca.crt", Cert: "n0.crt", Key: "n0.key"}.
func Example() {
	here, there := listen(), listen()
	n0, err := grpcrpc.New(grpcrpc.Config{Self: "n0", Listener: here, Peers: map[string]string{"n1": there.Addr().String()}})
	if err != nil {
		panic(err)
	}
	defer n0.Close()
	n1, err := grpcrpc.New(grpcrpc.Config{Self: "n1", Listener: there, Peers: map[string]string{"n0": here.Addr().String()}})
	if err != nil {
		panic(err)
	}
	defer n1.Close()

	// A host serves its transport by itself: elector.HostConfig{Transport: n1}.
	in := inbox{make(chan rpc.Message, 1)}
	stop, err := n1.Serve(in)
	if err != nil {
		panic(err)
	}
	defer stop()
	question := rpc.Message{
		Group: "orders", From: "n0", To: "n1",
		Body: rpc.Body{Kind: rpc.VoteRequest, Term: 7, Ledger: memberstate.Position{Term: 6, Index: 42}},
	}
	// Messages may be lost before the nodes are connected, so send again until one arrives.
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		n0.Send("n1", []rpc.Message{question})
		select {
		case m := <-in.arrived:
			fmt.Printf("%s asks %s for a vote in term %d, with a ledger that ends at %v\n", m.From, m.To, m.Term, m.Ledger)
			return
		case <-again.C:
		}
	}
	// Output:
	// n0 asks n1 for a vote in term 7, with a ledger that ends at 6:42
}

func listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}
