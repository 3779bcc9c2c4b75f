// The engine's half of the promise, ready to use.
//
// The ledger and the vote are one promise, and it has two halves. An engine may accept
// no append of a term below
//
//   - the largest term that LedgerEnd was called with, because the leader of that term may
//     have been elected by the end that LedgerEnd returned; and
//   - the largest term of an append that it has accepted, because the leader of that term
//     may count this member in the quorum that commits an entry, even without its vote.
//
// The second half is easily forgotten. Heard refuses an append of an old leader, but two
// appends may overlap: the one of term 1 passes Heard, then the one of term 2 is heard,
// written and acknowledged, and only then does the first one reach the ledger. If it
// overwrites the entry of the second one, a committed entry may be lost. LedgerEnd was
// never called with term 2 here, so the first half does not help.

package elector

import (
	"fmt"
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// Promise keeps the engine's promise if all of the engine's writes go through Accept,
// including its own as a leader, and its GroupConfig.LedgerEnd calls End. A lock makes End
// atomic, and in Accept the check together with the write.
//
// One Promise belongs to one ledger for as long as the process runs, even if one elector
// is stopped and another made. The zero Promise has promised nothing, which is right for a
// new process.
type Promise struct {
	mu   sync.Mutex
	term memberstate.Term // appends of lower terms are refused
}

// End calls end, which returns where the ledger ends, and promises to accept no append
// of a lower term from then on. GroupConfig.LedgerEnd calls it.
func (p *Promise) End(term memberstate.Term, end func() memberstate.Position) memberstate.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = max(p.term, term)
	return end()
}

// Accept calls write, which writes an append of this term to the ledger, and returns its
// error; from then on no append of a lower term is accepted. If the append itself must be
// refused, Accept does not call write, and its error wraps ErrStaleTerm. Like
// GroupConfig.LedgerEnd, write must not call the elector.
//
// The entry belongs to the ledger when write returns. It may be made durable later, together
// with other entries, as long as it is acknowledged only then.
func (p *Promise) Accept(term memberstate.Term, write func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if term < p.term {
		return fmt.Errorf("%w: an append of term %d, after term %d was promised or accepted", ErrStaleTerm, term, p.term)
	}
	p.term = term
	return write()
}
