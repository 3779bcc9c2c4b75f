// etcd's side: a RawNode for every member of every group, driven by one loop. The hosts tick in
// turn, once in a heartbeat each, and messages are delivered before the next host ticks. Time is
// only counted in ticks, so the loop is not charged for timers or waits. It works on one group at
// a time, whose data are then in the cache.

package groups

import (
	"context"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
)

// Etcd measures the version of etcd/raft that is linked in.
func Etcd(ctx context.Context, t Task) (Cost, error) {
	return costOf(ctx, t, etcdOf((*raft.RawNode).Step))
}

// loop drives all groups. M is the linked version's message.
type loop[M any] struct {
	groups          [][]*etcd.Node[M] // by group, then by host
	disks           []*raft.MemoryStorage
	silent          int // the host that is dead, from 1; 0: none is
	next            int // the next host to tick
	flying, arrived []addressed[M]
}

// addressed is a message within the group that the loop works on.
type addressed[M any] struct {
	to      uint64
	message M
}

func etcdOf[M any](step func(*raft.RawNode, M) error) founder {
	return func(names []string) (subject, error) {
		l := &loop[M]{groups: make([][]*etcd.Node[M], len(names))}
		for g := range l.groups {
			for i := range nodes {
				disk, err := etcd.NewStorage(hosts)
				if err != nil {
					return nil, err
				}
				node, err := etcd.NewNode(step, uint64(i+1), disk)
				if err != nil {
					return nil, err
				}
				l.disks = append(l.disks, disk)
				l.groups[g] = append(l.groups[g], node)
			}
			first := l.groups[g][g%hosts]
			if err := first.Campaign(); err != nil {
				return nil, err
			}
			if err := l.work(l.groups[g], first); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
}

// settle ticks until all living hosts know the leader of every group.
func (l *loop[M]) settle(ctx context.Context) (passed time.Duration, err error) {
	for ; !l.led(); passed += turn {
		if err := l.tick(ctx); err != nil {
			return 0, err
		}
	}
	return passed, nil
}

func (l *loop[M]) led() bool {
	for _, group := range l.groups {
		for i, n := range group {
			if here := i+1 != l.silent; here && (n.Lead == 0 || int(n.Lead) == l.silent) {
				return false
			}
		}
	}
	return true
}

// idle lets ticks pass.
func (l *loop[M]) idle(ctx context.Context, d time.Duration) error {
	for ; d > 0; d -= turn {
		if err := l.tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tick lets the members of the next host tick, and handles everything that follows.
func (l *loop[M]) tick(ctx context.Context) error {
	host := l.next
	l.next = (host + 1) % hosts
	if host+1 == l.silent {
		return ctx.Err()
	}
	for _, group := range l.groups {
		group[host].Tick()
		if err := l.work(group, group[host]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// work handles each Ready of a member, and carries messages within its group until there are
// none.
func (l *loop[M]) work(group []*etcd.Node[M], n *etcd.Node[M]) error {
	if err := n.Work(l.post); err != nil {
		return err
	}
	for len(l.flying) > 0 {
		l.flying, l.arrived = l.arrived[:0], l.flying
		for i := range l.arrived {
			to := group[l.arrived[i].to-1]
			to.Step(l.arrived[i].message)
			if err := to.Work(l.post); err != nil {
				return err
			}
		}
		clear(l.arrived)
	}
	return nil
}

func (l *loop[M]) post(to etcd.Label, m M) {
	if int(to.To) != l.silent {
		l.flying = append(l.flying, addressed[M]{to.To, m})
	}
}

// silence makes the last host die: it no longer ticks.
func (l *loop[M]) silence() error {
	l.silent = hosts
	return nil
}

// stop releases the members, but not their storage.
func (l *loop[M]) stop() error {
	l.groups, l.flying, l.arrived = nil, nil, nil
	return nil
}
