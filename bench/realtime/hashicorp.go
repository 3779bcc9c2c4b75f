// The peer's members: hashicorp/raft over its own TCP transport, with stores in memory
// and nothing to apply.

package realtime

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const peerName = "hashicorp/raft 1.8"

type peer struct {
	raft      *raft.Raft
	transport *raft.NetworkTransport
	seen      chan raft.Observation
	watching  sync.WaitGroup
}

// lines gives a node's transport the addresses of the others.
type lines struct {
	from string
	town *town
}

// ServerAddr returns the near end of the line to a node.
func (l *lines) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	return raft.ServerAddress(l.town.address(l.from, string(id))), nil
}

func startPeer(changed func()) (*cluster, error) {
	transports, ways := make(map[string]*raft.NetworkTransport), make(map[string]*lines)
	addresses, servers := make(map[string]string), raft.Configuration{}
	for _, node := range nodes {
		ways[node] = &lines{from: node}
		transport, err := raft.NewTCPTransportWithConfig("127.0.0.1:0", nil, &raft.NetworkTransportConfig{
			ServerAddressProvider: ways[node], MaxPool: 3, Timeout: time.Second, Logger: hclog.NewNullLogger(),
		})
		if err != nil {
			return nil, err
		}
		transports[node], addresses[node] = transport, string(transport.LocalAddr())
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(node), Address: transport.LocalAddr()})
	}
	return found(addresses, func(t *town, node string) (member, error) {
		ways[node].town = t
		config, store := raft.DefaultConfig(), raft.NewInmemStore()
		config.LocalID, config.Logger = raft.ServerID(node), hclog.NewNullLogger()
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = detection, detection, detection
		p := &peer{transport: transports[node], seen: make(chan raft.Observation, 1)}
		err := raft.BootstrapCluster(config, store, store, raft.NewDiscardSnapshotStore(), p.transport, servers)
		if err != nil {
			return nil, err
		}
		p.raft, err = raft.NewRaft(config, nothing{}, store, store, raft.NewDiscardSnapshotStore(), p.transport)
		if err != nil {
			return nil, err
		}
		p.watch(changed)
		return p, nil
	})
}

// watch calls changed whenever the member knows another leader.
func (p *peer) watch(changed func()) {
	p.raft.RegisterObserver(raft.NewObserver(p.seen, true, func(o *raft.Observation) bool {
		_, is := o.Data.(raft.LeaderObservation)
		return is
	}))
	p.watching.Go(func() {
		for range p.seen {
			changed()
		}
	})
}

func (p *peer) leader() string {
	_, id := p.raft.LeaderWithID()
	return string(id)
}

func (p *peer) resign() error { return p.raft.LeadershipTransfer().Error() }

func (p *peer) close() error {
	err := errors.Join(p.raft.Shutdown().Error(), p.transport.Close())
	close(p.seen)
	p.watching.Wait()
	return err
}

// nothing is a state machine without state.
type nothing struct{}

// Apply does nothing.
func (nothing) Apply(*raft.Log) any { return nil }

// Snapshot is never called, because there is nothing to keep.
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("nothing to keep") }

// Restore ignores the snapshot.
func (nothing) Restore(r io.ReadCloser) error { return r.Close() }
