// The nodes of a run: hosts with all groups, and the wire between them.

package stress

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"sync"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/directwire"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

type cluster struct {
	options *Options
	nodes   []string
	hosts   []*elector.Host
	ends    []*end
	tcp     []*grpcrpc.Transport // empty in memory
}

func newCluster(o *Options, t *tracker) (*cluster, error) {
	c := &cluster{options: o, nodes: nodeNames(o.Nodes)}
	wires, err := c.wires()
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	for i, node := range c.nodes {
		e := newEnd(wires[i])
		host, err := elector.NewHost(elector.HostConfig{
			Self: node, Store: forgetful{}, Transport: e, NoNodeBeats: o.NoNodeBeats, Logger: slog.New(slog.DiscardHandler),
			Metrics: &elector.Metrics{Changed: func(s elector.Status) { t.changed(i, s) }},
		})
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.ends, c.hosts = append(c.ends, e), append(c.hosts, host)
	}
	return c, nil
}

// wires connects the nodes.
func (c *cluster) wires() (wires []rpc.BeatTransport, err error) {
	if c.options.TCP {
		return c.dial()
	}
	wire := directwire.New(c.nodes...)
	for _, node := range c.nodes {
		wires = append(wires, wire.End(node))
	}
	return wires, nil
}

// dial connects the nodes by gRPC over loopback.
func (c *cluster) dial() (wires []rpc.BeatTransport, err error) {
	listeners, err := listenAll(len(c.nodes), net.Listen)
	if err != nil {
		return nil, err
	}
	for i, node := range c.nodes {
		peers := make(map[string]string)
		for j, other := range c.nodes {
			if j != i {
				peers[other] = listeners[j].Addr().String()
			}
		}
		t, err := grpcrpc.New(grpcrpc.Config{Self: node, Listener: listeners[i], Peers: peers, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, errors.Join(err, closeAll(listeners[i:]))
		}
		c.tcp, wires = append(c.tcp, t), append(wires, t)
	}
	return wires, nil
}

// listenAll listens on so many ports, or on none.
func listenAll(count int, listen func(network, address string) (net.Listener, error)) (listeners []net.Listener, err error) {
	for range count {
		l, err := listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, closeAll(listeners))
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// start joins and starts all groups at all nodes, unless ctx ends before all have joined.
func (c *cluster) start(ctx context.Context, names []string) error {
	members := memberstate.Voters(c.nodes...)
	problems := make([]error, len(c.hosts))
	var starting sync.WaitGroup
	for i, host := range c.hosts {
		starting.Go(func() {
			if _, problems[i] = host.JoinAll(c.groups(ctx, names, members)); problems[i] == nil && ctx.Err() == nil {
				problems[i] = host.StartAll()
			}
		})
	}
	starting.Wait()
	return errors.Join(append(problems, ctx.Err())...)
}

// groups yields the groups' configurations, until ctx ends.
func (c *cluster) groups(ctx context.Context, names []string, members []memberstate.Member) iter.Seq[elector.GroupConfig] {
	return func(yield func(elector.GroupConfig) bool) {
		for _, name := range names {
			if ctx.Err() != nil || !yield(elector.GroupConfig{
				Group: name, Members: members, Timing: c.options.Timing, LedgerEnd: emptyLedger, Leases: c.options.Leases,
			}) {
				return
			}
		}
	}
}

// emptyLedger is the LedgerEnd of an engine without entries.
func emptyLedger(memberstate.Term) memberstate.Position { return memberstate.Position{} }

// sent counts the messages and the beats that all nodes have sent.
func (c *cluster) sent() (messages, beats uint64) {
	for _, e := range c.ends {
		messages += e.messages.Load()
		beats += e.beats.Load()
	}
	return messages, beats
}

// close ends all nodes at once, without handovers, which would have to be elections of all groups.
func (c *cluster) close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, e := range c.ends {
		e.die()
		e.release()
	}
	problems := make([]error, len(c.hosts))
	var closing sync.WaitGroup
	for i, host := range c.hosts {
		closing.Go(func() { problems[i] = host.Close(ended) })
	}
	closing.Wait()
	for _, t := range c.tcp {
		t.Close()
	}
	return errors.Join(problems...)
}

// forgetful is a store that keeps nothing.
type forgetful struct{}

func (forgetful) Load(string) (memberstate.Record, bool, error) {
	return memberstate.Record{}, false, nil
}
func (forgetful) Save([]memberstate.Record) error { return nil }
