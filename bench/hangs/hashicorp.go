// hashicorp/raft, over its own transport, whose streams run over lines.

package hangs

import (
	"context"
	"errors"
	"io"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// hashicorpNode is a member of hashicorp/raft, with its state machine.
type hashicorpNode struct {
	applied   Applied
	node      *Node
	raft      *raft.Raft
	transport *raft.NetworkTransport
	streams   *streams
}

func foundHashicorp(net *Network, nodes []*Node) (group []Member, err error) {
	servers, all := raft.Configuration{}, make([]*streams, len(nodes))
	for i, n := range nodes {
		all[i] = newStreams(net, n, all)
		name := all[i].Addr().String()
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(name), Address: raft.ServerAddress(name)})
	}
	for i, n := range nodes {
		h := &hashicorpNode{node: n, streams: all[i]}
		if err = h.start(servers); err != nil {
			return nil, err
		}
		group = append(group, h)
	}
	return group, nil
}

func (h *hashicorpNode) start(servers raft.Configuration) (err error) {
	h.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: h.streams, MaxPool: 3, Timeout: 10 * Detection, Logger: hclog.NewNullLogger(),
	})
	config, kept := raft.DefaultConfig(), &logStore{raft.NewInmemStore(), h.node}
	config.LocalID, config.Logger = raft.ServerID(h.streams.Addr().String()), hclog.NewNullLogger()
	config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = Detection, Detection, Detection
	snapshots := raft.NewDiscardSnapshotStore()
	if err = raft.BootstrapCluster(config, kept, kept, snapshots, h.transport, servers); err == nil {
		h.raft, err = raft.NewRaft(config, h, kept, kept, snapshots, h.transport)
	}
	return err
}

// Apply applies an entry.
func (h *hashicorpNode) Apply(entry *raft.Log) any {
	h.node.Apply()
	h.applied.Apply(entry.Data)
	return nil
}

// Snapshot is never called, because the log stays short.
func (h *hashicorpNode) Snapshot() (raft.FSMSnapshot, error) {
	return nil, errors.New("nothing to keep")
}

// Restore ignores the snapshot.
func (h *hashicorpNode) Restore(r io.ReadCloser) error { return r.Close() }

// Leads asks the library.
func (h *hashicorpNode) Leads() bool { return h.raft.State() == raft.Leader }

// Write applies an entry, as the library calls it.
func (h *hashicorpNode) Write(ctx context.Context) error {
	return h.applied.Write(ctx, func(entry []byte) error {
		h.raft.Apply(entry, Hopeless) // its future would wait for ever
		return nil
	})
}

// HandOver does not wait for the result, which may never come.
func (h *hashicorpNode) HandOver() { h.raft.LeadershipTransfer() }

// Close shuts the member down.
func (h *hashicorpNode) Close() {
	ended := h.raft.Shutdown()
	h.streams.cut()
	_, _ = h.transport.Close(), ended.Error() // neither can fail
}

// logStore keeps the log, the term and the vote on the node's disk.
type logStore struct {
	*raft.InmemStore
	node *Node
}

// StoreLog saves when the disk does.
func (s *logStore) StoreLog(entry *raft.Log) error { return s.StoreLogs([]*raft.Log{entry}) }

// StoreLogs saves when the disk does.
func (s *logStore) StoreLogs(entries []*raft.Log) error {
	s.node.Save()
	return s.InmemStore.StoreLogs(entries)
}

// Set saves when the disk does.
func (s *logStore) Set(key, value []byte) error {
	s.node.Save()
	return s.InmemStore.Set(key, value)
}

// SetUint64 saves when the disk does.
func (s *logStore) SetUint64(key []byte, value uint64) error {
	s.node.Save()
	return s.InmemStore.SetUint64(key, value)
}
