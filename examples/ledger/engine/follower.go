// What a follower does with a leader's entries.

package engine

import (
	"fmt"
	"math"

	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

// accept takes an append, if its leader may still write here.
func (s *shard) accept(term memberstate.Term, from string, a *ledgerpb.Append) {
	if sound(term, a) {
		s.obey(term, from, func() { s.take(term, from, a) })
	}
}

// obey changes the ledger as a leader wants, if it may. The elector hears of the leader first: it may never have had a message of this
// term, and has to save the term before the ledger ends in it. Then the promise is looked at under its lock, because a vote
// for another leader may have come between. A leader that is refused learns by the electors that it leads no more.
func (s *shard) obey(term memberstate.Term, from string, change func()) {
	if s.elector.Heard(term, from) != nil {
		return
	}
	_ = s.promise.Accept(term, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.follows() {
			change()
		}
		return nil
	})
}

// follows says whether another node may write here. Lead of an old term may not have returned yet, and the elector may have ended
// since it has heard of the leader.
func (s *shard) follows() bool { return s.office == nil && !s.installing && !s.closed }

// sound says whether an append can be one: its entries follow one another, and none is of a later term.
func sound(term memberstate.Term, a *ledgerpb.Append) bool {
	last := positionOf(a.Before)
	for _, e := range a.Entries {
		next := memberstate.Position{Term: memberstate.Term(e.GetTerm()), Index: e.GetIndex()}
		if next.Index != last.Index+1 || next.Term < max(last.Term, 1) {
			return false
		}
		last = next
	}
	return last.Term <= term && last.Index < math.MaxInt64
}

// take makes the ledger that of the leader, up to the end of the append, and answers when it is on disk.
func (s *shard) take(term memberstate.Term, from string, a *ledgerpb.Append) {
	before := positionOf(a.Before)
	if !s.ledger.has(before) {
		s.answer(term, from, &ledgerpb.Matched{Refused: true, Index: s.mayMatch(before.Index), Round: a.Round, Attempt: a.Attempt})
		return
	}
	matched := before.Index + uint64(len(a.Entries))
	s.fed = s.fed || len(a.Entries) > 0
	fresh := s.lacking(a.Entries)
	if len(fresh) > 0 {
		if !s.clear(fresh[0].Index) {
			return
		}
		for _, e := range fresh {
			s.ledger.append(e)
		}
	}
	s.committed = max(s.committed, min(a.Committed, matched))
	answer := func() {
		s.answer(term, from, &ledgerpb.Matched{Index: min(matched, s.ledger.durable), Round: a.Round, Attempt: a.Attempt})
	}
	if len(fresh) > 0 {
		s.save(fresh, answer)
	} else {
		answer()
	}
	s.complete = s.complete || matched >= a.End
	s.advance()
}

// askLeader has the leader send what the ledger lacks, or say that it lacks nothing, unless it is sending something. Leaders do so anyway, but do not
// know that a node was away while nobody wrote.
func (s *shard) askLeader() {
	leader := s.elector.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	fed := s.fed
	s.fed = false
	if !fed && leader.Leader != "" && leader.Leader != s.self {
		s.answer(leader.Term, leader.Leader, &ledgerpb.Matched{Refused: true, Index: s.ledger.durable})
	}
}

// isComplete says whether the ledger has had all that its leader had at one moment since the node has started.
func (s *shard) isComplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}

// lacking are the entries from the first one on that the ledger has not got.
func (s *shard) lacking(entries []*ledgerpb.Entry) []*ledgerpb.Entry {
	for i, e := range entries {
		if !s.ledger.has(memberstate.Position{Term: memberstate.Term(e.Term), Index: e.Index}) {
			return entries[i:]
		}
	}
	return nil
}

// clear takes away the entries from an index on, which the leader has not got.
func (s *shard) clear(index uint64) bool {
	if index > s.ledger.end.Index {
		return true
	}
	if index <= s.committed {
		s.fail(fmt.Errorf("%s: the leader has another entry %d, which was committed here", s.group, index))
		return false
	}
	s.cutSaved(index - 1)
	return true
}

// mayMatch is up to where the ledger may be the leader's, if it is not at an index: it ends before, or the term there
// is another one, and then all entries of that term may be.
func (s *shard) mayMatch(index uint64) uint64 {
	l := &s.ledger
	if index > l.end.Index {
		return l.end.Index
	}
	if at := l.run(index); at >= 0 {
		return max(l.runs[at].first-1, l.base.Index)
	}
	return l.base.Index
}

func (s *shard) answer(term memberstate.Term, to string, m *ledgerpb.Matched) {
	m.Committed = s.committed
	s.network.Send(to, &ledgerpb.Message{From: s.self, Shard: s.number, Term: uint64(term), Says: &ledgerpb.Message_Matched{Matched: m}})
}
