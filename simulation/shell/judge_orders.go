// This file judges the other orders that operators give for whole nodes, and what follows from them: to serve and to undrain, to stay
// drained over restarts, to hold still, and to balance.

package shell

import (
	"errors"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// asked checks what a new process finds in its store about the node itself, and notes that it must begin so. It asks once, before its
// first group takes part.
func (j *judge) asked(p *process, r *memberstate.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, v := p.node, &p.service
	if p.dead || v.asked {
		return
	}
	kept := r.Vote != ""
	j.holds(RecordsKept, kept == n.kept || n.keptUnsure, n.name, "its store has %v; acknowledged was that it is kept drained: %v", r, n.kept)
	n.kept, n.keptUnsure = kept, false
	v.asked, v.kept, v.keptAt = true, kept, time.Now()
	if kept && !v.held {
		v.state, v.since = rpc.Draining, time.Now()
		j.met[BegunDrained]++
	}
}

// keepsDrained notes an order to keep a node drained over restarts, or not to any more. While it is under way, and after it has
// failed, nobody knows what the next process will find.
func (j *judge) keepsDrained(p *process, on bool) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, asked := &p.service, &call{what: "KeepDrained", at: time.Now()}, p.service.asked
	v.beginsToKeep(c)
	j.mayKeep(p, on)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			j.kept(p, on, c.beside)
		}
		excused := p.dead || p.fails() || errors.Is(err, elector.ErrStopped) && !asked
		j.holds(OrdersTold, err == nil || excused, p.node.name, "KeepDrained returns %v, and the disk has not failed", err)
	}
}

// mayKeep notes that the next process may find this, and kept that it must.
func (j *judge) mayKeep(p *process, on bool) {
	if n := p.node; !p.dead && on != n.kept {
		n.keptUnsure = true
	}
}

func (j *judge) kept(p *process, on, unsure bool) {
	if p.dead {
		return
	}
	p.node.kept, p.node.keptUnsure = on, unsure
	p.service.kept, p.service.keptAt = on, time.Now()
}

// beginsToKeep notes that such an order begins.
func (v *service) beginsToKeep(c *call) {
	for other := range v.waiting {
		if other.what == "KeepDrained" || other.what == "Undrain" {
			other.beside, c.beside = true, true
		}
	}
	v.waiting[c] = struct{}{}
}

// ordersKeep says whether such an order is under way. One that was given up because the store was silent may have been carried out.
func (v *service) ordersKeep() bool {
	for c := range v.waiting {
		if c.what == "KeepDrained" || c.what == "Undrain" {
			return true
		}
	}
	return false
}

// undrains notes that an operator takes back the orders to drain, and to be kept drained. The second is done although no
// group runs any more.
func (j *judge) undrains(p *process) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before, asked := &p.service, &call{what: "Undrain", at: time.Now()}, j.running(p), p.service.asked
	v.beginsToKeep(c)
	v.serves++
	j.mayKeep(p, false)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		stopped := errors.Is(err, elector.ErrStopped)
		if err == nil || stopped && asked {
			j.kept(p, false, c.beside)
		}
		if err == nil && !v.awaits {
			v.state, v.since, v.endedAt = rpc.Serving, time.Now(), time.Now()
		}
		excused := p.dead || p.fails() || stopped && !j.stays(p, before)
		j.holds(OrdersTold, err == nil || excused, p.node.name, "Undrain returns %v, and a group has run all the time, on a disk that works", err)
	}
}

// serves notes an order to serve.
func (j *judge) serves(p *process) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before, state := &p.service, &call{what: "Serve", at: time.Now()}, j.running(p), p.service.state
	v.waiting[c] = struct{}{}
	v.serves++
	drains := v.awaits && v.kept // the engine is ready, and an operator keeps the node drained
	if drains {
		v.state, v.since = rpc.Draining, time.Now()
	}
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			if v.awaits = false; !drains {
				v.state, v.since, v.endedAt = rpc.Serving, time.Now(), time.Now()
			}
			return
		}
		if drains {
			v.state = state
		}
		j.holds(OrdersTold, p.dead || errors.Is(err, elector.ErrStopped) && !j.stays(p, before), p.node.name, "Serve returns %v, and a group has run all the time", err)
	}
}

// protects notes an order to hand over nothing, or to do so again.
func (j *judge) protects(p *process, on bool) (returned func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v, c, before, closed := &p.service, &call{what: "Protect", at: time.Now()}, j.running(p), p.service.closed
	v.waiting[c] = struct{}{}
	if on {
		v.protections++
	}
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(v.waiting, c)
		if err == nil {
			v.protected, v.protectedAt, v.unsure = on, time.Now(), v.closings > 0 || v.closed != closed
			return
		}
		j.holds(OrdersTold, p.dead || errors.Is(err, elector.ErrStopped) && !j.stays(p, before), p.node.name, "Protect returns %v, and a group has run all the time", err)
	}
}

// closes notes that the host is about to be closed, which ends protection. Ended is called when it is.
func (j *judge) closes(p *process) (ended func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p.service.closings++
	p.service.unsure = true
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		p.service.closings--
		p.service.closed++
	}
}

// balanced notes an order to balance, or to do so no more.
func (j *judge) balanced(p *process, on bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p.service.balancing = on; !on {
		p.service.balancedAt = time.Now()
	}
}

// balances says whether a process may hand over what it leads for balance: a handover that is under way goes on after that.
func (p *process) balances(m *member) bool {
	v := &p.service
	return v.balancing || !v.balancedAt.IsZero() && p.busy.freeFor(v.balancedAt) <= 4*m.detection()
}
