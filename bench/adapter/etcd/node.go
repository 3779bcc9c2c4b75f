// Package etcd drives a RawNode of etcd/raft as a careful user would who needs an election and
// no log: it handles everything in Ready in order, and does nothing that is not needed.
//
// It compiles with version 3.7 and with 3.6, whose messages have other types: versions.go hides
// the differences.
package etcd

import (
	"go.etcd.io/raft/v3"
)

// Newer and Older are the versions. A program can contain only one; bench contains the newer.
const (
	Newer = "etcd/raft 3.7"
	Older = "etcd/raft 3.6"
)

// ElectionTicks is the election time-out that etcd recommends, with a heartbeat every tick.
const ElectionTicks = 10

// Node is one member of one group. M is the linked version's message.
type Node[M any] struct {
	raw     *raft.RawNode
	storage *raft.MemoryStorage
	step    func(*raft.RawNode, M) error
	// By the last Ready, Term is the newest term that the member knows, Lead the
	// leader (0: none), and Leads says whether it leads itself.
	Term  uint64
	Lead  uint64
	Leads bool
}

// NewStorage makes the storage of a member of a group with the voters 1 to size. It begins with
// a snapshot that holds the voters, as etcd recommends.
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

// NewNode makes the member with an id over its storage. Step is always (*raft.RawNode).Step, from
// which M is inferred. changes modify the configuration.
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

// Tick lets one tick pass. Call Work for its effects.
func (n *Node[M]) Tick() { n.raw.Tick() }

// Campaign makes the member stand for election.
func (n *Node[M]) Campaign() error { return n.raw.Campaign() }

// TransferLeader makes a leader hand over to another member.
func (n *Node[M]) TransferLeader(to uint64) { n.raw.TransferLeader(to) }

// Step handles a message. Errors mean that etcd ignores it.
func (n *Node[M]) Step(m M) { _ = n.step(n.raw, m) }

// Work handles each Ready of the member until there is none.
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

// Ready returns the member's next Ready, false if there is none. Save it, and wait for the disk
// if it MustSync; then Send it, and call Done.
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

// Save saves a Ready.
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

// Send sends the messages of a Ready. A leader may do so while it saves, because its messages do
// not promise that anything is saved.
func (n *Node[M]) Send(ready *raft.Ready, send func(Label, M)) {
	for i, m := range messages[M](ready) {
		send(label(ready, i), m)
	}
}

// Done lets the member go on.
func (n *Node[M]) Done(ready *raft.Ready) { n.raw.Advance(*ready) }
