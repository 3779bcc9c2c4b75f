// The engine's ledger, as the elector sees it: what LedgerEnd returns is checked
// against what it returned before and what was heard, and a ledger that breaks
// the contract stops the member.

package elector

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

// askLedger calls the engine, off the loop: it may have to wait for locks of its own.
// Whatever ordered the step may have been withdrawn meanwhile. Nothing has happened
// yet, and then nothing does.
func (h *Host) askLedger(g *group, term memberstate.Term) {
	var end memberstate.Position
	err := fmt.Errorf("elector: group %q: LedgerEnd: %w", g.name, errExited)
	go func() {
		defer h.request(func() {
			if err == nil {
				err = g.checkLedger(term, end)
			}
			if err != nil && g.running {
				h.fail(g, err)
			}
			h.resume(g, func(p *pending) Need {
				if p.order != nil && p.order.withdrawn {
					return NeedNothing
				}
				return p.Ledger(&g.machine, &g.rules, &h.effects, end)
			})
		})
		end, err = g.ledgerEnd(term), nil
	}()
}

// checkLedger compares the ledger's end with what it can be.
//
// It moves back only when the leader of a later term overwrites what this member
// has, and then the engine has heard from that leader since: after a promise for
// a term only a leader of that term or a later one may change the ledger. And
// its term is one that this member led or heard the leader of, or that was in
// the ledger from the start.
func (g *group) checkLedger(term memberstate.Term, end memberstate.Position) error {
	log, heard := &g.ledgerLog, memberstate.Term(g.announced.Load())
	problem := ""
	switch {
	case end.Term > max(log.known, heard):
		problem = fmt.Sprintf("it ends in a term that was never announced through Heard; %d is the latest", max(log.known, heard))
	case end.Compare(log.end) < 0 && heard < log.asked:
		problem = "it has moved backwards, and no later leader was heard that could have shortened it"
	}
	if problem != "" {
		return &LedgerError{Group: g.name, Term: term, End: end, Before: log.end, Problem: problem}
	}
	log.end, log.asked = end, term
	return nil
}

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
// lower than the last one it has accepted. Promise.Accept does that.
func (e *Elector) Heard(term memberstate.Term, leader string) error {
	g := &e.group
	seat := g.members.Seat(leader)
	switch {
	case seat == g.rules.Self:
		return say(ErrOtherLeader, "Heard is for the appends of others: %q is this member itself, in group %q", leader, g.name)
	case !g.rules.Voters.Has(seat):
		return say(ErrOtherLeader, "an append of term %d is by %q, which is no voter of group %q", term, leader, g.name)
	}
	s := g.status()
	if s.Stopped || s.Revision == 0 {
		return g.notRunning()
	}
	if done, err := s.hears(term, leader); done {
		if err == nil {
			g.heardLeader(term, seat)
		}
		return err
	}
	processed := make(chan struct{})
	if !g.host.request(func() {
		g.host.give(g, &Input{Kind: Heard, Term: term, Seat: seat}, func() { close(processed) })
	}) {
		return g.notRunning()
	}
	<-processed
	if s = g.status(); s.Stopped {
		return g.notRunning()
	}
	done, err := s.hears(term, leader)
	switch {
	case !done: // refused as impossible, or lost again at once
		return fmt.Errorf("%w: an append of term %d by %q while in term %d", ErrStaleTerm, term, leader, s.Term)
	case err == nil:
		g.announce(term)
	}
	return err
}

// hears decides on an append by what is known, and is done if that suffices.
func (s *Status) hears(term memberstate.Term, leader string) (done bool, err error) {
	switch {
	case term < s.Term:
		return true, fmt.Errorf("%w: an append of term %d by %q in term %d", ErrStaleTerm, term, leader, s.Term)
	case term == s.Term && s.Leader != "" && s.Leader != leader:
		return true, fmt.Errorf("%w: an append of term %d by %q, but %q leads it", ErrOtherLeader, term, leader, s.Leader)
	}
	return term == s.Term && s.Leader == leader, nil
}

// heardLeader renews the wait for a leader that is followed already. Appends
// may be many: the loop is told of one in a quarter of a heartbeat.
func (g *group) heardLeader(term memberstate.Term, seat memberstate.Seat) {
	g.announce(term)
	now, last := int64(g.host.elapsed()), g.heardAt.Load()
	if now-last < int64(g.rules.Timing.Heartbeat)/4 || !g.heardAt.CompareAndSwap(last, now) {
		return
	}
	g.host.requestOnce(errand{group: g, kind: Heard}, func() { g.host.give(g, &Input{Kind: Heard, Term: term, Seat: seat}, nil) })
}

// announce remembers the largest term whose leader the engine has heard.
func (g *group) announce(term memberstate.Term) {
	for {
		known := g.announced.Load()
		if uint64(term) <= known || g.announced.CompareAndSwap(known, uint64(term)) {
			return
		}
	}
}
