// The engine's half of the promise, ready to use.
//
// The ledger and the vote are one promise, and it has two halves. An engine may accept
// no append of a term below
//
//   - the largest term that it was asked for its ledger's end with, because the leader of
//     that term may have been elected by that end; and
//   - the largest term of which it has accepted an append, because a quorum that a later
//     leader counts may include this member without its vote.
//
// The second half is easily forgotten. Heard refuses an append of an old leader, but two
// appends may overlap: the one of term 1 passes Heard, then the one of term 2 is heard,
// written and acknowledged, and only then does the first one get to the ledger. If it
// overwrites what the second one wrote, a committed entry may be gone. LedgerEnd was
// never called with term 2 here, so the first half does not help.

package elector

import (
	"fmt"
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// Promise keeps an engine from accepting what it must not accept. It holds a lock of its
// own, so that the ledger's end is taken, and an append is checked and written, in one
// step each. All of an engine's writes go through Accept, its own as a leader too, and its
// GroupConfig.LedgerEnd through End; then it keeps the promise of an embedding.
//
// One Promise belongs to one ledger, for as long as the process runs, also if an elector
// is stopped and another one made. The zero Promise has promised nothing, which is right
// for a process that begins.
type Promise struct {
	mu   sync.Mutex
	term memberstate.Term // appends of lower terms are refused
}

// End calls end, which returns where the ledger ends, and promises to accept no append
// of a lower term from then on. It is what GroupConfig.LedgerEnd needs.
func (p *Promise) End(term memberstate.Term, end func() memberstate.Position) memberstate.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = max(p.term, term)
	return end()
}

// Accept calls write with an append of this term, unless that must be refused: then its
// error wraps ErrStaleTerm, and write is not called. Otherwise it returns the error of write,
// and no append of a lower term is accepted any more. Like GroupConfig.LedgerEnd, write must
// not call the elector.
//
// What write puts into the ledger belongs to the ledger when it returns. It may be made
// durable later, together with other appends, as long as it is acknowledged only then.
func (p *Promise) Accept(term memberstate.Term, write func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if term < p.term {
		return fmt.Errorf("%w: an append of term %d, after term %d was promised or accepted", ErrStaleTerm, term, p.term)
	}
	p.term = term
	return write()
}
