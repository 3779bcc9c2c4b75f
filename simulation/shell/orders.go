// This file has the operators, who order handovers and elections, and withdraw orders at bad moments.

package shell

import (
	"context"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// order gives a member orders as long as faults strike.
func (m *member) order() {
	w := m.process.world()
	for {
		timer := time.NewTimer(w.drawn(6 * m.detection()))
		select {
		case <-timer.C:
		case <-m.gone:
			timer.Stop()
			return
		case <-w.calm:
			timer.Stop()
			return
		}
		if m.el.Status().Role == memberstate.Leader || w.drawn64()%8 == 0 {
			w.work.Go(m.orderOnce)
		}
	}
}

func (m *member) orderOnce() {
	w := m.process.world()
	j := w.judge
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if w.drawn64()%3 == 0 {
		// A short context ends between two steps of a handover.
		most := m.detection() << (w.drawn64() % 3) >> (w.drawn64() % 8)
		impatient := time.AfterFunc(w.drawn(most), cancel)
		defer impatient.Stop()
	}
	switch w.drawn64() % 5 {
	case 0, 1:
		j.struck(TransferOrder)
		to := ""
		if voters := m.group.voters; w.drawn64()%3 > 0 {
			to = nodeName(voters[w.drawn64()%uint64(len(voters))])
		}
		_ = m.transfer(ctx, to) // the judge has checked the outcome
	case 2:
		j.struck(ResignOrder)
		m.resign(ctx)
	case 3:
		j.struck(StandOrder)
		follows := j.campaigns(m)
		m.el.Campaign()
		settle()
		j.campaigned(m, follows)
	default:
		m.report(ctx)
	}
}

func (m *member) transfer(ctx context.Context, to string) error {
	j := m.process.world().judge
	withdraw := j.ordered(m, to)
	before := m.el.Status()
	done := j.calls(m, "TransferLeadership("+to+")")
	forget := j.hurries(ctx, m, "TransferLeadership")
	err := m.el.TransferLeadership(ctx, to)
	forget()
	done(err)
	j.transferred(m, &before, to, err)
	m.withdraws(withdraw)
	return err
}

func (m *member) resign(ctx context.Context) {
	j := m.process.world().judge
	withdraw := j.ordered(m, "")
	before := m.el.Status()
	done := j.calls(m, "Resign")
	forget := j.hurries(ctx, m, "Resign")
	err := m.el.Resign(ctx)
	forget()
	done(err)
	j.resigned(ctx, m, &before, err)
	m.withdraws(withdraw)
}

// withdraws forgets an order once its messages have been sent, which happens at the same
// moment unless something holds the process up.
func (m *member) withdraws(forget func()) {
	w := m.process.world()
	settle()
	for !m.process.isDead() && !w.isOver() && !m.process.busy.noneSince(time.Now().Add(-1)) {
		time.Sleep(m.timing.Heartbeat / 4)
	}
	forget()
}

// report asks for a report, which takes no time unless the process is held up.
func (m *member) report(ctx context.Context) {
	j := m.process.world().judge
	done := j.calls(m, "Report")
	began := time.Now()
	r, err := m.el.Report(ctx)
	done(err)
	j.reported(m, began, &r, err)
}
