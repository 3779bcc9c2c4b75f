// When the engine's Lead runs: once for each term that this member leads, while it leads the term
// and, with leases, while it holds the lease. It never begins before the Lead of the term before
// has returned.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// lead is the call of the engine's Lead.
type lead struct {
	term    memberstate.Term // the last one that it was called for
	running bool             // it has not returned
	ending  bool             // its context has ended
	quits   bool             // this member is to resign, of its own accord
	lost    bool             // the office has ended before the machine could be told
}

// attendLead begins and ends Lead, and returns the input by which the machine learns of it.
func (s *Session) attendLead(r *Rules, now time.Duration, fx Effects) (own InputKind) {
	l := &s.duties.lead
	if s.duties.lease.over {
		return Lapsed
	}
	leads := s.Role == memberstate.Leader && (r.Lease == 0 || s.LeaseLeft(now) > 0)
	if !leads { // the Lead of an earlier term was ended with its office
		s.endLead(fx)
	}
	if !l.running {
		switch {
		case leads && l.term < s.Term:
			*l = lead{term: s.Term, running: true, quits: l.quits}
			fx.Lead(s.Term)
		case s.Serving() && s.Role != memberstate.Leader:
			return Served
		}
	}
	if l.quits {
		l.quits = false
		if s.Role == memberstate.Leader {
			s.duties.orders.own = true
			return Resign
		}
	}
	return 0
}

func (s *Session) endLead(fx Effects) {
	if d := s.duties; d != nil && d.lead.running && !d.lead.ending {
		d.lead.ending = true
		fx.EndLead(d.lead.term)
	}
}

// endOffice ends at once what this member may do as a leader.
func (s *Session) endOffice(fx Effects) {
	s.dropLease(fx)
	s.endLead(fx)
}

// LeadReturned tells the session that the Lead of a term has returned; early means that its context
// had not ended. Then the engine does not want to serve, so a leader resigns, and quits is true.
func (s *Session) LeadReturned(term memberstate.Term, early bool) (quits bool) {
	if s.duties == nil || !s.duties.lead.running || s.duties.lead.term != term {
		return false
	}
	l := &s.duties.lead
	quits = early && !l.ending // it ends with the office
	*l = lead{term: l.term, quits: l.quits || quits, lost: l.lost}
	return quits
}

// Quit makes this member resign if it leads. That is never withdrawn.
func (s *Session) Quit() { s.duty().lead.quits = true }

// LosesOffice ends the office of a leader whose step has waited for the ledger for so long that others
// have taken the leader for gone: it has sent no heartbeat meanwhile. The step has changed nothing yet,
// and never will.
func (s *Session) LosesOffice(x *Step, fx Effects) {
	if s.Role != memberstate.Leader || x.need != NeedLedger || x.shown.Role != memberstate.Leader {
		return
	}
	s.duty().lead.lost, x.Withdrawn = true, true
	s.losesOffice(x, DepartedNotAble, fx)
}

// losesOffice ends the office of a leader whose step waits.
func (s *Session) losesOffice(x *Step, why Departure, fx Effects) {
	s.endOffice(fx)
	s.departs(x.shown.Leader, why)
	x.shown = x.shown.lost()
	x.shown.Last, x.shown.Departure = s.last, s.departure
	if !x.told {
		x.told = true
		fx.Show(x.shown)
	}
}
