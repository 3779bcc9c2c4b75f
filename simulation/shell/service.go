// This file has the operators who take nodes out of service and back, and ask them how far they have come.

package shell

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// serveLater is the engine of a process that began with Hold: its data is complete after a while. An operator may come before.
func (p *process) serveLater() {
	w := p.world()
	w.sleepInTrouble(w.drawn(3 * w.plan.longest))
	switch w.drawn64() % 6 {
	case 0:
		_ = p.keep(true) // the judge has checked the outcome
	case 1:
		_ = p.undrain()
	case 2:
		w.work.Go(p.drainOnce)
		settle()
		_ = p.undrain()
	}
	w.sleepInTrouble(w.drawn(3 * w.plan.longest))
	p.untilDone(p.serve)
}

// operate gives orders about the whole node while faults strike, one after another, and has it serve in the end. No other
// goroutine orders it to drain or to serve meanwhile, so the judge knows which order was the last.
func (p *process) operate() {
	defer close(p.operated)
	w := p.world()
	if p.service.held {
		p.serveLater()
	}
	for !p.isDead() {
		timer := time.NewTimer(w.drawn(6 * w.plan.longest))
		select {
		case <-timer.C:
		case <-p.died:
			timer.Stop()
			return
		case <-w.calm:
			timer.Stop()
			p.serveAgain()
			return
		}
		switch w.drawn64() % 10 {
		case 0, 1, 2:
			if w.drawn64()%3 == 0 {
				w.judge.struckAt(KeepOrder, p.node.name)
				_ = p.keep(true) // the judge has checked the outcome
			}
			w.judge.struckAt(DrainOrder, p.node.name)
			w.work.Go(p.drainOnce)
			settle() // the order has been given before the next one
		case 3:
			w.judge.struckAt(ServeOrder, p.node.name)
			_ = p.serve() // the judge has checked the outcome
		case 4:
			w.judge.struckAt(UndrainOrder, p.node.name)
			_ = p.undrain() // the judge has checked the outcome
		case 5:
			w.judge.struckAt(ProtectOrder, p.node.name)
			_ = p.protect(w.drawn64()%2 == 0) // the judge has checked the outcome
		case 6:
			w.judge.struckAt(BalanceOrder, p.node.name)
			_ = p.balance(1 + w.drawn(4*w.plan.longest)) // it may run no group
		default:
			w.judge.struck(Question)
			p.nodes()
			p.stuckGroups()
		}
	}
}

// drainOnce drains the node, with a context that ends at some time, or not before the call does.
func (p *process) drainOnce() {
	w := p.world()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if w.drawn64()%3 > 0 {
		impatient := time.AfterFunc(w.drawn(w.plan.longest<<(w.drawn64()%4)>>(w.drawn64()%4)), cancel)
		defer impatient.Stop()
	}
	_ = p.drain(ctx, w.drawn64()%2 == 0) // the judge has checked the outcome
}

// drain drains the node.
func (p *process) drain(ctx context.Context, patiently bool) error {
	d := p.world().judge.drains(ctx, p, patiently)
	order := p.host.Drain
	if patiently {
		order = p.host.DrainPatiently
	}
	err := order(ctx)
	p.world().judge.drained(ctx, p, d, err)
	return err
}

// serve has the node serve again.
func (p *process) serve() error {
	returned := p.world().judge.serves(p)
	err := patiently(p.host.Serve)
	returned(err)
	return err
}

// keep has later processes of the node begin drained, or serve again.
func (p *process) keep(on bool) error {
	returned := p.world().judge.keepsDrained(p, on)
	err := patiently(func() error { return p.host.KeepDrained(on) })
	returned(err)
	p.restartAfter(err)
	return err
}

// undrain takes back what operators have ordered.
func (p *process) undrain() error {
	returned := p.world().judge.undrains(p)
	err := patiently(p.host.Undrain)
	returned(err)
	p.restartAfter(err)
	return err
}

// restartAfter has another process begin if this one's store has failed in an operator's call. Its groups may save nothing for
// long, so they may not notice.
func (p *process) restartAfter(err error) {
	if err == nil || errors.Is(err, elector.ErrStopped) {
		return
	}
	select {
	case p.broken <- struct{}{}:
	default: // another one begins in any case
	}
}

// protect has the node hand over nothing of its own accord, or do so again.
func (p *process) protect(on bool) error {
	returned := p.world().judge.protects(p, on)
	err := p.host.Protect(on)
	returned(err)
	return err
}

// balance has the node balance so often; 0: never.
func (p *process) balance(every time.Duration) error {
	p.world().judge.balanced(p, every > 0)
	return p.host.Balance(every)
}

// serveAgain has the node serve, and move what it leads as usual.
func (p *process) serveAgain() {
	p.untilDone(func() error { return cmp.Or(p.protect(false), p.balance(0), p.undrain()) })
}

