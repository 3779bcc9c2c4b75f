// What the engine hears from leaders, apart from heartbeats: appends.

package elector

import (
	"fmt"

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
	g := &e.group
	seat := g.Members.Seat(leader)
	switch {
	case seat == g.Rules.Self:
		return protocol.Say(ErrOtherLeader, "Heard is for the appends of others: %q is this member itself, in group %q", leader, g.Name())
	case !g.Rules.Voters.Has(seat):
		return protocol.Say(ErrOtherLeader, "an append of term %d is by %q, which is no voter of group %q", term, leader, g.Name())
	}
	s := e.sight.Load()
	if s.Stopped || s.revision == 0 {
		return e.idle()
	}
	switch s.Hears(term, seat) {
	case protocol.HeardNews:
	case protocol.HeardLeader:
		e.heardLeader(term, seat)
		return nil
	default:
		return e.refused(s, term, leader)
	}
	processed := make(chan struct{})
	r := e.heard(term, seat)
	r.Then = func() { close(processed) }
	if !e.Host().request(r) {
		return e.idle()
	}
	<-processed
	if s = e.sight.Load(); s.Stopped {
		return e.idle()
	}
	if s.Hears(term, seat) != protocol.HeardLeader { // if it is news still, it is impossible, or was lost again at once
		return e.refused(s, term, leader)
	}
	e.announce(term)
	return nil
}

// refused is why an append must not be accepted.
func (e *Elector) refused(s sight, term memberstate.Term, leader string) error {
	if s.Hears(term, e.group.Members.Seat(leader)) == protocol.HeardOther {
		return fmt.Errorf("%w: an append of term %d by %q, but %q leads it", ErrOtherLeader, term, leader, e.group.Members.ID(s.Leader))
	}
	return fmt.Errorf("%w: an append of term %d by %q while in term %d", ErrStaleTerm, term, leader, s.Term)
}

// heardLeader renews the wait for a leader that is followed already. Appends
// may be many: the loop is told of one in a quarter of a heartbeat.
func (e *Elector) heardLeader(term memberstate.Term, seat memberstate.Seat) {
	e.announce(term)
	x := e.needs()
	now, last := int64(e.Host().elapsed()), x.heardAt.Load()
	if now-last < int64(e.group.Rules.Timing.Heartbeat)/4 || !x.heardAt.CompareAndSwap(last, now) {
		return
	}
	e.Host().requestOnce(e.heard(term, seat))
}

func (e *Elector) heard(term memberstate.Term, seat memberstate.Seat) protocol.Request {
	r := e.about(protocol.TellHeard)
	r.Term, r.Leader = term, seat
	return r
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
