// dragonboat, with its log in memory and its messages over lines.

package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/logger"
	"github.com/lni/dragonboat/v4/plugin/tan"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/lni/vfs"

	"github.com/hustings/hustings/bench/hangs"
)

// shard is the only one.
const shard = 1

// host is a member: a NodeHost with one replica. It is its own transport.
type host struct {
	*dragonboat.NodeHost
	applied hangs.Applied
	net     *hangs.Network
	node    *hangs.Node
	all     []*host

	mu     sync.RWMutex
	handle raftio.MessageHandler // nil: messages are lost, because it does not run
}

// quieten turns dragonboat's loggers off.
func quieten() {
	for _, part := range []string{"dragonboat", "raft", "rsm", "transport", "tan", "logdb", "config", "settings", "server", "registry", "raftpb", "utils"} {
		logger.GetLogger(part).SetLevel(logger.CRITICAL)
	}
}

// found starts a NodeHost on each node.
func found(net *hangs.Network, nodes []*hangs.Node) (group []hangs.Member, err error) {
	all, targets := make([]*host, len(nodes)), map[uint64]dragonboat.Target{}
	for i, n := range nodes {
		all[i], targets[uint64(i+1)] = &host{net: net, node: n, all: all}, address(i)
	}
	began := time.Now()
	for _, h := range slices.SortedFunc(slices.Values(all), func(a, b *host) int { return cmp.Compare(a.node.Phase, b.node.Phase) }) {
		time.Sleep(time.Until(began.Add(h.node.Phase)))
		if err := h.start(targets); err != nil {
			return nil, err
		}
	}
	for _, h := range all {
		group = append(group, h)
	}
	return group, nil
}

const port = ":1"

// address is a node's, in the form that dragonboat asks for.
func address(node int) string { return "node" + strconv.Itoa(node) + port }

// nodeAt is the node that has an address.
func nodeAt(address string) (int, error) {
	return strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(address, "node"), port))
}

func (h *host) start(targets map[uint64]dragonboat.Target) (err error) {
	c := config.NodeHostConfig{
		NodeHostDir: "/" + strconv.Itoa(h.node.Index), RaftAddress: address(h.node.Index), RTTMillisecond: uint64(hangs.Beat.Milliseconds()),
		Expert: config.ExpertConfig{
			FS: vfs.NewMem(), TransportFactory: h, LogDBFactory: logs{h.node}, LogDB: config.GetTinyMemLogDBConfig(),
			Engine: config.EngineConfig{ExecShards: 1, CommitShards: 1, ApplyShards: 1, SnapshotShards: 1, CloseShards: 1},
		},
	}
	if h.NodeHost, err = dragonboat.NewNodeHost(c); err != nil {
		return err
	}
	return h.StartReplica(targets, false, func(uint64, uint64) statemachine.IStateMachine { return machine{h} }, config.Config{
		ReplicaID: uint64(h.node.Index + 1), ShardID: shard, CheckQuorum: true, PreVote: true,
		ElectionRTT: uint64(hangs.Detection / hangs.Beat), HeartbeatRTT: 1,
	})
}

// Leads asks the library.
func (h *host) Leads() bool {
	leader, _, known, err := h.GetLeaderID(shard)
	return err == nil && known && leader == uint64(h.node.Index+1)
}

// Write proposes an entry.
func (h *host) Write(ctx context.Context) error {
	return h.applied.Write(ctx, func(entry []byte) error {
		_, err := h.Propose(h.GetNoOPSession(shard), entry, hangs.Hopeless)
		return err
	})
}

// HandOver transfers the leadership to the next member.
func (h *host) HandOver() {
	_ = h.RequestLeaderTransfer(shard, uint64((h.node.Index+1)%len(h.all)+1)) // the watchdog sees whether it succeeds
}

// machine is a member's state machine.
type machine struct{ *host }

// Update applies an entry.
func (m machine) Update(entry statemachine.Entry) (statemachine.Result, error) {
	m.node.Apply()
	m.applied.Apply(entry.Cmd)
	return statemachine.Result{}, nil
}

// The other methods are never called, because nobody reads, and the log stays short.

func (m machine) Lookup(any) (any, error) { return nil, errUnexpected }
func (m machine) Close() error            { return nil }
func (m machine) SaveSnapshot(io.Writer, statemachine.ISnapshotFileCollection, <-chan struct{}) error {
	return errUnexpected
}

func (m machine) RecoverFromSnapshot(io.Reader, []statemachine.SnapshotFile, <-chan struct{}) error {
	return errUnexpected
}

var errUnexpected = errors.New("bubble: nothing reads from the state machine or copies it")

// logs makes logs on a node's disk.
type logs struct{ node *hangs.Node }

// Create makes a log.
func (l logs) Create(c config.NodeHostConfig, full config.LogDBCallback, folders, walFolders []string) (raftio.ILogDB, error) {
	db, err := tan.Factory.Create(c, full, folders, walFolders)
	return logDB{db, l.node}, err
}

// Name is that of tan, which keeps the log.
func (l logs) Name() string { return tan.Factory.Name() }

// logDB is a log on a node's disk.
type logDB struct {
	raftio.ILogDB
	node *hangs.Node
}

// SaveRaftState saves when the disk does.
func (l logDB) SaveRaftState(updates []raftpb.Update, worker uint64) error {
	l.node.Save()
	return l.ILogDB.SaveRaftState(updates, worker)
}
