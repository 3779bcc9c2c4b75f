// The peer: client-go's leader election with its own lock, a Lease, over a server in
// memory.

package main

import (
	"context"
	"strconv"
	"sync"

	coordination "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// peerName is the peer's name in the table.
const peerName = "client-go 0.37.2"

// clientGo is the peer.
func clientGo() side {
	return side{peerName, false, func() (enter, error) {
		shared := new(kubernetes)
		return func(ctx context.Context, e entry) (*candidate, error) {
			l := newLink(e.deaf)
			lock := shared.lock("lease", strconv.Itoa(e.number), l)
			el, err := leaderelection.NewLeaderElector(e.timing.theirs(lock, func(ctx context.Context) { e.record.lead(ctx, e.number) }))
			if err != nil {
				return nil, err
			}
			return takePart(silenced(ctx), l, el.Run), nil
		}, nil
	}}
}

// theirs converts the timing to client-go's configuration.
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

// silenced turns off client-go's log.
func silenced(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// kubernetes is a server's data: the leases, each with its version.
type kubernetes struct {
	mu     sync.Mutex
	leases map[string]coordination.Lease
}

// lock is client-go's own lock, over a link to the server.
func (k *kubernetes) lock(name, identity string, l *link) resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta: meta.ObjectMeta{Name: name}, Client: leases{server: k, link: l},
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

func (k *kubernetes) get(name string) (*coordination.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, ok := k.leases[name]
	if !ok {
		return nil, errors.NewNotFound(coordination.Resource("leases"), name)
	}
	return &l, nil
}

// put replaces the version that l names; a new lease names none.
func (k *kubernetes) put(l coordination.Lease) (*coordination.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leases == nil {
		k.leases = make(map[string]coordination.Lease)
	}
	if k.leases[l.Name].ResourceVersion != l.ResourceVersion {
		return nil, errors.NewConflict(coordination.Resource("leases"), l.Name, nil)
	}
	version, _ := strconv.ParseUint(l.ResourceVersion, 10, 64) // none is 0
	l.ResourceVersion = strconv.FormatUint(version+1, 10)
	k.leases[l.Name] = l
	return &l, nil
}

// leases is the client of one candidate, with the only methods that the lock calls.
type leases struct {
	client.LeaseInterface

	server *kubernetes
	link   *link
}

func (c leases) Leases(string) client.LeaseInterface { return c }

func (c leases) Get(ctx context.Context, name string, _ meta.GetOptions) (*coordination.Lease, error) {
	return read(ctx, c.link, func() (*coordination.Lease, error) { return c.server.get(name) })
}

func (c leases) Create(ctx context.Context, l *coordination.Lease, _ meta.CreateOptions) (*coordination.Lease, error) {
	return write(ctx, c.link, func() (*coordination.Lease, error) { return c.server.put(*l) })
}

// Update renews a leader's lock, or takes the lock for another candidate.
func (c leases) Update(ctx context.Context, l *coordination.Lease, _ meta.UpdateOptions) (*coordination.Lease, error) {
	return renew(ctx, c.link, 1, func() (*coordination.Lease, error) { return c.server.put(*l) })
}
