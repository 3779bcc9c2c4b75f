// Package etcd drives etcd/raft as a careful user of its RawNode does who wants an
// election and no log: everything that Ready holds is obeyed in its order, and
// nothing is asked for that is not needed.
//
// It compiles with version 3.7 and with 3.6, whose messages are of other types:
// versions.go has what makes no difference of them.
package etcd

import (
	"go.etcd.io/raft/v3"
)

// Newer and Older are the versions, of which a program has one: bench the newer.
const (
	Newer = "etcd/raft 3.7"
	Older = "etcd/raft 3.6"
)

// ElectionTicks is the election timeout: etcd's own recommendation, with a heartbeat
// every tick.
const ElectionTicks = 10

// Node is one member of one group. M is the message of whatever version this is.
type Node[M any] struct {
	raw     *raft.RawNode
	storage *raft.MemoryStorage
	step    func(*raft.RawNode, M) error
	// By the last Ready, Term is the newest that the member knows, Lead the leader, 0
	// if it knows none, and Leads whether it leads itself.
	Term  uint64
	Lead  uint64
	Leads bool
}

// NewStorage is the storage of a member of a group with the voters 1 to size. It is
// founded the way etcd recommends: by a snapshot that holds the voters.
func NewStorage(size int) (*raft.MemoryStorage, error) {
	s := raft.NewMemoryStorage()
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	for i := range size {
		snapshot.Metadata.ConfState.Voters = append(snapshot.Metadata.ConfState.Voters, uint64(i+1))
	}
	set(&snapshot.Metadata.Index, 1)
	set(&snapshot.Metadata.Term, 1)
	err = s.ApplySnapshot(snapshot)
	return s, err
}

// NewNode is the member with this id over its storage. Step is always
// (*raft.RawNode).Step: it tells what M is. Changes are made to what is configured.
func NewNode[M any](step func(*raft.RawNode, M) error, id uint64, storage *raft.MemoryStorage, changes ...func(*raft.Config)) (*Node[M], error) {
	config := &raft.Config{
		ID: id, ElectionTick: ElectionTicks, HeartbeatTick: 1, Storage: storage, Applied: 1,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 1, PreVote: true, CheckQuorum: true, Logger: quiet{},
	}
	for _, change := range changes {
		change(config)
	}
	raw, err := raft.NewRawNode(config)
	return &Node[M]{raw: raw, storage: storage, step: step}, err
}

// Tick lets one tick pass. What follows from it is left for Work.
func (n *Node[M]) Tick() { n.raw.Tick() }

// Campaign has the member stand.
func (n *Node[M]) Campaign() error { return n.raw.Campaign() }

// TransferLeader has a leader hand over to another member.
func (n *Node[M]) TransferLeader(to uint64) { n.raw.TransferLeader(to) }

// Step takes a message. Those that etcd ignores are of no interest.
func (n *Node[M]) Step(m M) { _ = n.step(n.raw, m) }

// Work does what the member asks for until it asks for no more.
func (n *Node[M]) Work(send func(Label, M)) error {
	for {
		ready, ok := n.Ready()
		if !ok {
			return nil
		}
		if err := n.Save(&ready); err != nil {
			return err
		}
		n.Send(&ready, send)
		n.Done(&ready)
	}
}

// Ready is what the member asks for next, false if that is nothing: it is to be saved,
// and the disk waited for if it MustSync; then it is to be sent, and done with.
func (n *Node[M]) Ready() (raft.Ready, bool) {
	if !n.raw.HasReady() {
		return raft.Ready{}, false
	}
	ready := n.raw.Ready()
	if s := ready.SoftState; s != nil {
		n.Lead, n.Leads = s.Lead, s.RaftState == raft.StateLeader
	}
	if !raft.IsEmptyHardState(ready.HardState) {
		n.Term = number(ready.Term)
	}
	return ready, true
}

// Save saves.
func (n *Node[M]) Save(ready *raft.Ready) error {
	if !raft.IsEmptyHardState(ready.HardState) {
		if err := n.storage.SetHardState(ready.HardState); err != nil {
			return err
		}
	}
	if len(ready.Entries) == 0 {
		return nil
	}
	return n.storage.Append(ready.Entries)
}

// Send sends. A leader may do so while it saves, for nothing that it says promises
// that it has saved anything.
func (n *Node[M]) Send(ready *raft.Ready, send func(Label, M)) {
	for i, m := range messages[M](ready) {
		send(label(ready, i), m)
	}
}

// Done has the member go on.
func (n *Node[M]) Done(ready *raft.Ready) { n.raw.Advance(*ready) }
