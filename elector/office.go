// Being in office: the engine's Lead, and the lease that bounds it. Each runs beside
// the loop, never in it.

package elector

import (
	"context"
	"time"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// attend brings what runs beside the loop in line with what the machine is now.
// It is called after every step, and does nothing in the middle of one.
func (h *Host) attend(g *group) {
	if g.busy != nil || !g.running {
		return
	}
	m := &g.machine
	h.countQuorum(g)
	if g.isBusyBeside() {
		h.attendLease(g)
		h.attendOffice(g)
		h.attendHandover(g)
		g.tidy()
	}
	if m.Role == memberstate.Leader {
		g.ledgerLog.known = m.Term
	} else if g.retiring {
		h.end(g, nil)
	}
}

// isBusyBeside says whether anything may run beside the loop, or be due to begin. For
// an idle group this is false, so that a heartbeat finds nothing to attend to.
func (g *group) isBusyBeside() bool {
	m := &g.machine
	return g.extra.Load() != nil || m.LeaseBeat() != 0 || m.handover != NoHandover || m.serving && m.Role != memberstate.Leader
}

// attendLease extends the lease when a quorum has confirmed it.
func (h *Host) attendLease(g *group) {
	held := g.lease()
	if g.machine.LeaseBeat() == 0 || held != nil && held.Term != g.machine.Term {
		g.dropLease()
		held = nil
	}
	from, known := g.leaseFrom(h.now)
	if !known {
		return
	}
	until := from + g.rules.Timing.Detection() - g.rules.Timing.DriftMargin
	if held != nil {
		held.Extend(until, h.now)
		return
	}
	l := office.NewLease(g.machine.Term, until)
	g.extras().lease.Store(l)
	h.watchLease(g, l)
}

// leaseFrom is when the lease began. A lone voter has sent nothing to anybody.
func (g *group) leaseFrom(now time.Duration) (time.Duration, bool) {
	sent := g.sent
	if sent == nil {
		sent = new(sendTimes)
	}
	return sent.LeaseFrom(&g.machine, &g.rules, now)
}

func (g *group) dropLease() {
	if l := g.lease(); l != nil {
		g.extras().lease.Store(nil)
		l.End()
	}
}

// watchLease ends the office when the lease runs out. It is a goroutine of its
// own, for it must do so also when the loop is held up.
func (h *Host) watchLease(g *group, l *office.Lease) {
	lapsed := false
	h.beside(g, func() {
		lapsed = l.RunsOut(h.elapsed)
		if o := g.office(); lapsed && o != nil && o.Term == l.Term {
			o.Close()
		}
	}, func() {
		if lapsed && g.machine.Term == l.Term {
			h.give(g, &Input{Kind: Lapsed}, nil)
		}
	})
}

// attendOffice calls Lead when there is a term to lead, once for each, and never
// before the Lead of the term before has returned.
func (h *Host) attendOffice(g *group) {
	m, x, o := &g.machine, g.extras(), g.office()
	leads := m.Role == memberstate.Leader
	if g.rules.Lease > 0 {
		leads = leads && h.holds(g.lease())
	}
	switch {
	case o != nil:
		if !leads || o.Term != m.Term {
			o.Close()
		}
	case leads && x.lead != nil && x.served < m.Term:
		h.openOffice(g)
	case m.serving && m.Role != memberstate.Leader:
		h.give(g, &Input{Kind: Served, Number: m.beat}, nil)
	}
}

// holds says whether a lease is held. What was confirmed may have run out by then,
// where round trips are long.
func (h *Host) holds(l *office.Lease) bool {
	if l == nil {
		return false
	}
	_, held := l.Holds(h.elapsed())
	return held
}

// openOffice calls Lead. If it ends its goroutine instead of returning, that is an
// early return like any other.
func (h *Host) openOffice(g *group) {
	o, x := office.Open(g.machine.Term), g.extras()
	x.served = o.Term
	x.office.Store(o)
	if g.rules.Lease > 0 && !h.holds(g.lease()) {
		o.Close() // whoever watches the lease may have looked for an office before there was one
	}
	early, err := false, errExited
	lead := func(ctx context.Context, term memberstate.Term) error {
		defer func() { early = ctx.Err() == nil }()
		err = x.lead(ctx, term)
		return err
	}
	h.beside(g, func() { _, _ = o.Serve(lead) }, func() {
		x.office.Store(nil)
		if early {
			if x.pausing == nil { // it was not asked to end
				h.log.Warn("lead returned early, resigning", "group", g.name, "term", uint64(o.Term), "error", err)
			}
			h.resign(g)
		}
		h.attend(g)
	})
}

// endOffice ends what this member may do as a leader, at once.
func (g *group) endOffice() {
	g.dropLease()
	if o := g.office(); o != nil {
		o.Close()
	}
}
