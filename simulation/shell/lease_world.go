// This file has the world of leases: candidates, a database, and its course from trouble to calm
// to the end.

package shell

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// leaseWorld is one run.
type leaseWorld struct {
	*base
	plan     *leasePlan
	judge    *leaseJudge
	database database
	nodes    []*leaseNode
	asked    atomic.Uint64 // how many statements, answers and wake-ups have travelled
}

// runLeases runs a world of leases in a bubble.
func runLeases(o Options, moves *atomic.Uint64) *Result {
	w := &leaseWorld{base: newBase(random(o.Seed, "world of leases"), moves), plan: drawLeases(o.Seed)}
	w.judge = newLeaseJudge(o.Seed, w, o.Tell)
	w.database.locked = map[string]time.Time{}
	for i, rate := range w.plan.rates {
		w.nodes = append(w.nodes, &leaseNode{
			world: w, index: i, name: nodeName(i), rate: rate, timing: scaled(w.plan.timings[i], 1/rate), random: random(o.Seed, "candidate "+nodeName(i)),
		})
		w.judge.tell("%s: its clock runs at %.4f; it has %+v", nodeName(i), rate, w.plan.timings[i])
	}
	w.judge.tell("the database's clock runs at %.4f; strict: %t; releases are told: %t", w.plan.rate, w.plan.strict, w.plan.wakes)
	for _, n := range w.nodes {
		w.work.Go(n.live)
	}
	w.work.Go(w.watchOver)
	w.torment(w.plan.trouble, 8*w.plan.longest.TTL, w.judge.failed, w.strike)
	close(w.calm)
	w.judge.tell("all faults are over")
	w.converge()
	w.handOver()
	close(w.over)
	w.judge.ends(w.end(100*w.plan.longest.TTL + time.Minute))
	j := w.judge
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.result(Leases)
	for _, led := range j.led {
		r.Elections += uint64(len(led))
	}
	r.Messages = w.asked.Load()
	return r
}

// watchOver makes the judge look at all contenders now and then.
func (w *leaseWorld) watchOver() {
	for !w.isOver() {
		w.sleep(1 + w.drawn(w.plan.longest.TTL/20))
		w.judge.look()
		w.moves.Add(1)
	}
}

// travel takes the time of one way to the database or back, and some more.
func (w *leaseWorld) travel(more time.Duration) {
	w.asked.Add(1)
	w.sleepInTrouble(more)
	<-time.After(w.plan.link)
}

// strike makes one fault strike, which ends by itself.
func (w *leaseWorld) strike() {
	d, lasts := &w.database, w.drawn(3*w.plan.longest.TTL)>>(w.drawn64()%4)
	name := w.plan.groups[w.drawn64()%uint64(len(w.plan.groups))].name
	f := []Fault{StalledDatabase, LockedRecord, StaleRead, DatabaseStep, Force, CutOff}[w.drawn64()%6]
	switch f {
	case StalledDatabase:
		d.mu.Lock()
		d.stalled = time.Now().Add(lasts)
		d.mu.Unlock()
	case LockedRecord:
		d.mu.Lock()
		d.locked[name] = time.Now().Add(lasts)
		d.mu.Unlock()
	case StaleRead:
		d.copy(w.judge.named)
		return // the fault strikes when the copy is read
	case DatabaseStep:
		if !w.plan.strict {
			return
		}
		d.store.Step(lasts - w.drawn(3*w.plan.longest.TTL))
	case Force:
		heir := ""
		if w.chance(2) {
			heir = nodeName(int(w.drawn64() % uint64(len(w.nodes)+1)))
		}
		_ = d.store.Force(context.Background(), name, heir) // it cannot fail
	default:
		for _, n := range w.nodes {
			if c := n.candidate.Load(); c != nil {
				c.cutOff(lasts)
			}
		}
	}
	w.judge.struckAt(f, "the database")
}

