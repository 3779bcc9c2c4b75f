// Appends, which the engine receives from leaders and reports to the elector.

package elector

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Heard reports an append to the elector BEFORE the engine accepts it: the
// leader's id and term as the append has them. An error means that the append
// must be refused. Nil means that it may be accepted; the append then counts as a
// heartbeat. If the term is new to this member, Heard waits until the member has
// saved it.
//
// Before the append is in the ledger, LedgerEnd may be called with a larger term, and an
// append of a later leader may be heard and accepted. So the engine must check again,
// under the lock of its ledger: it accepts no append of a term lower than that of the last
// call of LedgerEnd, or lower than that of the last append it accepted. Promise.Accept does
// that. If the elector stops in between, the engine must refuse the append: otherwise the
// ledger could end in a term that the group's next elector does not know, and that elector
// would stop with a LedgerError.
func (e *Elector) Heard(term memberstate.Term, leader string) error {
	r := e.newRequest(protocol.TellHeard)
	r.Term, r.Leader = term, e.group.Members.Seat(leader)
	s := e.view.Load()
	news, err := e.group.Hears(&s.View, term, leader, false)
	if err == nil && news {
		processed := make(chan struct{})
		r.Then = func() { close(processed) }
		if !s.begun() || !e.Host().request(r) {
			return e.whyNotRunning()
		}
		<-processed
		s = e.view.Load()
		_, err = e.group.Hears(&s.View, term, leader, true)
	}
	if err != nil {
		return err
	}
	e.rememberTerm(term)
	if !news {
		e.renew(r)
	}
	return nil
}

// renew restarts the detection time of a leader that this member follows already. Appends may
// come very often, so it notifies the loop at most once in a quarter of a heartbeat.
func (e *Elector) renew(r protocol.Request) {
	x := e.ensureExtras()
	now, last := int64(e.Host().elapsed()), x.heardAt.Load()
	if now-last >= int64(e.rules().Timing.Heartbeat)/4 && x.heardAt.CompareAndSwap(last, now) {
		e.Host().requestOnce(r)
	}
}

// rememberTerm records the largest term that Heard has allowed; the ledger may end in it.
func (e *Elector) rememberTerm(term memberstate.Term) {
	x := e.ensureExtras()
	for {
		known := x.heardTerm.Load()
		if uint64(term) <= known || x.heardTerm.CompareAndSwap(known, uint64(term)) {
			return
		}
	}
}
