// Engines that hang: for a while they do not return from what they are asked.

package simulation

// hang is a set of what an engine does not do any more while it hangs.
type hang uint8

const (
	hangsVouch  hang = 1 << iota // it says neither by its work nor when it is asked that it is able to lead
	hangsLedger                  // LedgerEnd does not return
	hangsPause
	hangsLead // after its context has ended
)

// hangsIn is what an engine does not do that is struck by a fault.
var hangsIn = [faults]hang{
	EngineHangs:    hangsVouch | hangsLedger | hangsPause | hangsLead,
	EngineSilent:   hangsVouch,
	LedgerEndHangs: hangsLedger,
	PauseHangs:     hangsPause,
	LeadHangs:      hangsLead,
}

// hangEngine has an engine hang for a while. Silence makes no difference if nothing vouches for engines.
func hangEngine(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.hang(hangsIn[s.Fault])
		w.about(int64(s.Lasts), engineReturns, m, 0)
	}
	w.tracer.lasts(s)
	return s.Fault != EngineSilent || w.vouches()
}

// hang has the engine not do some of what it is asked.
func (m *member) hang(what hang) {
	e := &m.engine
	e.hangs |= what
	e.Hangs = true
}

// holds says whether the engine does not return from something that it has been asked, and remembers
// that.
func (e *engine) holds(what hang) bool {
	if e.hangs&what == 0 {
		return false
	}
	e.held |= what
	return true
}

// returnsFromAll ends a hang: everything that was called meanwhile returns.
func (m *member) returnsFromAll() {
	e := &m.engine
	held, pauses := e.held, e.pauses
	e.hangs, e.held, e.pauses, e.Hangs = 0, 0, nil, false
	if !m.Alive {
		return
	}
	if held&hangsLedger != 0 {
		m.does(func() { m.tellLedger(e.ledgerEnd(e.asked)) })
	}
	for _, number := range pauses {
		m.does(func() { m.pauseEnds(number) })
	}
	if held&hangsLead != 0 {
		m.returned(m.Incarnation)
	}
	if held&hangsVouch != 0 {
		m.answerHealth(m.Incarnation)
	}
}
