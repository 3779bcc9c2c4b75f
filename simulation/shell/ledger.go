// This file has a small storage engine. It keeps a ledger, replicates it from the leader to all
// others, and keeps the contract of an embedding by elector.Promise.

package shell

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// entry is an entry that a leader has written.
type entry struct {
	term   memberstate.Term
	number uint64 // unique
}

// ledger is the ledger of one node for one group. It is durable at once, because engines sync
// before they acknowledge.
type ledger struct {
	mu      sync.Mutex
	entries []entry          // never changed, but replaced
	from    memberstate.Term // the term of the last append that was accepted
}

func (l *ledger) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries
}

func (l *ledger) end() memberstate.Position {
	all := l.all()
	if len(all) == 0 {
		return memberstate.Position{}
	}
	return memberstate.Position{Term: all[len(all)-1].term, Index: uint64(len(all))}
}

// of returns the entries, and says whether the last append was of this term.
func (l *ledger) of(term memberstate.Term) ([]entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries, l.from == term
}

// write appends an entry.
func (l *ledger) write(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.from = append(slices.Clip(l.entries), e), e.term
}

// replace takes over the ledger of this term's leader, unless the ledger here is a later one of
// the same term. It returns how many of the leader's entries are here now.
func (l *ledger) replace(term memberstate.Term, entries []entry, careless bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if careless || term != l.from || len(entries) > len(l.entries) {
		l.entries, l.from = entries, term
	}
	return len(entries)
}

// acks counts the entries of a leader's ledger that each node has, in one term.
type acks struct {
	term memberstate.Term
	mu   sync.Mutex
	have map[int]int // entries by node
}

// serve writes entries and sends the ledger to all, until the context ends.
func (m *member) serve(ctx context.Context, term memberstate.Term) {
	w := m.process.world()
	mine := &acks{term: term, have: map[int]int{}}
	m.acks.Store(mine)
	for {
		timer := time.NewTimer(m.timing.Heartbeat/2 + w.drawn(m.timing.Heartbeat))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if !m.paused.Load() && !m.process.isDead() {
			e := entry{term, w.drawn64()}
			if m.accept(term, func() error { m.ledger.write(e); return nil }) != nil {
				continue // the member has voted in a later term; the context ends soon
			}
		}
		entries, mayShip := m.ledger.of(term)
		if !mayShip {
			continue // nothing was written in this term, or a later leader has been heard
		}
		mine.reaches(m, m.process.node.index, entries, len(entries))
		for _, n := range m.group.nodes() {
			if n != m.process.node.index {
				w.ship(m, w.nodes[n], term, entries, mine)
			}
		}
	}
}

// ship sends a ledger to another node. It sends no acknowledgement back, because an entry that a
// majority has is committed, whether the leader ever learns of it or not.
func (w *world) ship(from *member, to *node, term memberstate.Term, entries []entry, mine *acks) {
	there, reaches := w.travel(from.process.node.index, to.index)
	if !reaches || from.process.isDead() {
		return
	}
	w.after(there, func() {
		p := to.process.Load()
		if p == nil || p.isDead() {
			return
		}
		m := w.judge.memberOf(p, from.group.name)
		if m == nil || m.el == nil {
			return
		}
		if have, ok := m.takes(term, from.process.node.name, entries); ok {
			mine.reaches(from, to.index, entries, have)
		}
	})
}

// accept changes the ledger by an append of a term, if the promise allows it.
func (m *member) accept(term memberstate.Term, change func() error) error {
	if m.careless() {
		return change()
	}
	return m.promise.Accept(term, change)
}

func (m *member) careless() bool { return m.process.world().options.Careless }

// takes hears of an append and accepts it, if it may.
func (m *member) takes(term memberstate.Term, leader string, entries []entry) (have int, ok bool) {
	j := m.process.world().judge
	done := j.calls(m, "Heard")
	j.hearing(m, term)
	err := m.el.Heard(term, leader)
	done(err)
	if err != nil && !m.careless() {
		m.refused.Store(&err)
		return 0, false
	}
	if m.group.slow {
		time.Sleep(m.process.world().drawn(m.timing.Heartbeat))
	}
	if m.process.isDead() {
		return 0, false
	}
	err = m.accept(term, func() error {
		if m.ended.Load() {
			return elector.ErrStopped // the next elector has not heard of this append
		}
		have = m.ledger.replace(term, entries, m.careless())
		return nil
	})
	m.refused.Store(&err)
	return have, err == nil
}

// reaches notes how many of the leader's entries a node has, at the moment when it receives them.
// It commits the entries that a quorum of the voters has, if the last one is of the leader's term.
func (a *acks) reaches(m *member, node int, entries []entry, have int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.have[node] = max(a.have[node], have)
	count := 0
	for _, voter := range m.group.voters {
		if a.have[voter] >= have {
			count++
		}
	}
	if have > 0 && count >= m.group.quorum() && entries[have-1].term == a.term {
		m.process.world().judge.commits(m, a.term, entries[:have])
	}
}
