// A member's report: its status, and figures that are measured on demand.

package elector

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Report is a Status with figures measured on demand.
type Report struct {
	Status
	// Lease is the remaining time of the lease that this member holds; 0: it holds none.
	Lease time.Duration
	// Ledger is where the engine's ledger ended at the last call of LedgerEnd.
	Ledger memberstate.Position
	// QuorumAge is, on a leader, the time since it sent the newest heartbeat that a
	// quorum has answered.
	QuorumAge time.Duration
	// Unable is for how long this member has not been able to lead; 0: it is able.
	Unable time.Duration
	// Preferred says that this member should lead whenever it can.
	Preferred bool
	// LastChoice says that it leads only if no other voter can, see Elector.Electable.
	LastChoice bool
}

// String returns the report in one line.
func (r Report) String() string {
	text := fmt.Sprintf("%v, ledger %v", r.Status, r.Ledger)
	if r.Lease > 0 {
		text += fmt.Sprintf(", lease %v", r.Lease.Round(time.Millisecond))
	}
	if r.Unable > 0 {
		text += fmt.Sprintf(", not able for %v", r.Unable.Round(time.Millisecond))
	}
	if r.Preferred {
		text += ", preferred"
	}
	if r.LastChoice {
		text += ", last choice"
	}
	if r.Role == memberstate.Leader {
		text += fmt.Sprintf(", quorum %v ago", r.QuorumAge.Round(time.Millisecond))
	}
	return text
}

// Report measures. It waits until the host's loop has time for it. For a member that does
// not run, only the Status is set.
func (e *Elector) Report(ctx context.Context) (Report, error) {
	before := Report{Status: e.Status()}
	report, runs, err := ask(ctx, e.Host(), e.newRequest(protocol.AskFigures).Subject, func(s protocol.Shown) Report {
		f := &s.Figures
		return Report{Status: e.Status(), Lease: f.Lease, Ledger: f.Ledger, QuorumAge: f.QuorumAge, Unable: f.Unable, Preferred: f.Preferred, LastChoice: f.LastChoice}
	})
	if err != nil || !runs {
		return before, err
	}
	return report, nil
}
