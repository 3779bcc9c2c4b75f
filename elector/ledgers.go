// Calls of LedgerEnd. Each may wait for locks of its engine, so the loop does not make them, and none may
// wait for another one. Mostly they return at once, and after the death of a node there are very many. So
// a goroutine makes call after call, as long as some wait, and another one joins it only if it is needed.

package elector

import (
	"fmt"
	"sync"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// ledgers are the calls of LedgerEnd of a host that have not been made yet. The zero value has none.
//
// While one waits, a caller is ready: a goroutine that is in no engine's function. So no call waits for
// an engine other than its own.
type ledgers struct {
	mu      sync.Mutex
	waiting []ledgerCall
	ready   int // callers that are
}

// ledgerCall is one call. A group has at most one.
type ledgerCall struct {
	elector *Elector
	term    memberstate.Term
}

func (l *ledgers) ask(c ledgerCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, c)
	l.ensureCaller()
}

// ensureCaller makes sure that a caller is ready if a call waits. The mutex is held.
func (l *ledgers) ensureCaller() {
	if len(l.waiting) > 0 && l.ready == 0 {
		l.ready++
		go l.call()
	}
}

// call makes calls until none waits.
func (l *ledgers) call() {
	for {
		c, waits := l.next()
		if !waits {
			return
		}
		c.make()
		l.mu.Lock()
		l.ready++
		l.mu.Unlock()
	}
}

// next returns the call that has waited longest, if there is one. A caller that gets one is not ready, and one
// that does not ends.
func (l *ledgers) next() (c ledgerCall, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready--
	if len(l.waiting) == 0 {
		l.waiting = nil // there may have been very many
		return c, false
	}
	c, l.waiting = l.waiting[0], l.waiting[1:]
	l.ensureCaller()
	return c, true
}

// make makes the call and gives the node the answer, even if LedgerEnd ends the goroutine (runtime.Goexit)
// instead of returning.
func (c ledgerCall) make() {
	e := c.elector
	r := e.newRequest(protocol.TellLedgerEnd)
	returned := false
	defer func() {
		if !returned {
			r.Err = fmt.Errorf("elector: group %q: LedgerEnd: %w", e.group.Name(), errExited)
		}
		e.Host().request(r)
	}()
	r.Ledger = e.ledgerEnd(c.term)
	if x := e.extras.Load(); x != nil {
		r.Term = memberstate.Term(x.heardTerm.Load())
	}
	returned = true
}
