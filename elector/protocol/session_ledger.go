// The engine's ledger, as a session sees it: what LedgerEnd returns is held against what it
// returned before and what was heard, and a ledger that breaks the contract stops the
// member.

package protocol

import (
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// ledgerLog remembers what the engine has said of its ledger.
type ledgerLog struct {
	end   memberstate.Position // as last returned
	asked memberstate.Term     // and the promise it was returned with
	known memberstate.Term     // the largest term that its entries may have by now, but for what was heard
}

// check compares the ledger's end with what it can be.
//
// It moves back only when the leader of a later term overwrites what this member has, and
// then the engine has heard from that leader since: after a promise for a term only a
// leader of that term or a later one may change the ledger. And its term is one that this
// member led or heard the leader of, or that was in the ledger from the start.
func (l *ledgerLog) check(term memberstate.Term, end memberstate.Position, heard memberstate.Term) error {
	problem := ""
	switch {
	case end.Term > max(l.known, heard):
		problem = fmt.Sprintf("it ends in a term that was never announced through Heard; %d is the latest", max(l.known, heard))
	case end.Compare(l.end) < 0 && heard < l.asked:
		problem = "it has moved backwards, and no later leader was heard that could have shortened it"
	}
	if problem != "" {
		return &LedgerError{Term: term, End: end, Before: l.end, Problem: problem}
	}
	l.end, l.asked = end, term
	return nil
}

// LedgerEnd is where the engine's ledger ended when it was last asked.
func (s *Session) LedgerEnd() memberstate.Position { return s.ledger.end }
