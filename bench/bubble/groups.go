// dragonboat with many idle groups, in real time.

package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/plugin/tan"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/lni/vfs"

	"github.com/hustings/hustings/bench/groups"
)

// town is three NodeHosts.
type town struct {
	began time.Time
	seen  *groups.Seen
	hosts []*resident
}

// resident is a NodeHost of a town. It is its own transport.
type resident struct {
	*dragonboat.NodeHost
	exchange
	town  *town
	index int
}

// measureGroups measures quiet groups. Their failover is not measured, because a quiet group does not notice
// that its leader has died.
func measureGroups(ctx context.Context, t groups.Task) (groups.Cost, error) {
	return groups.IdleCostOf(ctx, t, foundTown)
}

func foundTown(ctx context.Context, names []string) (groups.Subject, error) {
	t := &town{began: time.Now(), seen: groups.NewSeen(len(names))}
	targets := map[uint64]dragonboat.Target{}
	for i := range groups.Hosts {
		targets[uint64(i+1)] = address(i)
		h := &resident{town: t, index: i}
		t.hosts = append(t.hosts, h)
		var err error
		if h.NodeHost, err = dragonboat.NewNodeHost(h.config()); err != nil {
			return nil, errors.Join(err, t.Stop())
		}
	}
	for g := range names {
		for i, h := range t.hosts {
			err := h.StartReplica(targets, false, idleMachine, config.Config{
				ReplicaID: uint64(i + 1), ShardID: uint64(g + 1), CheckQuorum: true, PreVote: true, Quiesce: true,
				ElectionRTT: uint64(groups.Detection / tick), HeartbeatRTT: 1,
			})
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, errors.Join(err, t.Stop())
			}
		}
	}
	return t, nil
}

const tick = 100 * time.Millisecond

func (h *resident) config() config.NodeHostConfig {
	return config.NodeHostConfig{
		NodeHostDir: "/" + address(h.index), RaftAddress: address(h.index), RTTMillisecond: uint64(tick.Milliseconds()),
		RaftEventListener: h,
		Expert: config.ExpertConfig{
			FS: vfs.NewMem(), TransportFactory: h, LogDBFactory: tan.Factory, LogDB: config.GetTinyMemLogDBConfig(),
			Engine: config.EngineConfig{ExecShards: 1, CommitShards: 1, ApplyShards: 1, SnapshotShards: 1, CloseShards: 1},
		},
	}
}

// LeaderUpdated notes what a member knows.
func (h *resident) LeaderUpdated(led raftio.LeaderInfo) {
	h.town.seen.Learn(h.index, int(led.ShardID)-1, int(led.LeaderID)-1, time.Since(h.town.began))
}

// Create makes the transport of the host, which is its own.
func (h *resident) Create(_ config.NodeHostConfig, handle raftio.MessageHandler, _ raftio.ChunkHandler) raftio.ITransport {
	return &calls{h, handle}
}

// Validate accepts every address.
func (h *resident) Validate(string) bool { return true }

// Settle waits until all groups are led, and quiet.
func (t *town) Settle(ctx context.Context) error {
	if err := t.seen.Await(ctx); err != nil {
		return err
	}
	for {
		before := t.seen.Messages.Load()
		if err := t.Idle(ctx, 2*tick); err != nil {
			return err
		}
		if t.seen.Messages.Load() == before {
			return nil
		}
	}
}

// Idle lets time pass.
func (t *town) Idle(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Silence and Recover are never called.

func (t *town) Silence() error                { return errUnexpected }
func (t *town) Recover(context.Context) error { return errUnexpected }

// Seen is what is seen of the groups.
func (t *town) Seen() *groups.Seen { return t.seen }

// Stop ends the hosts.
func (t *town) Stop() error {
	for _, h := range t.hosts {
		if h.NodeHost != nil {
			h.Close()
		}
	}
	t.hosts = nil
	return nil
}

// idle is a state machine to which nothing happens.
type idle struct{}

func idleMachine(uint64, uint64) statemachine.IStateMachine { return idle{} }

func (idle) Update(statemachine.Entry) (statemachine.Result, error) {
	return statemachine.Result{}, nil
}
func (idle) Lookup(any) (any, error) { return nil, errUnexpected }
func (idle) Close() error            { return nil }
func (idle) SaveSnapshot(io.Writer, statemachine.ISnapshotFileCollection, <-chan struct{}) error {
	return errUnexpected
}

func (idle) RecoverFromSnapshot(io.Reader, []statemachine.SnapshotFile, <-chan struct{}) error {
	return errUnexpected
}