// untilDone gives an order again until it is taken, as soon as one of the node's groups runs. It need not be if the node has none.
func (p *process) untilDone(order func() error) {
	some := slices.ContainsFunc(p.node.ledgers, func(l *ledger) bool { return l != nil })
	for some && !p.isDead() && !p.world().isOver() && !p.world().broken() && order() != nil {
		p.world().sleep(p.world().plan.beat)
	}
}

// nodes asks the node what it knows of the others, which takes no time unless the process is held up.
func (p *process) nodes() (known []protocol.Peer) {
	j := p.world().judge
	answered := j.asksNodes(p)
	known, err := p.host.Nodes(context.Background())
	answered(known, err)
	return known
}

// stuckGroups asks the node which groups it cannot hand over.
func (p *process) stuckGroups() {
	answered := p.world().judge.asksStuck(p)
	answered(p.host.StuckGroups(context.Background()))
}

// watchProgress reads Host.WatchProgress while the process runs, now and then slowly.
func (p *process) watchProgress() {
	readSlowly(p, p.host.WatchProgress, &p.lagsBehind, p.world().judge.progresses)
}

// maintain takes a node out of service and back when no faults strike: it must hand over what others can lead, and lead
// none of that until it serves. Then nobody serves, and every group must have a leader all the same.
func (w *world) maintain() {
	for _, n := range w.nodes {
		if p := n.process.Load(); p != nil {
			<-p.operated // or two would give orders at one time
		}
	}
	p := w.leading()
	if p == nil || w.broken() {
		return
	}
	w.retire(p)
	if !w.broken() {
		w.transfers()
	}
	// What is told of the node has reached everybody by then.
	w.sleep(4 * w.plan.longest)
	w.learn(p)
	if !w.broken() {
		w.retire(p) // it may have been elected again, if those who were to take over have failed
	}
	w.drainAll()
	w.converge()
	for _, n := range w.nodes {
		if p := n.process.Load(); p != nil && !w.broken() {
			p.serveAgain()
		}
	}
	w.converge()
	w.sleep(4 * w.plan.longest)
	w.learn(p)
}

// leading is a process that leads a group; nil if there is none.
func (w *world) leading() *process {
	first := int(w.drawn64() % uint64(len(w.nodes)))
	for i := range w.nodes {
		if p := w.nodes[(first+i)%len(w.nodes)].process.Load(); p != nil && w.judge.leadsAny(p) {
			return p
		}
	}
	return nil
}

// retire drains a node until it leads nothing that anybody else can. An attempt may fail, because ledgers of others are
// behind at that moment.
func (w *world) retire(p *process) {
	patience := time.Duration(0)
	for _, g := range w.plan.groups {
		patience = max(patience, w.plan.patience(g))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		w.judge.tell("%s is taken out of service", p.node.name)
		err := p.drain(ctx, w.drawn64()%2 == 0)
		owed := w.judge.unmoved(p)
		w.judge.check(Drains, err != nil || owed == "", owed, "Drain has returned, but its node leads it")
		if owed == "" || w.broken() {
			break
		}
		w.judge.check(Drains, ctx.Err() == nil, owed, "its node drains, and somebody else could lead it, but it was not handed over: %v", err)
		w.sleep(w.plan.beat)
	}
}

// transfers has each group handed over whose leader may choose between two others. That is for the judge to see: one of them
// may not serve.
func (w *world) transfers() {
	var all sync.WaitGroup
	for _, g := range w.plan.groups {
		for _, voter := range g.voters {
			p := w.nodes[voter].process.Load()
			if p == nil || len(g.voters) < 3 {
				continue
			}
			if m := w.judge.memberOf(p, g.name); m != nil && m.el.Status().Role == memberstate.Leader {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), 4*m.detection())
					defer cancel()
					_ = m.transfer(ctx, "") // it may fail, if the ledgers of all others are behind
				})
			}
		}
	}
	all.Wait()
}

// learn asks all other nodes what they know of one.
func (w *world) learn(about *process) {
	for _, n := range w.nodes {
		p := n.process.Load()
		if p == nil || p == about || w.broken() {
			continue
		}
		for _, known := range p.nodes() {
			if known.ID == about.node.name {
				w.judge.knows(p, about, &known)
			}
		}
	}
}

// drainAll drains all nodes, and waits until they have tried.
func (w *world) drainAll() {
	var all sync.WaitGroup
	for _, n := range w.nodes {
		if p := n.process.Load(); p != nil && !w.broken() {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 4*w.plan.longest)
				defer cancel()
				_ = p.drain(ctx, w.drawn64()%2 == 0) // the judge has checked the outcome
			})
		}
	}
	all.Wait()
}
