// The engine's half of the promise, ready to use.
//
// The ledger and the vote are one promise, and it has two halves. An engine may accept
// no append of a term below
//
//   - the term that LedgerEnd was last called with, because the leader of that term may
//     have been elected by the end that LedgerEnd returned; and
//   - the largest term of an append that it has accepted, because the leader of that term
//     may count this member in the quorum that commits an entry, even without its vote.
//
// The second half is easily forgotten. Heard refuses an append of an old leader, but two
// appends may overlap: the one of term 1 passes Heard, then the one of term 2 is heard,
// written and acknowledged, and only then does the first one reach the ledger. If it
// overwrites the entry of the second one, a committed entry may be lost. LedgerEnd was
// never called with term 2 here, so the first half does not help.
//
// In the first half the last call counts, not the one with the largest term. The two differ when a
// member is stopped after LedgerEnd was called with a term that it was about to adopt, but before
// it has saved that term. Nobody has heard of that promise, because messages wait for the
// save. The group's next member on this ledger starts with the term that was saved, and calls LedgerEnd with
// it. If the larger term still bound the ledger, it would refuse all appends of the leader that this member
// follows, until a larger term came, which may be never.

package elector

import (
	"fmt"
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// Promise keeps the engine's promise if all of the engine's writes go through Accept,
// including its own as a leader, and its GroupConfig.LedgerEnd calls End. A lock makes End
// atomic, and in Accept the check together with the write:
//
//	func (e *Engine) LedgerEnd(term memberstate.Term) memberstate.Position {
//		return e.promise.End(term, e.end)
//	}
//
//	func (e *Engine) Append(term memberstate.Term, leader string, entry []byte) error {
//		if err := e.elector.Heard(term, leader); err != nil {
//			return err
//		}
//		return e.promise.Accept(term, func() error { return e.write(term, entry) }) // durable, then acknowledged
//	}
//
// The leader's own appends go through Accept, too, without Heard.
//
// One Promise belongs to one ledger for as long as the process runs, even if one elector
// is stopped and another made. The zero Promise has promised nothing, which is right for a
// new process.
type Promise struct {
	mu       sync.Mutex
	promised memberstate.Term // with which LedgerEnd was last called
	accepted memberstate.Term // the largest one of an append that was accepted
}

// End calls end, which returns where the ledger ends, and promises to accept no append
// of a lower term until the next call. GroupConfig.LedgerEnd calls it.
func (p *Promise) End(term memberstate.Term, end func() memberstate.Position) memberstate.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.promised = term
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
	if least := max(p.promised, p.accepted); term < least {
		return fmt.Errorf("%w: an append of term %d, after term %d was promised or accepted", ErrStaleTerm, term, least)
	}
	p.accepted = term
	return write()
}
