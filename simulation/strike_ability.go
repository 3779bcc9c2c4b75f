// The ability to lead: engines that vouch for it or not, and operators that forbid a member to lead.
//
// An engine vouches by its work, or when it is asked, as the options say. Or its node judges it, see
// node_judge.go.

package simulation

import (
	"errors"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// Vouched says whether the engine has vouched by its work.
func (m *member) Vouched() bool {
	e, w := &m.engine, m.world
	if w.options.Asked {
		return false
	}
	switch {
	case e.hangs&hangsVouch != 0, e.flaps.down(w.now), w.now-e.vouched < e.Slow:
		m.mute()
		return false
	}
	e.vouched, e.Mute = w.now, 0
	return true
}

// AskHealth asks the engine whether it is well.
func (m *member) AskHealth() bool {
	e, w := &m.engine, m.world
	if !w.options.Asked {
		return false
	}
	e.vouched = max(w.now, 1)
	switch {
	case e.holds(hangsVouch):
		m.mute()
	case e.Slow > 0:
		m.mute()
		w.about(m.takes(choice.Health), healthAnswered, m, m.Incarnation)
	default:
		w.about(0, healthAnswered, m, m.Incarnation)
	}
	return true
}

// mute notes since when the engine has not vouched.
func (m *member) mute() {
	if e := &m.engine; e.Mute == 0 {
		e.Mute = max(m.world.now, 1)
	}
}

// answerHealth has an engine say whether it is well.
func (m *member) answerHealth(incarnation uint32) {
	if !m.Alive || m.Incarnation != incarnation {
		return
	}
	e, r := &m.engine, m.about(protocol.TellHealth)
	if e.Mute = 0; e.vouched < m.world.now {
		e.Mute = e.vouched // its word counts from when it was asked, and may be too old by now
	}
	if e.unwell = e.flaps.down(m.world.now); e.unwell {
		r.Err = errUnwell
	}
	m.saysUnwell()
	m.ask(r)
}

// saysUnwell notes whether the engine's last word was that it is not well. A step that waits may yet show what was
// said before.
func (m *member) saysUnwell() {
	e := &m.engine
	e.Unwell = e.unwell || e.named || e.Unwell && m.group.Waits()
}

var errUnwell = errors.New("the engine is not well")

// flapping is an engine whose ability comes and goes.
type flapping struct{ from, period int64 }

// down says whether it is not able at a time. It begins so.
func (f flapping) down(now int64) bool {
	return f.period > 0 && (now-f.from)%f.period < (f.period+1)/2
}

// drawFlaps draws periods from less than the word of an engine counts to many detection times.
func drawFlaps(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	d := w.options.Timing.Detection()
	s.Lasts = d + w.swarm.span(64*d)
	s.Count = 1 + int64(w.options.Vouch+w.swarm.span(1+2*w.options.Vouch+8*d))
	return w.vouches()
}

// worksAgain ends what has kept a member from leading.
func (m *member) worksAgain(kind eventKind) {
	switch kind {
	case engineReturns:
		m.returnsFromAll()
	case flapsEnd:
		m.engine.flaps = flapping{}
	default:
		m.mayLead()
	}
}

// flap has an engine be not able and able in turn, with a period of s.Count nanoseconds.
func flap(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.engine.flaps = flapping{w.now, s.Count}
		w.about(int64(s.Lasts), flapsEnd, m, 0)
	}
	w.tracer.lasts(s)
	return w.vouches()
}

// vouches says whether anything in this world says that an engine is able to lead, or is not.
func (w *world) vouches() bool { return w.options.Vouch > 0 || w.options.Judged }

// bar orders a member not to lead, for a while.
func bar(w *world, s *Strike) (struck bool) {
	for _, m := range w.membersOf(s) {
		if m.Alive {
			m.mayNotLead()
			w.about(int64(s.Lasts), electableAgain, m, 0)
			struck = true
		}
	}
	w.tracer.lasts(s)
	return struck
}

// mayNotLead orders a member not to lead. The order ends with its process, at the latest.
func (m *member) mayNotLead() {
	m.engine.Barred = true
	r := m.about(protocol.AskElectable)
	r.Never = true
	m.ask(r)
}

// mayLead withdraws that order.
func (m *member) mayLead() {
	if m.engine.Barred {
		m.engine.Barred = false
		m.ask(m.about(protocol.AskElectable))
	}
}
