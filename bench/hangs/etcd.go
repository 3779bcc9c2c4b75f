// etcd/raft: a RawNode in a loop of its own, with three ways to save and to apply.

package hangs

import (
	"context"
	"errors"
	"io"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/wire"
)

// layout says what the loop of a node waits for.
type layout struct {
	// async is Config.AsyncStorageWrites: the loop waits neither for saves nor for entries to be applied.
	async bool
	// applies says that the loop applies entries itself, and so waits for that, too.
	applies bool
}

var (
	// oneLoop is the loop in the README of etcd/raft.
	oneLoop = layout{applies: true}
	// server is etcd's own: it waits for saves; entries are applied beside it.
	server = layout{}
	async  = layout{async: true}
)

// etcdNode is a member of etcd/raft.
type etcdNode struct {
	layout  layout
	applied Applied
	node    *Node
	to      []*Line
	raw     *raft.RawNode // owned by the loop
	storage *raft.MemoryStorage
	nodes   []*etcdNode
	leading atomic.Bool

	saving, applying *wire.Queue       // the threads beside the loop
	inbox            chan func() error // what the loop does next
	ended            chan struct{}
	loops            sync.WaitGroup
}

// foundEtcd starts nodes with a layout.
func foundEtcd(l layout) Founder {
	return func(net *Network, nodes []*Node) (group []Member, err error) {
		all := make([]*etcdNode, len(nodes))
		for i, n := range nodes {
			e := &etcdNode{layout: l, node: n, to: make([]*Line, len(nodes)), nodes: all, inbox: make(chan func() error), ended: make(chan struct{})}
			e.saving, e.applying = net.Queue(), net.Queue()
			for j, other := range nodes {
				e.to[j] = net.Line(n, other)
			}
			if e.storage, err = etcd.NewStorage(len(nodes)); err != nil {
				return nil, err
			}
			e.raw, err = raft.NewRawNode(&raft.Config{
				ID: uint64(i + 1), ElectionTick: etcd.ElectionTicks, HeartbeatTick: 1, Storage: e.storage, Applied: 1,
				MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256, PreVote: true, CheckQuorum: true, AsyncStorageWrites: l.async,
				Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
			})
			if err != nil {
				return nil, err
			}
			all[i], group = e, append(group, e)
		}
		for _, e := range all {
			e.loops.Go(e.loop)
		}
		return group, nil
	}
}

// loop ticks, and does what it is given. An error ends it, because etcd/raft refuses nothing else.
func (e *etcdNode) loop() {
	time.Sleep(e.node.Phase)
	ticks := time.NewTicker(Beat)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			e.raw.Tick()
		case what := <-e.inbox:
			_ = what() // a refused message or proposal is lost
		case <-e.ended:
			return
		}
		for e.raw.HasReady() {
			e.handle(e.raw.Ready())
		}
	}
}

// do has the loop do something, and waits until it begins, or the loop has ended.
func (e *etcdNode) do(what func() error) {
	select {
	case e.inbox <- what:
	case <-e.ended:
	}
}

func (e *etcdNode) handle(ready raft.Ready) {
	if s := ready.SoftState; s != nil {
		e.leading.Store(s.RaftState == raft.StateLeader)
	}
	if e.layout.async {
		e.send(ready.Messages)
		return
	}
	if e.leading.Load() { // it may send while it saves
		e.send(ready.Messages)
	}
	e.save(ready.Entries, ready.HardState, ready.MustSync)
	if !e.leading.Load() {
		e.send(ready.Messages)
	}
	if e.layout.applies {
		e.apply(ready.CommittedEntries)
	} else {
		e.applying.Put(func() { e.apply(ready.CommittedEntries) })
	}
	e.raw.Advance(ready)
}

// send sends messages, of which some may be for the threads beside the loop.
func (e *etcdNode) send(messages []*raftpb.Message) {
	for _, m := range messages {
		switch to := m.GetTo(); to {
		case raft.LocalAppendThread:
			e.saving.Put(func() {
				var state *raftpb.HardState
				if m.Term != nil || m.Vote != nil || m.Commit != nil {
					state = &raftpb.HardState{Term: m.Term, Vote: m.Vote, Commit: m.Commit}
				}
				e.save(m.GetEntries(), state, len(m.GetResponses()) > 0)
				e.send(m.GetResponses())
			})
		case raft.LocalApplyThread:
			e.applying.Put(func() {
				e.apply(m.GetEntries())
				e.send(m.GetResponses())
			})
		case uint64(e.node.Index + 1):
			e.do(func() error { return e.raw.Step(m) })
		default:
			other := e.nodes[to-1]
			e.to[to-1].Send(func() { other.do(func() error { return other.raw.Step(m) }) })
		}
	}
}

// save keeps entries and a hard state, and waits for the disk if they must be durable.
func (e *etcdNode) save(entries []*raftpb.Entry, state *raftpb.HardState, durable bool) {
	if durable {
		e.node.Save()
	}
	err := e.storage.Append(entries)
	if err == nil && !raft.IsEmptyHardState(state) {
		err = e.storage.SetHardState(state)
	}
	if err != nil {
		panic(err) // a storage in memory refuses only what breaks its rules
	}
}

func (e *etcdNode) apply(entries []*raftpb.Entry) {
	for _, entry := range entries {
		e.node.Apply()
		e.applied.Apply(entry.GetData())
	}
}

// Leads reads the last Ready.
func (e *etcdNode) Leads() bool { return e.leading.Load() }

// Write proposes an entry.
func (e *etcdNode) Write(ctx context.Context) error {
	return e.applied.Write(ctx, func(entry []byte) error {
		return attempt(ctx, func() error {
			result := make(chan error, 1)
			e.do(func() error {
				err := e.raw.Propose(entry)
				result <- err
				return err
			})
			select {
			case err := <-result:
				return err
			case <-e.ended:
				return errors.New("hangs: the node has ended")
			}
		})
	})
}

// HandOver transfers the leadership to the follower that has the most entries.
func (e *etcdNode) HandOver() {
	go e.do(func() error {
		best, match := uint64(0), uint64(0)
		for id, p := range e.raw.Status().Progress {
			if id != uint64(e.node.Index+1) && p.Match >= match {
				best, match = id, p.Match
			}
		}
		e.raw.TransferLeader(best)
		return nil
	})
}

// Close ends the loop.
func (e *etcdNode) Close() {
	close(e.ended)
	e.loops.Wait()
}
