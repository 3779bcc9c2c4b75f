// etcd's members, under the same virtual time: each ticks on its own, and does nothing
// else while it saves, as ours.

package churn

import (
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/etcd"
)

// peer is a group of its members. M is the message of whatever version this is.
type peer[M any] struct {
	world   *world
	members []*peerMember[M]
	stopped time.Duration // when the leader that hands over began to refuse proposals
}

type peerMember[M any] struct {
	group   *peer[M]
	node    *etcd.Node[M]
	busy    bool
	waiting []func()
}

func newPeer(w *world, size int) (cluster, error) { return foundPeer((*raft.RawNode).Step, w, size) }

func foundPeer[M any](step func(*raft.RawNode, M) error, w *world, size int) (cluster, error) {
	p := &peer[M]{world: w}
	for i := range size {
		storage, err := etcd.NewStorage(size)
		if err != nil {
			return nil, err
		}
		node, err := etcd.NewNode(step, uint64(i+1), storage)
		if err != nil {
			return nil, err
		}
		for range detection - 2 { // as etcd's server does at a start (InitialElectionTickAdvance)
			node.Tick()
		}
		m := &peerMember[M]{group: p, node: node}
		p.members = append(p.members, m)
		w.after(w.draw(beat), m.tick)
	}
	return p, nil
}

func (p *peer[M]) know() (knowing, leader int) {
	by := make([]int, len(p.members)+1)
	for _, m := range p.members {
		by[m.node.Lead]++
	}
	return most(by)
}

func (p *peer[M]) serves(i int) bool { return p.members[i-1].node.Leads }

func (p *peer[M]) transfer(from, to int) {
	m := p.members[from-1]
	m.give(func() {
		p.stopped = p.world.now // it drops proposals from here on
		m.node.TransferLeader(uint64(to))
	})
}

func (p *peer[M]) pausedAt() time.Duration { return p.stopped }

func (m *peerMember[M]) tick() {
	m.group.world.after(beat, m.tick)
	m.give(m.node.Tick)
}

// give has something happen to the node, when its disk is not waited for.
func (m *peerMember[M]) give(what func()) {
	if m.busy {
		m.waiting = append(m.waiting, what)
		return
	}
	what()
	m.work()
}

// work does what the node asks for, one Ready after the other.
func (m *peerMember[M]) work() {
	w := m.group.world
	for !m.busy {
		switch ready, ok := m.node.Ready(); {
		case !ok && len(m.waiting) == 0:
			return
		case !ok:
			next := m.waiting[0]
			m.waiting = m.waiting[1:]
			next()
		case ready.MustSync:
			m.busy = true
			w.after(save, func() {
				m.busy = false
				m.finish(&ready)
				m.work()
			})
		default:
			m.finish(&ready)
		}
	}
}

// finish ends the member if its storage fails, which that in memory does not.
func (m *peerMember[M]) finish(ready *raft.Ready) {
	if err := m.node.Finish(ready, m.post); err != nil {
		m.busy = true
	}
}

func (m *peerMember[M]) post(label etcd.Label, message M) {
	receiver := m.group.members[label.To-1]
	m.group.world.after(delay, func() {
		receiver.give(func() { receiver.node.Step(message) })
	})
}
