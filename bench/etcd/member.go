// A node in a virtual world: its ticks are its alarm, and out of phase with everyone
// else's.

package etcd

import (
	crypto "crypto/rand"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/hustings/hustings/bench/virtual"
)

// Found makes a group whose ticks are so long. The log of behind, if that is not
// Nobody, lacks the entry of the first leader.
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
	behind   int // who is to be
	withheld int // to whom no entry is sent
	post     func(Label, M)

	term, lead uint64             // what was last made known
	said       raftpb.MessageType // the kind of the last message of the work under way
}

func (m *member[M]) Start() {
	node, err := NewNode(m.raw, uint64(m.index+1), m.storage)
	if err != nil {
		m.world.Err = err
		return
	}
	m.node, m.term, m.lead, m.withheld = node, 0, 0, virtual.Nobody
	m.world.Arm(m.index, time.Duration(m.world.Random.Int64N(int64(m.tick))))
	m.work()
}

func (m *member[M]) Stand() {
	m.withheld = m.behind
	if err := m.node.Campaign(); err != nil {
		m.world.Err = err
	}
	m.work()
}

func (m *member[M]) Ring() {
	m.world.Arm(m.index, m.tick)
	m.node.Tick()
	m.work()
}

func (m *member[M]) Receive(_ int, q *M) {
	m.node.Step(*q)
	m.work()
}

func (m *member[M]) work() {
	m.said = raftpb.MsgHup // which is sent to nobody
	if err := m.node.Work(m.post); err != nil {
		m.world.Err = err
	}
	if n := m.node; n.Term != m.term || n.Lead != m.lead {
		m.term, m.lead = n.Term, n.Lead
		m.world.Observer.Knows(m.index, n.Term, int(n.Lead)-1)
	}
}

func (m *member[M]) send(l Label, q M) {
	if l.Kind != m.said { // the first of those that go to all
		m.said = l.Kind
		switch l.Kind {
		case raftpb.MsgHeartbeat:
			m.world.Observer.Beats(m.index)
		case raftpb.MsgVote, raftpb.MsgPreVote:
			m.world.Observer.Asks(m.index, l.Term, l.Kind == raftpb.MsgPreVote)
		default: // nothing else is counted
		}
	}
	to := int(l.To) - 1
	if l.Kind == raftpb.MsgApp && to == m.withheld {
		return
	}
	m.world.Send(m.index, to, &q)
}

// repeat makes what etcd/raft draws repeatable: it does so from the randomness of
// the whole process. So one group at a time is run in a process.
func repeat(r *rand.Rand) { crypto.Reader = source{r} }

// Restore gives the process its own randomness back.
func Restore() { crypto.Reader = system }

var system = crypto.Reader

type source struct{ *rand.Rand }

func (s source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return len(b), nil
}