// patience bounds how long it takes until every lease has a leader after the last fault, from any
// state and with any statements in transit.
func (w *leaseWorld) patience() time.Duration {
	l := &w.plan.longest
	return 4*l.TTL + 8*l.Poll + 8*l.Timeout + 100*w.plan.link
}

// converge waits until all leases have a leader, and checks that none takes too long.
func (w *leaseWorld) converge() {
	for began := time.Now(); ; {
		missing := ""
		for _, g := range w.plan.groups {
			if what := w.lacks(g); what != "" {
				missing = what
			}
		}
		late := missing != "" && time.Since(began) > w.patience()
		w.judge.check(Found, !late, "", "%v after the last fault: %s", time.Since(began), missing)
		if missing == "" || w.broken() {
			return
		}
		w.sleep(w.plan.longest.TTL / 50)
	}
}

func (w *leaseWorld) broken() bool { return isClosed(w.judge.failed) }

// lacks says what a lease lacks; empty if it lacks nothing.
func (w *leaseWorld) lacks(g *leaseGroup) string {
	leader, term := "", memberstate.Term(0)
	for _, n := range w.nodes {
		e := w.contenderAt(n, g)
		if e == nil {
			return n.name + " does not run"
		}
		s := e.el.Status()
		switch {
		case s.Leader == "":
			return e.name + " knows no leader"
		case leader != "" && (s.Leader != leader || s.Term != term):
			return e.name + " follows another leader than others"
		}
		leader, term = s.Leader, s.Term
	}
	if e := w.leaderOf(g); e == nil {
		return g.name + " has no leader"
	}
	return ""
}

func (w *leaseWorld) contenderAt(n *leaseNode, g *leaseGroup) *contender {
	if c := n.candidate.Load(); c != nil {
		return w.judge.contenderOf(c, g.name)
	}
	return nil
}

// leaderOf is the contender that holds a lease; nil if none does.
func (w *leaseWorld) leaderOf(g *leaseGroup) *contender {
	for _, n := range w.nodes {
		if e := w.contenderAt(n, g); e != nil {
			if _, _, ok := e.el.Lease(); ok {
				return e
			}
		}
	}
	return nil
}

// handOver waits a while, and makes every leader resign. If the release is announced, another
// candidate leads at once; else it leads at its next poll.
func (w *leaseWorld) handOver() {
	for _, g := range w.plan.groups {
		w.sleep(3*w.plan.longest.TTL + 20*w.plan.longest.Poll)
		if e := w.leaderOf(g); e != nil && !w.broken() {
			w.handOverOnce(g, e)
		} else {
			w.judge.check(Found, w.broken(), "n* "+g.name, "no candidate leads without faults")
		}
	}
}

func (w *leaseWorld) handOverOnce(g *leaseGroup, leader *contender) {
	others := 0
	for i, observes := range g.observers {
		if !observes && i != leader.candidate.node.index {
			others++
		}
	}
	l := &w.plan.longest
	within := 4*l.Poll + l.Timeout // a leader without rivals stands back before it leads again
	switch {
	case others > 0 && w.plan.wakes:
		within = l.Poll / 2
	case others > 0:
		within = 2 * l.Poll
	}
	within += 10*time.Millisecond + 20*w.plan.link
	began, before := time.Now(), leader.el.Status().Term
	ctx, cancel := context.WithTimeout(context.Background(), w.patience())
	defer cancel()
	err := leader.resign(ctx)
	w.judge.check(OrdersTold, err == nil, leader.name, "it resigns while no fault strikes, but gets the error %v", err)
	for !w.broken() {
		next := w.leaderOf(g)
		took := time.Since(began)
		w.judge.check(Found, next != nil || took <= within, "n* "+g.name, "%v after %s has resigned no candidate leads", took, leader.name)
		if next != nil {
			same := others > 0 && next == leader
			w.judge.check(Rests, !same, next.name, "it leads again at once after it has resigned in term %d", before)
			return
		}
		w.sleep(max(time.Microsecond, within/50))
	}
}
