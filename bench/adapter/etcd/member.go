// A node in a virtual world. Its alarms are its ticks, out of phase with those of the others.

package etcd

import (
	crypto "crypto/rand"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/virtual"
)

// Found returns a function that makes a group. The log of behind, if that is not Nobody, lacks
// the entry of the first leader.
func Found[M any](step func(*raft.RawNode, M) error, tick time.Duration) func(w *virtual.World[M], members, behind int) []virtual.Member[M] {
	return func(w *virtual.World[M], members, behind int) []virtual.Member[M] {
		repeat(w.Random)
		group := make([]virtual.Member[M], members)
		for i := range group {
			m := &member[M]{world: w, index: i, tick: tick, raw: step, behind: behind, withheld: virtual.Nobody}
			m.storage, w.Err = NewStorage(members)
			m.post = m.send
			group[i] = m
		}
		return group
	}
}

// member is one member of the group.
type member[M any] struct {
	world    *virtual.World[M]
	index    int
	tick     time.Duration
	raw      func(*raft.RawNode, M) error
	storage  *raft.MemoryStorage
	node     *Node[M]
	behind   int // the member whose log must lack an entry
	withheld int // the member to which no entry is sent
	post     func(Label, M)
	next     time.Duration // the next tick
	ready    raft.Ready    // being saved

	term, lead uint64             // last reported to the observer
	said       raftpb.MessageType // the kind of the last message of the work under way
}

func (m *member[M]) Start() {
	node, err := NewNode(m.raw, uint64(m.index+1), m.storage)
	if err != nil {
		m.world.Err = err
		return
	}
	m.node, m.term, m.lead, m.withheld = node, 0, 0, virtual.Nobody
	for range ElectionTicks - 2 { // as etcd's server does at a start (InitialElectionTickAdvance)
		node.Tick()
	}
	m.next = m.world.Now() + time.Duration(m.world.Random.Int64N(int64(m.tick)))
	m.world.Arm(m.index, m.next-m.world.Now())
	m.work()
}

func (m *member[M]) Stand() {
	m.withheld = m.behind
	if err := m.node.Campaign(); err != nil {
		m.world.Err = err
	}
	m.work()
}

func (m *member[M]) Transfer(to int) {
	m.world.Observer.Pauses(m.index) // it drops proposals from here on
	m.node.TransferLeader(uint64(to + 1))
	m.work()
}

// Resign does nothing, because etcd can only transfer to a named member.
func (m *member[M]) Resign() {}

// Lost does nothing, because etcd only detects silence.
func (m *member[M]) Lost(int) {}

func (m *member[M]) Ring() {
	m.next += m.tick // even if the disk has delayed this tick
	m.world.Arm(m.index, m.next-m.world.Now())
	m.node.Tick()
	m.work()
}

func (m *member[M]) Receive(_ int, q *M) {
	m.node.Step(*q)
	m.work()
}

// Saved goes on after a save that took time.
func (m *member[M]) Saved() {
	m.finish(&m.ready)
	m.work()
}

// work handles each Ready of the node until there is none, or a save takes time. A leader sends
// while it saves, as etcd's server does.
func (m *member[M]) work() {
	m.said = raftpb.MsgHup // which is never sent
	for {
		ready, ok := m.node.Ready()
		if !ok {
			return
		}
		if n := m.node; n.Term != m.term || n.Lead != m.lead {
			m.term, m.lead = n.Term, n.Lead
			m.world.Observer.Knows(m.index, n.Term, int(n.Lead)-1)
		}
		if m.node.Leads {
			m.node.Send(&ready, m.post)
		}
		if ready.MustSync && m.world.Saves(m.index) {
			m.ready = ready
			return
		}
		m.finish(&ready)
	}
}

func (m *member[M]) finish(ready *raft.Ready) {
	if err := m.node.Save(ready); err != nil {
		m.world.Err = err
	}
	if !m.node.Leads {
		m.node.Send(ready, m.post)
	}
	m.node.Done(ready)
}

func (m *member[M]) send(l Label, q M) {
	if l.Kind != m.said { // the first of a round
		m.said = l.Kind
		switch l.Kind {
		case raftpb.MsgHeartbeat:
			m.world.Observer.Beats(m.index)
		case raftpb.MsgVote, raftpb.MsgPreVote:
			m.world.Observer.Asks(m.index, l.Term, l.Kind == raftpb.MsgPreVote)
		default: // the others are not counted
		}
	}
	to := int(l.To) - 1
	if l.Kind == raftpb.MsgApp && to == m.withheld {
		return
	}
	m.world.Send(m.index, to, &q)
}

// repeat makes etcd/raft's random draws repeatable. They come from the process's random source,
// so a process runs only one group at a time.
func repeat(r *rand.Rand) { crypto.Reader = source{r} }

// Restore restores the process's random source.
func Restore() { crypto.Reader = system }

var system = crypto.Reader

type source struct{ *rand.Rand }

func (s source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return len(b), nil
}
