// A handover, as a session sees it: the orders that want it, and the engine's writes, which
// pause for it.
//
// The machine has one handover at a time, and several orders may want it: a resignation joins a
// transfer. So after every step the session compares the handover with the orders that stand. It
// gives up a handover that no order wants any more, and if no order wants the member to resign, the
// member remains when its handover fails. So an order can be withdrawn at any moment, and the other
// orders are not affected.

package protocol

// orders are how many stand, of each kind.
type orders struct {
	transfers, resignations uint32
	own                     bool // the session's own, to resign
	handing                 bool // a handover was under way after the last step
}

func (o *orders) any() bool { return o.own || o.handing || o.transfers+o.resignations > 0 }

// pause is the state of the engine's pause of its writes.
type pause struct {
	number  uint32 // of the newest one
	running uint32 // calls of Pause, this one and older ones, of which the engine has not said yet what came of them
	asked   bool   // and a handover waits for it
	ready   bool
	failed  bool
}

// Orders tells the session how many orders stand.
func (s *Session) Orders(transfers, resignations int) {
	o := &s.duty().orders
	o.transfers, o.resignations = uint32(transfers), uint32(resignations)
}

// HandsOver says whether a handover is under way, or an order for one stands. A transfer is refused then.
func (s *Session) HandsOver() bool {
	transfer, resign := s.Ordered()
	return transfer || resign || s.Handover().Phase != NoHandover
}

// PauseEnded tells the session the result of a Pause, and returns whether a handover waited for it.
func (s *Session) PauseEnded(number uint32, paused bool) (awaited bool) {
	if s.duties == nil {
		return false
	}
	p := &s.duties.pause
	if p.running > 0 {
		p.running--
	}
	if p.number != number {
		return false
	}
	p.ready, p.failed = paused, !paused
	return p.asked
}

// pausedLast says whether the engine has not been asked to pause its writes again after this.
func (s *Session) pausedLast(number uint32) bool {
	return s.duties != nil && s.duties.pause.number == number
}

// attendHandover compares the handover with the orders that stand, and pauses the engine's writes
// for it when the target is ready. A leader of which something hangs has told its heir to stand without
// a pause (D26). Its writes are paused all the same, but nothing waits for that: as long as some of them
// still reach the followers, one of those may always be ahead of the heir, and refuse it.
func (s *Session) attendHandover(fx Effects) (own InputKind) {
	o, p, h := &s.duties.orders, &s.duties.pause, s.Handover()
	switch {
	case h.Phase == NoHandover:
		s.endPause(fx)
		if o.any() {
			o.own, o.handing = false, false
			fx.Settle()
		}
		return 0
	case h.Resigning && !o.own && o.resignations == 0:
		return Remain
	case h.Reason != ToPreferred && h.Reason != ToAble && !o.own && o.transfers+o.resignations == 0:
		return Abort
	}
	if h.Phase == Probing {
		return 0
	}
	if !p.asked {
		*p = pause{number: p.number + 1, running: p.running + 1, asked: true}
		fx.Pause(s.Term, p.number)
	}
	switch {
	case h.Phase != Pausing:
	case p.failed:
		return Abort
	case p.ready:
		return Paused
	}
	return 0
}

// pauses says whether the engine's writes are paused, or about to be.
func (s *Session) pauses() bool { return s.duties != nil && s.duties.pause.asked }

func (s *Session) endPause(fx Effects) {
	if d := s.duties; d != nil && d.pause.asked {
		d.pause = pause{number: d.pause.number, running: d.pause.running}
		fx.Resume()
	}
}
