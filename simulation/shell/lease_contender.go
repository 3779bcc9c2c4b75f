// This file has a contender, one elector of a keeper, from its joining to its end, and the
// service's callbacks.

package shell

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// contender joins once: when the lease joins again, that makes another contender.
type contender struct {
	candidate *candidate
	group     *leaseGroup
	observer  bool
	name      string // node and lease, for people
	el        *lease.Elector
	running   context.Context
	stop      context.CancelFunc
	watched   chan struct{} // closed when Watch has ended
	gone      chan struct{} // closed when Run has returned and the judge has checked that
	handler   *leaseHandler // nil: none is configured

	standing // of the judge
}

// join adds a lease to the keeper, and runs it.
func (c *candidate) join(g *leaseGroup) {
	w := c.world()
	e := &contender{
		candidate: c, group: g, observer: g.observers[c.node.index], name: c.node.name + " " + g.name,
		watched: make(chan struct{}), gone: make(chan struct{}),
	}
	e.running, e.stop = context.WithCancel(context.Background())
	config := lease.GroupConfig{Name: g.name, Observer: e.observer}
	if g.lead {
		config.Lead = e.lead
	}
	if c.node.random.IntN(2) == 0 {
		e.handler = &leaseHandler{contender: e}
		config.Handlers = []elector.RoleHandler{e.handler}
	}
	el, err := c.keeper.Join(config)
	e.el = el
	w.judge.contends(e, err)
	if err != nil {
		close(e.gone)
		return
	}
	_, err = c.keeper.Join(config)
	w.judge.check(MistakesTold, errors.Is(err, elector.ErrGroupExists), e.name, "it joins twice, but the error is %v", err)
	w.work.Go(e.run)
	w.work.Go(e.watch)
	if c.node.random.IntN(2) == 0 {
		w.work.Go(e.order)
	}
}

func (e *contender) run() {
	defer close(e.gone)
	j := e.candidate.world().judge
	err := e.el.Run(e.running)
	j.ran(e, err)
	<-e.watched
	again := e.el.Run(context.Background())
	j.check(MistakesTold, errors.Is(again, elector.ErrStopped), e.name, "it runs twice, but the error is %v", again)
}

// watch reads Watch until the contender has stopped.
func (e *contender) watch() {
	defer close(e.watched)
	j := e.candidate.world().judge
	var last elector.Status
	for s := range e.el.Watch(context.Background()) {
		j.toldOf(e, &last, &s)
		last = s
	}
	j.toldAll(e, &last, "Watch")
}

// order orders the contender to resign, now and then, as an operator does.
func (e *contender) order() {
	w := e.candidate.world()
	for {
		timer := time.NewTimer(1 + w.drawn(20*w.plan.longest.TTL))
		select {
		case <-timer.C:
		case <-e.gone:
			timer.Stop()
			return
		case <-w.calm:
			timer.Stop()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), w.drawn(2*w.plan.longest.TTL))
		_ = e.resign(ctx)
		cancel()
	}
}

// resign makes the contender resign, and the judge checks the outcome.
func (e *contender) resign(ctx context.Context) error {
	j := e.candidate.world().judge
	defer j.visits(e.candidate)()
	over := j.orders(ctx, e)
	err := e.el.Resign(ctx)
	over(err)
	return err
}

// lead is the service's Lead.
func (e *contender) lead(ctx context.Context, term memberstate.Term) error {
	w := e.candidate.world()
	defer w.judge.serves(ctx, e, term)()
	if !w.isCalm() && !e.candidate.isDead() && w.chance(6) {
		timer := time.NewTimer(w.drawn(4 * w.plan.longest.TTL))
		defer timer.Stop()
		select {
		case <-timer.C:
			w.judge.returnsEarly(ctx, e, term)
			if w.chance(2) {
				runtime.Goexit()
			}
			return errEngine
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	e.linger()
	return nil
}

// linger waits in a callback, if the lease's callbacks are slow or the process stands still.
func (e *contender) linger() {
	w := e.candidate.world()
	e.candidate.standStill()
	if e.group.slow && !e.candidate.isDead() {
		w.sleepInTrouble(w.drawn(w.plan.longest.TTL) >> (w.drawn64() % 8))
	}
}

// leaseHandler is a slow RoleHandler.
type leaseHandler struct {
	contender *contender
	last      elector.Status
	began     bool
	over      bool
}

// Startup must be the first call. No two calls run at one time.
func (h *leaseHandler) Startup() {
	defer h.contender.judge().calls(h.contender, "Startup")()
	h.contender.judge().check(Watched, !h.began && !h.over, h.contender.name, "Startup is not the first call")
	h.began = true
}

// Handle receives a status.
func (h *leaseHandler) Handle(s elector.Status) {
	defer h.contender.judge().calls(h.contender, "Handle")()
	h.contender.judge().check(Watched, h.began && !h.over, h.contender.name, "Handle is called out of turn")
	h.contender.judge().toldOf(h.contender, &h.last, &s)
	h.last = s
	h.contender.linger()
}

// Shutdown must be the last call.
func (h *leaseHandler) Shutdown() {
	defer h.contender.judge().calls(h.contender, "Shutdown")()
	h.contender.judge().check(Watched, h.began && !h.over, h.contender.name, "Shutdown is called out of turn")
	h.contender.judge().toldAll(h.contender, &h.last, "its handler")
	h.over = true
}

func (e *contender) judge() *leaseJudge { return e.candidate.world().judge }
