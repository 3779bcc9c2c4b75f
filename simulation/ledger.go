// Ledgers: who wrote how much, in the order of terms.

package simulation

import "github.com/hustings/hustings/memberstate"

// ledger is a storage engine's: the entries that its last term wrote, and behind them
// those of the terms before. It is a value; what is behind it is shared by all ledgers
// that grew from it, and is changed only by being forgotten.
type ledger struct {
	term   memberstate.Term // that wrote the last entries; 0: there are none
	last   uint64           // index of the last of them
	before *ledger
}

func (l *ledger) end() memberstate.Position { return memberstate.Position{Term: l.term, Index: l.last} }

// write appends an entry.
func (l *ledger) write(term memberstate.Term) {
	if l.term != term {
		grown := *l
		*l = ledger{term: term, last: l.last, before: &grown}
	}
	l.last++
}

// holds says whether a ledger begins with all of another one. One leader writes a term,
// so those who have entries of it have the same ones behind them; or else there were two
// leaders.
func (l *ledger) holds(other *ledger) bool {
	if other.term == 0 {
		return true
	}
	for l.term > other.term && l.before != nil {
		l = l.before
	}
	if l.term > other.term { // what is behind is committed, and was forgotten
		return true
	}
	return l.term == other.term && l.last >= other.last && (l.before == other.before || l.before == nil || other.before == nil)
}

// has is how many entries the ledger has up to the last one of a term; 0 if none of that term.
func (l *ledger) has(term memberstate.Term) uint64 {
	for ; l != nil; l = l.before {
		if l.term == term {
			return l.last
		}
	}
	return 0
}

// lacks is the first entry of another ledger that this one does not have.
func (l *ledger) lacks(other *ledger) (first memberstate.Position) {
	for o := other; o != nil && o.term != 0; o = o.before {
		has := l.has(o.term)
		if o.before != nil {
			has = max(has, o.before.last)
		}
		if has < o.last {
			first = memberstate.Position{Term: o.term, Index: has + 1}
		}
	}
	return first
}

// forget drops what is behind entries that are committed.
func (l *ledger) forget() {
	if l.before != nil {
		l.before.before = nil
	}
}
