package elector_test

import (
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// ledger is the part of an engine that keeps its promise.
type ledger struct {
	promise elector.Promise
	entries []memberstate.Term // of each entry, the term that wrote it
}

// LedgerEnd is for GroupConfig.LedgerEnd.
func (l *ledger) LedgerEnd(term memberstate.Term) memberstate.Position {
	return l.promise.End(term, func() (end memberstate.Position) {
		if n := len(l.entries); n > 0 {
			end = memberstate.Position{Term: l.entries[n-1], Index: uint64(n)}
		}
		return end
	})
}

// Append is called by the leader for its own entries, and by a follower after
// Elector.Heard has returned nil.
func (l *ledger) Append(term memberstate.Term) error {
	return l.promise.Accept(term, func() error {
		l.entries = append(l.entries, term)
		return nil
	})
}

func ExamplePromise() {
	var l ledger
	fmt.Println(l.Append(1))
	fmt.Println(l.LedgerEnd(2)) // the member is about to vote in term 2
	fmt.Println(l.Append(1))    // the leader of term 1 does not know that yet
	fmt.Println(l.Append(2))
	// Output:
	// <nil>
	// 1:1
	// elector: stale term: an append of term 1, after term 2 was promised or accepted
	// <nil>
}
