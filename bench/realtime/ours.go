// Our members: each a host with one group over gRPC.

package realtime

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"sync"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

type ours struct {
	elector   *elector.Elector
	transport *grpcrpc.Transport
	stop      context.CancelFunc
	watching  sync.WaitGroup
}

func startOurs(changed func()) (*cluster, error) {
	listeners, addresses := make(map[string]net.Listener), make(map[string]string)
	for _, node := range nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners[node], addresses[node] = l, l.Addr().String()
	}
	return found(addresses, func(t *town, node string) (member, error) {
		peers := maps.Clone(addresses)
		delete(peers, node)
		for to := range peers {
			peers[to] = t.address(node, to)
		}
		transport, err := grpcrpc.New(grpcrpc.Config{Self: node, Listener: listeners[node], Peers: peers, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		timing := elector.DefaultTiming()
		timing.Heartbeat, timing.Leak = beat, leak
		o := &ours{transport: transport}
		o.elector, err = elector.New(elector.HostConfig{Self: node, Store: new(memberstate.MemStore), Transport: transport}, elector.GroupConfig{
			Group: "g", Members: memberstate.Voters(nodes...), Timing: timing,
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		if err != nil {
			return nil, err
		}
		var ctx context.Context
		ctx, o.stop = context.WithCancel(context.Background())
		o.watching.Go(func() {
			for range o.elector.Watch(ctx) {
				changed()
			}
		})
		return o, o.elector.Start()
	})
}

func (o *ours) leader() string { return o.elector.Status().Leader }

func (o *ours) resign() error { return o.elector.Resign(context.Background()) }

// close ends the member without a handover, because its connections are already gone.
func (o *ours) close() error {
	o.stop()
	o.watching.Wait()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	err := o.elector.Stop(ended)
	o.transport.Close()
	return err
}
