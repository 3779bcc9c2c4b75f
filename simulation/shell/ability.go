// This file has the engines' words on whether they are able to lead, in the three ways in which an engine
// may give them: it calls Alive, it answers Healthy, or one function answers for all groups of its process.

package shell

import (
	"context"
	"runtime"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
)

// vouching is how the engines of a group vouch for themselves.
type vouching struct {
	counts time.Duration // how long a word counts; 0: they need not vouch
	asked  bool          // they answer Healthy; otherwise they call Alive
}

// configure has the member's configuration ask for the engine's word.
func (v *vouching) configure(c *elector.GroupConfig, m *member) {
	if v.counts == 0 {
		return
	}
	c.Vouch = time.Duration(float64(v.counts) / m.process.node.rate)
	if v.asked {
		c.Healthy = m.healthy
	}
}

// healthy is the engine's Healthy. It may take as long as its answer would count, fail, or end its goroutine.
func (m *member) healthy(ctx context.Context) error {
	j := m.process.world().judge
	defer j.called(m, "Healthy")()
	if !m.flaky(8) {
		m.linger(m.timing.Heartbeat / 2)
		return nil
	}
	j.struck(NotWell)
	err := m.misbehave(ctx)
	m.linger(m.timing.Heartbeat)
	return err
}

// vouch calls Alive several times while a word counts, and falls silent now and then.
func (m *member) vouch() {
	w := m.process.world()
	for {
		wait := w.drawn(m.group.vouching.counts / 2)
		if m.flaky(16) {
			w.judge.struck(NotWell)
			wait += w.drawn(4 * m.group.vouching.counts)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			m.el.Alive()
		case <-m.gone:
			timer.Stop()
			return
		}
	}
}

// stalled is the function that judges the engines of all groups of the process. It names some of them that are
// well, names groups that are not here, does not return for a while, or ends its goroutine.
func (p *process) stalled(ctx context.Context) (named []string) {
	w := p.world()
	defer w.judge.judges(p)()
	if w.isCalm() || p.isDead() || w.drawn64()%8 > 0 {
		return nil
	}
	w.judge.struck(JudgeFails)
	switch w.drawn64() % 4 {
	case 0:
		<-ctx.Done()
		w.sleepInTrouble(w.drawn(w.plan.longest))
	case 1:
		runtime.Goexit()
	}
	for _, g := range w.plan.groups {
		if w.drawn64()%2 == 0 {
			named = append(named, g.name)
		}
	}
	return append(named, "unknown")
}

// judges checks that the function that judges all engines does not run already.
func (j *judge) judges(p *process) (returned func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds(JudgedOnce, !p.judging, p.node.name, "Stalled is called while it runs")
	p.judging = true
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		p.judging = false
	}
}

// falters says whether a member that depends on its engine's word has shown that it is not able to lead.
func (m *member) falters() bool {
	vouches := m.group.vouching.counts > 0 || m.process.world().plan.judged
	return vouches && m.shown.Inability != protocol.Able
}
