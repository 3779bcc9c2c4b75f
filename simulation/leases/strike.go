// Strikes. Each seed enables some of the faults, so that rare combinations occur and no frequent fault
// hides another.

package leases

import (
	"context"
	"fmt"
	"time"
)

// enable draws the faults of a run, and how often they strike.
func (w *world) enable() {
	w.enabled = NoFaults
	for _, f := range Faults() {
		w.rates[f] = 3 << w.draw(5)
		if drawn := w.draw(3) == 0; drawn && w.options.Faults.Has(f) {
			w.enabled |= 1 << f
		}
	}
	w.every = w.between(ttl/4, 4*ttl)
}

// chance says whether a fault strikes this statement.
func (w *world) chance(f Fault) bool {
	if w.calm || !w.enabled.Has(f) || w.draw(w.rates[f]) != 0 {
		return false
	}
	w.struck[f]++
	return true
}

// setUp inflicts the faults that are present from the beginning.
func (w *world) setUp() {
	if w.enabled.Has(ClockRates) {
		w.struck[ClockRates]++
		w.drawRates(int64(timing.DriftMargin) * trueRate / int64(timing.TTL) / 2 * 9 / 10)
	}
	if w.enabled.Has(ClockBeyond) {
		w.struck[ClockBeyond]++
		w.check.excused = true
		w.drawRates(trueRate / 5)
	}
	if w.enabled.Has(EarlyLook) {
		w.struck[EarlyLook]++
		w.check.excused = true
		w.enabled |= 1 << SlowCommit
	}
	if w.enabled.Has(OddTiming) {
		w.struck[OddTiming]++
		t := &w.anyone().options.timing
		halved, doubled := w.draw(2), w.draw(3)
		for _, d := range []*time.Duration{&t.TTL, &t.Renew, &t.Poll, &t.Timeout, &t.DriftMargin} {
			*d = *d >> halved << doubled
		}
		// Nor have they the usual ratios: those would hide that one is taken for another.
		t.Renew >>= w.draw(3)
		t.Poll = t.Poll >> w.draw(3) << w.draw(4)
		t.Timeout = t.Timeout >> w.draw(3) << w.draw(3)
	}
	if w.enabled.Has(Patient) {
		w.struck[Patient]++
		for _, n := range w.candidates {
			n.options.timing.Timeout = 2 * n.options.timing.TTL
		}
	}
	if w.enabled.Has(Onlooker) && len(w.candidates) > 2 {
		w.struck[Onlooker]++
		w.anyone().options.observer = true
	}
	w.setUpServices()
}

// drawRates has all clocks differ from true time by up to a number of millionths, many by all of it.
func (w *world) drawRates(most int64) {
	clocks := []*clock{&w.database.clock}
	for _, n := range w.candidates {
		clocks = append(clocks, &n.clock)
	}
	for _, c := range clocks {
		c.rate += []int64{-most, most, w.between(-most, most)}[w.draw(3)]
	}
}

// schedule draws when the next fault strikes. Some follow each other closely.
func (w *world) schedule() {
	var striking []Fault
	for _, f := range Faults() {
		if w.enabled.Has(f) && known[f].inflict != nil {
			striking = append(striking, f)
		}
	}
	if len(striking) == 0 {
		return
	}
	wait := w.draw(2 * w.every)
	if w.draw(4) == 0 {
		wait = w.draw(int64(timing.Renew))
	}
	w.at(w.now+wait, func() {
		if w.calm {
			return
		}
		if f := striking[w.draw(int64(len(striking)))]; known[f].inflict(w) {
			w.struck[f]++
			w.tell("%v strikes", f)
		}
		w.schedule()
	})
}

// span is how long something lasts: up to three TTLs, and often much less.
func (w *world) span() int64 { return w.between(0, 3*ttl>>w.draw(8)) }

// lasts ends something after a while, unless it has ended by then.
func (w *world) lasts(end func()) { w.at(w.now+w.span(), end) }

func (w *world) anyone() *candidate { return w.candidates[w.draw(int64(len(w.candidates)))] }

// someone is often the leader, or a candidate that is about to lead.
func (w *world) someone() *candidate {
	chosen := w.anyone()
	if w.draw(2) == 0 {
		for _, n := range w.candidates {
			if n.leads() >= 0 || n.claiming() > 0 {
				chosen = n
			}
		}
	}
	return chosen
}

func (w *world) slowLink() bool {
	n := w.someone()
	n.far = time.Duration(w.between(0, ttl>>w.draw(8)))
	w.lasts(func() { n.far = 0 })
	return true
}

// cutOff cuts one way or both.
func (w *world) cutOff(n *candidate) {
	how := w.draw(3)
	n.cut, n.deaf = how != 0, how != 1
	n.deafen()
	n.cuts++
	w.tell("%s is cut off: its questions %v, its answers %v", n.id, n.cut, n.deaf)
	w.lasts(func() {
		n.reconnect()
		w.relapses(func() { w.cutOff(n) })
	})
}

