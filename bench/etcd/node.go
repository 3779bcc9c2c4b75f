// Package etcd drives etcd/raft as a careful user of its RawNode does who wants an
// election and no log: everything that Ready holds is obeyed in its order, and
// nothing is asked for that is not needed.
package etcd

import (
	"io"
	"log"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Name says whose figures those of this package are.
const Name = "etcd/raft 3.7 RawNode"

// ElectionTicks is the election timeout: etcd's own recommendation, with a heartbeat
// every tick.
const ElectionTicks = 10

// quiet discards what etcd logs.
var quiet = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

// Node is one member of one group.
type Node struct {
	raw     *raft.RawNode
	storage *raft.MemoryStorage
	// Lead is the leader that the member knows, 0 if it knows none, and Leads
	// whether it leads itself.
	Lead  uint64
	Leads bool
}

// NewStorage is the storage of a member of a group with the voters 1 to size. It is
// founded the way etcd recommends: by a snapshot that holds the voters.
func NewStorage(size int) (*raft.MemoryStorage, error) {
	voters := make([]uint64, size)
	for i := range voters {
		voters[i] = uint64(i + 1)
	}
	s := raft.NewMemoryStorage()
	return s, s.ApplySnapshot(&raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &raftpb.ConfState{Voters: voters},
	}})
}

// NewNode is the member with this id over its storage.
func NewNode(id uint64, storage *raft.MemoryStorage) (*Node, error) {
	raw, err := raft.NewRawNode(&raft.Config{
		ID: id, ElectionTick: ElectionTicks, HeartbeatTick: 1, Storage: storage, Applied: 1,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 1, PreVote: true, CheckQuorum: true, Logger: quiet,
	})
	return &Node{raw: raw, storage: storage}, err
}

// Tick lets one tick pass. What follows from it is left for Work.
func (n *Node) Tick() { n.raw.Tick() }

// Campaign has the member stand.
func (n *Node) Campaign() error { return n.raw.Campaign() }

// TransferLeader has a leader hand over to another member.
func (n *Node) TransferLeader(to uint64) { n.raw.TransferLeader(to) }

// Step takes a message. Those that etcd ignores are of no interest.
func (n *Node) Step(m *raftpb.Message) { _ = n.raw.Step(m) }

// Work does what the member asks for until it asks for no more.
func (n *Node) Work(send func(*raftpb.Message)) error {
	for {
		ready := n.Ready()
		if ready == nil {
			return nil
		}
		if err := n.Finish(ready, send); err != nil {
			return err
		}
	}
}

// Ready is what the member asks for next, and nil if that is nothing. If it MustSync,
// the disk is to be waited for before Finish.
func (n *Node) Ready() *raft.Ready {
	if !n.raw.HasReady() {
		return nil
	}
	ready := n.raw.Ready()
	return &ready
}

// Finish saves, and then sends.
func (n *Node) Finish(ready *raft.Ready, send func(*raftpb.Message)) error {
	if ready.HardState != nil {
		if err := n.storage.SetHardState(ready.HardState); err != nil {
			return err
		}
	}
	if len(ready.Entries) > 0 {
		if err := n.storage.Append(ready.Entries); err != nil {
			return err
		}
	}
	if s := ready.SoftState; s != nil {
		n.Lead, n.Leads = s.Lead, s.RaftState == raft.StateLeader
	}
	for _, m := range ready.Messages {
		send(m)
	}
	n.raw.Advance(*ready)
	return nil
}
