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
	g := &e.group
	report := Report{Status: e.Status()}
	if report.Revision == 0 || report.Stopped {
		return report, nil
	}
	made := make(chan Report, 1)
	g.host.request(func() { made <- g.report() })
	select {
	case report = <-made:
		return report, nil
	case <-g.done():
		return Report{Status: e.Status()}, nil
	case <-ctx.Done():
		return report, ctx.Err()
	}
}

func (g *group) report() Report {
	h, m := g.host, &g.machine
	r := Report{Status: g.status(), Ledger: g.ledgerLog.end}
	if l := g.lease(); l != nil {
		r.Lease = max(0, l.Until()-h.now)
	}
	if m.Role == memberstate.Leader && g.rules.quorum() > 1 {
		r.QuorumAge = g.quorumAge(h.now)
	}
	return r
}

// quorumAge is a multiple of heartbeats where it is not known better: no beat of the
// term has been answered yet, or so many have not been that its time is not kept.
func (g *group) quorumAge(now time.Duration) time.Duration {
	m := &g.machine
	if sent, known := g.sent.beat(m, m.heardBeat); known && m.acks[m.heardBeat%recentBeats].Len() >= g.rules.quorum() {
		return now - sent
	}
	return time.Duration(m.beat-m.heardBeat) * g.rules.Timing.Heartbeat
}

// Preferred are the ids of the voters that should lead whenever they can.
func (e *Elector) Preferred() (ids []string) {
	for seat := range e.group.rules.Preferred.Seats() {
		ids = append(ids, e.group.members.ID(seat))
	}
	return ids
}

// Timing is that of the group at this member.
func (e *Elector) Timing() Timing { return e.group.rules.Timing }
