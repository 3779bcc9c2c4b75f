// The engine's ledger, as a session sees it. Each answer of LedgerEnd is compared with the one
// before and with the appends that were heard, and a ledger that breaks the contract stops the
// member.

package protocol

import (
	"fmt"

	"github.com/hustings/hustings/memberstate"
)

// ledgerLog remembers the engine's answers.
type ledgerLog struct {
	end   memberstate.Position // the last answer
	asked memberstate.Term     // the term of the promise that it came with
	known memberstate.Term     // the largest term that its entries may have, appends that were heard aside
}

// check compares the ledger's end with what is possible.
//
// After a promise for a term, only the leader of that term, or of a later one, may change the ledger. So unless the engine has heard
// of one, the end moves neither back, nor on in an older term. And the end's term is one that this member led, or whose leader it
// heard, or in which the ledger ended at the start.
func (l *ledgerLog) check(term memberstate.Term, end memberstate.Position, heard memberstate.Term) error {
	problem := ""
	switch {
	case end.Term > max(l.known, heard):
		problem = fmt.Sprintf("it ends in a term that was never announced through Heard; %d is the latest", max(l.known, heard))
	case end.Compare(l.end) < 0 && heard < l.asked:
		problem = "it has moved backwards, and no later leader was heard that could have shortened it"
	case end.Compare(l.end) > 0 && end.Term < l.asked && heard < l.asked:
		problem = fmt.Sprintf("it has grown in an older term than %d, for which it had promised not to", l.asked)
	}
	if problem != "" {
		return &LedgerError{Term: term, End: end, Before: l.end, Problem: problem}
	}
	l.end, l.asked = end, term
	return nil
}

// LedgerEnd is where the engine's ledger ended when it was last asked.
func (s *Session) LedgerEnd() memberstate.Position { return s.ledger.end }
