// etcd's side: a RawNode for every member of every group, driven by one loop. The hosts tick in
// turn, once in a heartbeat each, and messages are delivered before the next host ticks. Time is
// only counted, so the loop is not charged for timers or waits: a tick takes its share of a
// heartbeat, or as long as its work if that takes longer. It works on one group at a time, whose
// data are then in the cache.

package groups

import (
	"context"
	"runtime"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/measure"
)

// Etcd measures the version of etcd/raft that is linked in.
func Etcd(ctx context.Context, t Task) (Cost, error) {
	return CostOf(ctx, t, etcdOf((*raft.RawNode).Step))
}

// loop drives all groups. M is the linked version's message.
type loop[M any] struct {
	seen            *Seen
	groups          [][]*etcd.Node[M] // by group, then by host
	disks           []*raft.MemoryStorage
	next            int           // the next host to tick
	now             time.Duration // when the present tick began
	used            time.Duration // CPU time until then
	flying, arrived []addressed[M]
}

// addressed is a message within the group that the loop works on.
type addressed[M any] struct {
	to      uint64
	message M
}

func etcdOf[M any](step func(*raft.RawNode, M) error) Founder {
	return func(ctx context.Context, names []string) (Subject, error) {
		l := &loop[M]{seen: NewSeen(len(names)), groups: make([][]*etcd.Node[M], len(names)), used: measure.CPU()}
		for g := range l.groups {
			for i := range nodes {
				disk, err := etcd.NewStorage(Hosts)
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
			first := l.groups[g][Host(g)]
			if err := first.Campaign(); err != nil {
				return nil, err
			}
			if err := l.work(g, first); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		l.now = l.worked()
		return l, nil
	}
}

// Settle does nothing: the groups have been led since they were founded.
func (l *loop[M]) Settle(ctx context.Context) error { return ctx.Err() }

// Recover ticks until all living hosts know the leader of every group.
func (l *loop[M]) Recover(ctx context.Context) error {
	for g := range l.groups {
		for !l.seen.Led(g) {
			if err := l.tick(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Idle lets ticks pass, as many as there should be in this time.
func (l *loop[M]) Idle(ctx context.Context, d time.Duration) error {
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
	l.next = (host + 1) % Hosts
	l.used = measure.CPU()
	for g := range l.groups {
		if host == l.seen.dead {
			break
		}
		l.groups[g][host].Tick()
		if err := l.work(g, l.groups[g][host]); err != nil {
			return err
		}
	}
	l.now += max(turn, l.worked())
	return ctx.Err()
}

// worked returns how long the present tick has worked, if its groups are spread over all processors.
func (l *loop[M]) worked() time.Duration {
	return (measure.CPU() - l.used) / time.Duration(runtime.GOMAXPROCS(0))
}

// work handles each Ready of a member, and carries messages within its group until there are
// none.
func (l *loop[M]) work(g int, n *etcd.Node[M]) error {
	if err := l.handle(n); err != nil {
		return err
	}
	for len(l.flying) > 0 {
		l.flying, l.arrived = l.arrived[:0], l.flying
		for i := range l.arrived {
			to := l.groups[g][l.arrived[i].to-1]
			to.Step(l.arrived[i].message)
			if err := l.handle(to); err != nil {
				return err
			}
		}
		clear(l.arrived)
	}
	l.look(g)
	return nil
}

// handle handles each Ready of a member. Each that has something to save is a sync of its own.
func (l *loop[M]) handle(n *etcd.Node[M]) error {
	for {
		ready, ok := n.Ready()
		if !ok {
			return nil
		}
		if ready.MustSync {
			l.seen.Syncs.Add(1)
			l.seen.Records.Add(1)
		}
		if err := n.Save(&ready); err != nil {
			return err
		}
		n.Send(&ready, l.post)
		n.Done(&ready)
	}
}

// look notes what the members of a group know.
func (l *loop[M]) look(g int) {
	for i, n := range l.groups[g] {
		if leader := int(n.Lead) - 1; leader != leaderOf(l.seen.known[i][g].Load()) {
			l.seen.Learn(i, g, leader, l.now+l.worked())
		}
	}
}

func (l *loop[M]) post(to etcd.Label, m M) {
	l.seen.Messages.Add(1)
	if int(to.To)-1 != l.seen.dead {
		l.flying = append(l.flying, addressed[M]{to.To, m})
	}
}

// Silence makes the last host die: it no longer ticks.
func (l *loop[M]) Silence() error {
	l.seen.Bury(dying, l.now)
	return nil
}

// Seen is what is seen of the groups.
func (l *loop[M]) Seen() *Seen { return l.seen }

// Stop releases the members, but not their storage.
func (l *loop[M]) Stop() error {
	l.groups, l.flying, l.arrived = nil, nil, nil
	return nil
}
