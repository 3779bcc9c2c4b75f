// hashicorp/raft's side: a Raft for each member, with its goroutines and timers, over its transport
// and stores in memory.

package groups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/hustings/hustings/bench/measure"
)

type rafts struct {
	began   time.Time
	seen    *Seen
	silent  atomic.Bool    // the host that dies is dead
	members [][]*raft.Raft // by group, then by host
	stores  []*raft.InmemStore
	lines   []*line
}

func hashicorpOf(ctx context.Context, names []string) (Subject, error) {
	r := &rafts{began: time.Now(), seen: NewSeen(len(names))}
	for g := range names {
		if err := errors.Join(ctx.Err(), r.found(g)); err != nil {
			return nil, errors.Join(err, r.Stop())
		}
	}
	return r, nil
}

// found starts the members of a group.
func (r *rafts) found(group int) error {
	var servers raft.Configuration
	lines := make([]*line, Hosts)
	for i, node := range nodes {
		address, transport := raft.NewInmemTransportWithTimeout("", Detection)
		lines[i] = &line{InmemTransport: transport, rafts: r, host: i}
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(node), Address: address})
	}
	r.lines, r.members = append(r.lines, lines...), append(r.members, nil)
	for i, l := range lines {
		for _, other := range lines {
			l.Connect(other.LocalAddr(), other.InmemTransport)
		}
		store := raft.NewInmemStore()
		r.stores = append(r.stores, store)
		member, err := r.start(group, i, &saved{store, r.seen}, l, servers)
		if err != nil {
			return err
		}
		r.members[group] = append(r.members[group], member)
	}
	return nil
}

func (r *rafts) start(group, host int, store *saved, l *line, servers raft.Configuration) (*raft.Raft, error) {
	config := raft.DefaultConfig()
	config.LocalID, config.Logger = raft.ServerID(nodes[host]), hclog.NewNullLogger()
	config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = Detection, Detection, Detection
	snapshots := raft.NewDiscardSnapshotStore()
	if err := raft.BootstrapCluster(config, store, store, snapshots, l, servers); err != nil {
		return nil, err
	}
	member, err := raft.NewRaft(config, nothing{}, store, store, snapshots, l)
	if err != nil {
		return nil, err
	}
	member.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		if led, is := o.Data.(raft.LeaderObservation); is {
			r.seen.Learn(host, group, slices.Index(nodes[:], string(led.LeaderID)), time.Since(r.began))
		}
		return false
	}))
	return member, nil
}

// Settle waits until all groups are led, and hands each over to the member that should lead it.
func (r *rafts) Settle(ctx context.Context) error {
	for g, members := range r.members {
		for {
			if err := await(ctx, func() bool { return r.seen.Led(g) }); err != nil {
				return err
			}
			leader, _ := r.seen.leader(g)
			if leader == Host(g) {
				break
			}
			if leader == nobody {
				continue
			}
			to := Host(g)
			_ = members[leader].LeadershipTransferToServer(raft.ServerID(nodes[to]), r.lines[g*Hosts+to].LocalAddr()).Error() // tried again
		}
	}
	return nil
}

// Idle lets time pass.
func (r *rafts) Idle(ctx context.Context, d time.Duration) error { return measure.Pass(ctx, d) }

// Recover waits until all groups are led again.
func (r *rafts) Recover(ctx context.Context) error { return r.seen.Await(ctx) }

// Seen is what is seen of the groups.
func (r *rafts) Seen() *Seen { return r.seen }

// Silence makes the last host die, and ends its members, so that they cost nothing.
func (r *rafts) Silence() error {
	r.silent.Store(true)
	r.seen.Bury(dying, time.Since(r.began))
	var ending []raft.Future
	for _, members := range r.members {
		ending = append(ending, members[dying].Shutdown())
	}
	return wait(ending)
}

// Stop ends all members, but keeps their stores.
func (r *rafts) Stop() error {
	var ending []raft.Future
	for _, members := range r.members {
		for _, m := range members {
			ending = append(ending, m.Shutdown())
		}
	}
	err := wait(ending)
	for _, l := range r.lines {
		err = errors.Join(err, l.Close())
	}
	r.members, r.lines = nil, nil
	return err
}

func wait(all []raft.Future) (err error) {
	for _, f := range all {
		err = errors.Join(err, f.Error())
	}
	return err
}

// line is the transport of a member. It counts requests and answers.
type line struct {
	*raft.InmemTransport
	rafts *rafts
	host  int
}

// call counts a request and its answer. A call from or to the dead host returns after a detection time.
func (l *line) call(to raft.ServerID, do func() error) error {
	if l.rafts.silent.Load() && (l.host == dying || string(to) == nodes[dying]) {
		l.rafts.seen.Messages.Add(1)
		time.Sleep(Detection)
		return fmt.Errorf("groups: %s is silent", to)
	}
	l.rafts.seen.Messages.Add(2)
	return do()
}

// AppendEntriesPipeline makes the library send entries one by one, so that they are counted.
func (l *line) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries sends entries, or a heartbeat.
func (l *line) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	return l.call(id, func() error { return l.InmemTransport.AppendEntries(id, to, q, a) })
}

// RequestVote asks for a vote.
func (l *line) RequestVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse) error {
	return l.call(id, func() error { return l.InmemTransport.RequestVote(id, to, q, a) })
}

// RequestPreVote asks for a pre-vote.
func (l *line) RequestPreVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest, a *raft.RequestPreVoteResponse) error {
	return l.call(id, func() error { return l.InmemTransport.RequestPreVote(id, to, q, a) })
}

// saved counts the writes to a store.
type saved struct {
	*raft.InmemStore
	seen *Seen
}

func (s *saved) count() {
	s.seen.Syncs.Add(1)
	s.seen.Records.Add(1)
}

// StoreLog saves an entry.
func (s *saved) StoreLog(l *raft.Log) error {
	s.count()
	return s.InmemStore.StoreLog(l)
}

// StoreLogs saves entries.
func (s *saved) StoreLogs(all []*raft.Log) error {
	s.count()
	return s.InmemStore.StoreLogs(all)
}

// Set saves a value.
func (s *saved) Set(key, value []byte) error {
	s.count()
	return s.InmemStore.Set(key, value)
}

// SetUint64 saves a number.
func (s *saved) SetUint64(key []byte, value uint64) error {
	s.count()
	return s.InmemStore.SetUint64(key, value)
}

// nothing is a state machine without state.
type nothing struct{}

// Apply does nothing.
func (nothing) Apply(*raft.Log) any { return nil }

// Snapshot is never called, because there is nothing to keep.
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("nothing to keep") }

// Restore ignores the snapshot.
func (nothing) Restore(r io.ReadCloser) error { return r.Close() }