func (n *candidate) reconnect() { n.cut, n.deaf = false, false }

func (w *world) cutOne() bool {
	w.cutOff(w.someone())
	return true
}

func (w *world) cutSome() bool {
	for _, n := range w.candidates {
		if w.draw(2) == 0 {
			w.cutOff(n)
		}
	}
	return true
}

func (w *world) cutAll() bool {
	for _, n := range w.candidates {
		w.cutOff(n)
	}
	return true
}

func (w *world) stall() bool {
	w.database.stalled = w.now + w.span()
	return true
}

func (w *world) lock() bool {
	w.database.kept[w.draw(int64(w.leases))] = w.now + w.span()
	return true
}

func (w *world) stepWatched() bool { return w.options.Strict && w.step() }

func (w *world) stepUnwatched() bool {
	if w.options.Strict {
		return false
	}
	w.check.excused = true
	return w.step()
}

// step has the database's clock jump by up to an hour.
func (w *world) step() bool {
	by := time.Duration(w.between(1, int64(time.Hour)>>w.draw(20)))
	if w.draw(2) == 0 {
		by = -by
	}
	w.database.clock.shown += by
	w.tell("the database's clock steps by %v", by)
	return true
}

func (w *world) crash() bool {
	n := w.someone()
	if !n.alive {
		return false
	}
	n.die()
	n.comesBack()
	return true
}

// comesBack starts a process again after a while.
func (n *candidate) comesBack() { n.world.at(n.world.now+n.world.absence(), n.startIf(n.number)) }

// absence is how long a candidate that has left stays away.
func (w *world) absence() int64 {
	if w.calm {
		return w.draw(int64(time.Millisecond))
	}
	return w.span()
}

func (w *world) leave() bool {
	n := w.someone()
	for _, other := range w.candidates {
		if other.claiming() > 0 && w.draw(2) == 0 {
			n = other // a candidate that leaves while it claims may win
		}
	}
	if !n.alive || n.paused || n.leaving {
		return false
	}
	if w.draw(2) == 0 {
		n.retire(int(w.draw(int64(w.leases))))
	} else {
		n.leave()
	}
	return true
}

// leavesNow says whether a candidate that has just found the lease free leaves.
func (w *world) leavesNow() bool {
	if w.calm || !w.enabled.Has(Leave) || w.draw(100) != 0 {
		return false
	}
	w.struck[Leave]++
	return true
}

func (w *world) pause() bool { return w.someone().standsStill() }

// standsStill has a process stand still for a while.
func (n *candidate) standsStill() bool {
	if !n.alive || n.paused {
		return false
	}
	w := n.world
	n.paused = true
	n.stops++
	w.tell("%s stands still", n.id)
	number := n.number
	w.lasts(func() {
		if n.number == number {
			n.resume()
			w.relapses(func() { n.standsStill() })
		}
	})
	return true
}

// resume has a process do what it has missed, in any order.
func (n *candidate) resume() {
	if !n.paused {
		return
	}
	w := n.world
	n.paused = false
	if n.asleep != 0 {
		n.clock.since, n.clock.shown, n.asleep = w.now, n.asleep, 0
	}
	n.behind = w.now + int64(time.Millisecond)
	n.stoodStill = w.now
	n.excused()
	n.service.fails++ // it may have been too late for its service's word
	w.tell("%s wakes up", n.id)
	for of := range n.seats {
		if s := &n.seats[of]; s.context && w.database.now(of).Term > s.term {
			w.met(Fenced)
		}
	}
	missed := w.missed
	w.missed = nil
	for _, e := range missed {
		if e.whose == n {
			w.queue.Push(w.now+w.draw(int64(time.Millisecond)), e)
		} else {
			w.missed = append(w.missed, e)
		}
	}
}

func (w *world) suspend() bool {
	n := w.someone()
	asleep := n.now()
	if !n.standsStill() {
		return false
	}
	n.asleep = asleep
	w.check.excused = true
	return true
}

func (w *world) leadFails() bool {
	n := w.someone()
	of := n.leads()
	if of < 0 || n.paused {
		return false
	}
	n.returns(of, n.seats[of].term)
	return true
}

func (w *world) force() bool {
	heir := ""
	if w.draw(2) == 0 {
		heir = fmt.Sprintf("n%d", w.draw(int64(len(w.candidates))+1))
	}
	of := int(w.draw(int64(w.leases)))
	w.execute(w.now, forces, []int{of}, func(ctx context.Context) {
		if err := w.database.store.Force(ctx, names[of], heir); err != nil {
			panic(err) // a store in memory has no reason to refuse
		}
	})
	return true
}

func (w *world) resign() bool {
	n := w.someone()
	of := n.leads()
	if of < 0 || n.paused {
		return false
	}
	served := n.seats[of].context
	n.resign(of)
	return served
}
