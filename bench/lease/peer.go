// The peer: client-go's leader election, over a lock in memory that does what the
// server of Kubernetes does with a Lease.

package main

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// peerName is what the table says.
const peerName = "client-go 0.37.2"

// clientGo is the peer.
func clientGo() side {
	return side{peerName, func() (enter, error) {
		shared := new(locks)
		return func(ctx context.Context, e entry) (*candidate, error) {
			l := newLink(e.deaf)
			lock := &lock{shared: shared, name: "lease", identity: strconv.Itoa(e.number), link: l}
			el, err := leaderelection.NewLeaderElector(e.timing.theirs(lock, func(ctx context.Context) { e.record.lead(ctx, e.number) }))
			if err != nil {
				return nil, err
			}
			return takePart(silenced(ctx), l, el.Run), nil
		}, nil
	}}
}

// theirs is the timing in client-go's words.
func (t timing) theirs(lock resourcelock.Interface, lead func(context.Context)) leaderelection.LeaderElectionConfig {
	deadline := t.patience
	if deadline == 0 {
		deadline = t.ttl * 2 / 3
	}
	return leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: t.ttl, RenewDeadline: deadline, RetryPeriod: t.renew, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}},
	}
}

// silenced has client-go log nothing.
func silenced(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// locks is what the server holds: records, with their versions.
type locks struct {
	mu      sync.Mutex
	records map[string]versioned
}

type versioned struct {
	record  resourcelock.LeaderElectionRecord
	version uint64 // 0: there is none
}

var kind = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *locks) get(name string) (versioned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.records[name]
	if !ok {
		return v, errors.NewNotFound(kind, name)
	}
	return v, nil
}

// put replaces the version that the caller has seen.
func (s *locks) put(name string, seen uint64, r resourcelock.LeaderElectionRecord) (versioned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records == nil {
		s.records = make(map[string]versioned)
	}
	if s.records[name].version != seen {
		return versioned{}, errors.NewConflict(kind, name, nil)
	}
	v := versioned{r, seen + 1}
	s.records[name] = v
	return v, nil
}

// lock is one candidate's view of a record. As client-go's own locks it is used by one
// goroutine.
type lock struct {
	shared         *locks
	name, identity string
	link           *link
	seen           versioned
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	seen, err := read(ctx, l.link, func() (versioned, error) { return l.shared.get(l.name) })
	if err != nil {
		return nil, nil, err
	}
	l.seen = seen
	raw, err := json.Marshal(seen.record)
	return &seen.record, raw, err
}

func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	seen, err := write(ctx, l.link, func() (versioned, error) { return l.shared.put(l.name, 0, r) })
	if err == nil {
		l.seen = seen
	}
	return err
}

// Update is how a leader renews, and how others take the lock.
func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	seen, err := renew(ctx, l.link, 1, func() (versioned, error) { return l.shared.put(l.name, l.seen.version, r) })
	if err == nil {
		l.seen = seen
	}
	return err
}

func (*lock) RecordEvent(string) {}

func (l *lock) Identity() string { return l.identity }

func (l *lock) Describe() string { return l.name }

var _ resourcelock.Interface = (*lock)(nil)
