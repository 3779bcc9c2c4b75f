// Package ledger is the simulated storage engines' ledger, as far as an election is about it:
// which terms wrote how many entries.
package ledger

import "github.com/hustings/hustings/memberstate"

// Ledger is a storage engine's: the entries that its last term wrote, and behind them
// those of the terms before. It is a value; what is behind it is shared by all ledgers
// that grew from it, and nothing changes it but Forget, which drops it.
type Ledger struct {
	Term   memberstate.Term // the one that wrote the last entries; 0: there are none
	Last   uint64           // index of the last of them
	Before *Ledger
}

// End is where the ledger ends.
func (l *Ledger) End() memberstate.Position { return memberstate.Position{Term: l.Term, Index: l.Last} }

// Write appends an entry.
func (l *Ledger) Write(term memberstate.Term) {
	if l.Term != term {
		grown := *l
		*l = Ledger{Term: term, Last: l.Last, Before: &grown}
	}
	l.Last++
}

// Holds says whether a ledger begins with all of another one. One leader writes a term,
// so those who have entries of it have the same ones behind them; or else there were two
// leaders.
func (l *Ledger) Holds(other *Ledger) bool {
	if other.Term == 0 {
		return true
	}
	for l.Term > other.Term && l.Before != nil {
		l = l.Before
	}
	if l.Term > other.Term { // what is behind is committed, and was forgotten
		return true
	}
	return l.Term == other.Term && l.Last >= other.Last && (l.Before == other.Before || l.Before == nil || other.Before == nil)
}

// Has says whether the ledger has an entry.
func (l *Ledger) Has(entry memberstate.Position) bool {
	first, last := l.wrote(entry.Term)
	return first <= entry.Index && entry.Index <= last
}

// wrote is which entries of the ledger a term has written; those from 1 to 0 if none. A careless leader may have
// written its term's entries a second time, elsewhere.
func (l *Ledger) wrote(term memberstate.Term) (first, last uint64) {
	for ; l != nil && l.Term != 0; l = l.Before {
		if l.Term == term {
			return l.begins(), l.Last
		}
	}
	return 1, 0
}

// begins is the index of the first entry that the last term wrote.
func (l *Ledger) begins() uint64 {
	if l.Before == nil {
		return 1
	}
	return l.Before.Last + 1
}

// Lacks is the first entry of another ledger that this one does not have.
func (l *Ledger) Lacks(other *Ledger) (lacks memberstate.Position) {
	for o := other; o != nil && o.Term != 0; o = o.Before {
		first, last := l.wrote(o.Term)
		if first > o.begins() || last < o.begins() {
			last = o.begins() - 1
		}
		if last < o.Last {
			lacks = memberstate.Position{Term: o.Term, Index: last + 1}
		}
	}
	return lacks
}

// Forget drops what is behind entries that are committed.
func (l *Ledger) Forget() {
	if l.Before != nil {
		l.Before.Before = nil
	}
}
