// What a member is and has, measured when somebody asks.

package elector

import (
	"context"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Report is a Status, and what is measured when it is asked for.
type Report struct {
	Status
	// Lease is how long the lease lasts on that this member holds; 0: it holds none.
	Lease time.Duration
	// Ledger is where the engine's ledger ended when it was last asked.
	Ledger memberstate.Position
	// QuorumAge is, on a leader, how long ago the newest heartbeat was sent that a
	// quorum has answered.
	QuorumAge time.Duration
}

// Report measures. It waits for its turn among what the host has to do. A member that
// does not run has a Status and nothing else.
func (e *Elector) Report(ctx context.Context) (Report, error) {
	report := Report{Status: e.Status()}
	if report.Revision == 0 || report.Stopped {
		return report, nil
	}
	made := make(chan Report, 1)
	e.Host().request(func() { made <- e.report() })
	select {
	case report = <-made:
		return report, nil
	case <-e.Done():
		return Report{Status: e.Status()}, nil
	case <-ctx.Done():
		return report, ctx.Err()
	}
}

func (e *Elector) report() Report {
	g, now := &e.group, e.Host().now
	return Report{Status: e.Status(), Ledger: g.LedgerEnd(), Lease: g.LeaseLeft(now), QuorumAge: g.QuorumAge(&g.Rules, now)}
}

// Preferred are the ids of the voters that should lead whenever they can.
func (e *Elector) Preferred() (ids []string) {
	for seat := range e.group.Rules.Preferred.Seats() {
		ids = append(ids, e.group.Members.ID(seat))
	}
	return ids
}

// Timing is that of the group at this member.
func (e *Elector) Timing() Timing { return e.group.Rules.Timing }
