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

// forget drops what is behind entries that are committed.
func (l *ledger) forget() {
	if l.before != nil {
		l.before.before = nil
	}
}
