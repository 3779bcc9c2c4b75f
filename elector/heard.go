// What the engine hears from leaders, apart from heartbeats: appends.

package elector

import (
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Heard tells the elector of an append, BEFORE the engine accepts it: the
// leader's id and term as the append has them. An error means that the append
// must be refused. Nil means that it may be accepted; it also counts as a
// heartbeat. If the term is news to this member, Heard waits until the member
// has saved it.
//
// Between Heard and the moment that the append is in the ledger, LedgerEnd may be
// called with a larger term, and an append of a later leader may be heard and
// accepted. The engine must look again then, under the lock of its ledger: it accepts
// nothing of a term lower than the last one it was asked with, and nothing of a term
// lower than the last one it has accepted. Promise.Accept does that. If the elector stops
// in between, the append is not accepted any more: the ledger could end in a term of which
// the group's next elector has never heard, which would stop with a LedgerError.
func (e *Elector) Heard(term memberstate.Term, leader string) error {
	r := e.about(protocol.TellHeard)
	r.Term, r.Leader = term, e.group.Members.Seat(leader)
	s := e.sight.Load()
	news, err := e.group.Hears(&s.View, term, leader, false)
	if err == nil && news {
		processed := make(chan struct{})
		r.Then = func() { close(processed) }
		if s.revision == 0 || !e.Host().request(r) {
			return e.idle()
		}
		<-processed
		s = e.sight.Load()
		_, err = e.group.Hears(&s.View, term, leader, true)
	}
	if err != nil {
		return err
	}
	e.announce(term)
	if !news {
		e.renew(r)
	}
	return nil
}

// renew renews the wait for a leader that is followed already. Appends may be many: the loop
// is told of one in a quarter of a heartbeat.
func (e *Elector) renew(r protocol.Request) {
	x := e.needs()
	now, last := int64(e.Host().elapsed()), x.heardAt.Load()
	if now-last >= int64(e.group.Rules.Timing.Heartbeat)/4 && x.heardAt.CompareAndSwap(last, now) {
		e.Host().requestOnce(r)
	}
}

// announce remembers the largest term whose leader the engine has heard.
func (e *Elector) announce(term memberstate.Term) {
	x := e.needs()
	for {
		known := x.announced.Load()
		if uint64(term) <= known || x.announced.CompareAndSwap(known, uint64(term)) {
			return
		}
	}
}
