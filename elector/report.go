// What a member is and has, measured when somebody asks.

package elector

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector/protocol"
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

// String is the status, and what was measured.
func (r Report) String() string {
	text := fmt.Sprintf("%v, ledger %v", r.Status, r.Ledger)
	if r.Lease > 0 {
		text += fmt.Sprintf(", lease %v", r.Lease.Round(time.Millisecond))
	}
	if r.Role == memberstate.Leader {
		text += fmt.Sprintf(", quorum %v ago", r.QuorumAge.Round(time.Millisecond))
	}
	return text
}

// Report measures. It waits for its turn among what the host has to do. A member that
// does not run has a Status and nothing else.
func (e *Elector) Report(ctx context.Context) (Report, error) {
	report := Report{Status: e.Status()}
	if report.Revision == 0 || report.Stopped {
		return report, nil
	}
	r := e.about(protocol.AskFigures)
	r.For = &measurement{elector: e, made: make(chan struct{})}
	waits, done := e.Host().requestOnce(r)
	if !done {
		return report, nil
	}
	m := waits.(*measurement)
	select {
	case <-m.made:
		return m.report, nil
	case <-ctx.Done():
		return report, ctx.Err()
	}
}

// measurement is a report that the loop has been asked for. All who ask before it is made
// share it, so that callers who do not wait leave no requests behind.
type measurement struct {
	elector *Elector
	made    chan struct{} // closed when there is one
	report  Report
}

// Measured makes the report.
func (m *measurement) Measured(f protocol.Figures) {
	m.report = Report{Status: m.elector.Status(), Lease: f.Lease, Ledger: f.Ledger, QuorumAge: f.QuorumAge}
	close(m.made)
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
