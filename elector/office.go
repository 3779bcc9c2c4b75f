// Being in office: the engine's Lead, the lease that bounds it, and the pause
// of writes before it is handed over. Each runs beside the loop, never in it.

package elector

import (
	"context"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// pauseJob is a handover for which the engine pauses its writes.
type pauseJob struct{ cancel context.CancelFunc }

// transfer is a call of TransferLeadership that waits for the handover's end.
type transfer struct {
	term memberstate.Term
	done chan error
}

// attend brings what runs beside the loop in line with what the machine is now.
// It is called after every step.
func (h *Host) attend(g *group) {
	m := &g.machine
	h.countQuorum(g)
	h.attendLease(g)
	h.attendOffice(g)
	h.attendHandover(g)
	if m.Role == memberstate.Leader {
		g.ledgerLog.known = m.Term
	} else if g.retiring {
		h.end(g, nil)
	}
}

// attendLease extends the lease when a quorum has confirmed it. It runs from
// when the beat was sent, not from when the answers came.
func (h *Host) attendLease(g *group) {
	beat, held := g.machine.LeaseBeat(), g.lease.Load()
	if beat == 0 {
		g.dropLease()
		return
	}
	sent := h.now // a lone voter's beat is sent to nobody, and answered at once
	if g.rules.others() != 0 {
		sent = g.sent.beats[beat%recentBeats]
	}
	t := g.rules.Timing
	until := sent + t.Detection() - t.DriftMargin
	if held != nil && held.Term == g.machine.Term {
		held.Extend(until, h.now)
		return
	}
	g.dropLease()
	l := office.NewLease(g.machine.Term, until)
	g.lease.Store(l)
	g.outstanding++
	go h.watchLease(g, l)
}

func (g *group) dropLease() {
	if l := g.lease.Swap(nil); l != nil {
		l.End()
	}
}

// watchLease ends the office when the lease runs out. It is a goroutine of its
// own, for it must do so also when the loop is held up.
func (h *Host) watchLease(g *group, l *office.Lease) {
	lapsed := l.RunsOut(h.elapsed)
	if o := g.office.Load(); lapsed && o != nil && o.Term == l.Term {
		o.Close()
	}
	h.request(func() {
		g.outstanding--
		if lapsed && g.machine.Term == l.Term {
			h.give(g, &Input{Kind: Lapsed}, nil)
		}
		h.bury(g)
	})
}

// attendOffice calls Lead when there is a term to lead, once for each, and never
// before the Lead of the term before has returned.
func (h *Host) attendOffice(g *group) {
	m, o := &g.machine, g.office.Load()
	leads := m.Role == memberstate.Leader && g.running
	if g.rules.Lease > 0 {
		leads = leads && g.lease.Load() != nil
	}
	switch {
	case o != nil:
		if !leads || o.Term != m.Term {
			o.Close()
		}
	case leads && g.config.Lead != nil && g.served < m.Term:
		h.openOffice(g)
	case m.serving && m.Role != memberstate.Leader && g.running:
		h.give(g, &Input{Kind: Served}, nil)
	}
}

func (h *Host) openOffice(g *group) {
	o := office.Open(g.machine.Term)
	g.served = o.Term
	g.office.Store(o)
	g.outstanding++
	go func() {
		early, err := o.Serve(g.config.Lead)
		h.request(func() {
			g.outstanding--
			g.office.Store(nil)
			if early {
				if g.pause == nil { // it was not asked to end
					h.log.Warn("lead returned early, resigning", "group", g.name, "term", uint64(o.Term), "error", err)
				}
				h.give(g, &Input{Kind: Resign}, nil)
			}
			if g.running {
				h.attend(g)
			}
			h.bury(g)
		})
	}()
}

// endOffice ends what this member may do as a leader, at once.
func (g *group) endOffice() {
	g.dropLease()
	if o := g.office.Load(); o != nil {
		o.Close()
	}
}

// attendHandover pauses the engine's writes when the target is ready, and tells
// who waits when the handover is over.
func (h *Host) attendHandover(g *group) {
	m := &g.machine
	switch {
	case m.handover == Pausing && g.pause == nil && g.running:
		h.pauseWrites(g)
	case m.handover == NoHandover && g.pause != nil:
		g.pause.cancel()
		g.pause = nil
	}
	if m.handover != NoHandover || len(g.transfers) == 0 {
		return
	}
	for _, t := range g.transfers {
		if m.Role == memberstate.Leader && m.Term == t.term {
			t.done <- ErrTransferFailed
		} else {
			t.done <- nil
		}
	}
	g.transfers = nil
}

func (h *Host) pauseWrites(g *group) {
	ctx, cancel := context.WithCancel(context.Background())
	job := &pauseJob{cancel}
	g.pause = job
	if g.config.Pause == nil {
		h.give(g, &Input{Kind: Paused}, nil)
		return
	}
	term := g.machine.Term
	g.outstanding++
	go func() {
		err := g.config.Pause(ctx, term)
		h.request(func() {
			g.outstanding--
			switch {
			case g.pause != job: // over already
			case err != nil:
				h.log.Warn("writes could not be paused", "group", g.name, "term", uint64(term), "error", err)
				h.give(g, &Input{Kind: Abort}, nil)
			default:
				h.give(g, &Input{Kind: Paused}, nil)
			}
			h.bury(g)
		})
	}()
}
