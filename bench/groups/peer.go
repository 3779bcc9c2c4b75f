// etcd's side: a RawNode for every member of every group, driven by one loop in
// ticks of a heartbeat. No time passes but in ticks, so the loop is charged for no
// timer and no wait.

package groups

import (
	"context"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/etcd"
)

type peer struct {
	storages []*raft.MemoryStorage
	groups   [][]*etcd.Node[*raftpb.Message] // by group, then by host
	silent   int                             // the host that is not there, from 1; 0: all are
	flying   []addressed
	arrived  []addressed
}

// addressed is a message and the group that it belongs to.
type addressed struct {
	group   int
	message *raftpb.Message
}

func startPeer(names []string) (subject, error) {
	p := &peer{groups: make([][]*etcd.Node[*raftpb.Message], len(names))}
	for g := range p.groups {
		for i := range nodes {
			storage, err := etcd.NewStorage(len(nodes))
			if err != nil {
				return nil, err
			}
			node, err := etcd.NewNode((*raft.RawNode).Step, uint64(i+1), storage)
			if err != nil {
				return nil, err
			}
			p.storages = append(p.storages, storage)
			p.groups[g] = append(p.groups[g], node)
		}
		if err := p.groups[g][g%len(nodes)].Campaign(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// settle ticks until all hosts that are there know the leader of every group.
func (p *peer) settle(ctx context.Context) (passed time.Duration, err error) {
	for ; !p.led(); passed += beat {
		if err := p.tick(ctx); err != nil {
			return 0, err
		}
	}
	return passed, nil
}

func (p *peer) led() bool {
	for _, group := range p.groups {
		for i, n := range group {
			if here := i+1 != p.silent; here && (n.Lead == 0 || int(n.Lead) == p.silent) {
				return false
			}
		}
	}
	return true
}

// idle lets ticks pass.
func (p *peer) idle(ctx context.Context, d time.Duration) error {
	for ; d > 0; d -= beat {
		if err := p.tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tick is one turn of the loop: all members tick, and then messages go back and
// forth until there are none.
func (p *peer) tick(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for g, group := range p.groups {
		for i, n := range group {
			if i+1 == p.silent {
				continue
			}
			n.Tick()
			if err := p.work(g, n); err != nil {
				return err
			}
		}
	}
	for len(p.flying) > 0 {
		p.flying, p.arrived = p.arrived[:0], p.flying
		for _, a := range p.arrived {
			n := p.groups[a.group][a.message.GetTo()-1]
			n.Step(a.message)
			if err := p.work(a.group, n); err != nil {
				return err
			}
		}
		clear(p.arrived)
	}
	return nil
}

func (p *peer) work(g int, n *etcd.Node[*raftpb.Message]) error {
	return n.Work(func(l etcd.Label, m *raftpb.Message) {
		if int(l.To) != p.silent {
			p.flying = append(p.flying, addressed{g, m})
		}
	})
}

// silence has the last host die: nobody lets it tick any more.
func (p *peer) silence() error {
	p.silent = len(nodes)
	return nil
}

// stop lets the members go. What they kept on disk stays.
func (p *peer) stop() error {
	p.groups, p.flying, p.arrived = nil, nil, nil
	return nil
}
