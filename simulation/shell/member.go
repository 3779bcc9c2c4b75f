// This file has one member of one group, from its joining a host to its end, and the engine's
// callbacks.

package shell

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// errEngine is the error of callbacks that fail on purpose.
var errEngine = errors.New("the engine fails on purpose")

// member joins once: when the group joins again, that makes another member.
type member struct {
	process *process
	group   *groupPlan
	id      uint64 // unique
	name    string // node and group, for people
	leases  bool
	ordered bool // an operator gives it orders
	timing  elector.Timing
	el      *elector.Elector
	ledger  *ledger
	promise *elector.Promise
	gone    chan struct{} // closed when it has ended and the judge has checked its end
	handler *handler      // nil: none is configured
	paused  atomic.Bool
	ended   atomic.Bool   // it has ended; appends that its elector heard bind nothing any more
	seen    atomic.Uint64 // the revision that Watch has yielded last
	atHost  uint64        // the revision of the member that Host.Watch has yielded last; the judge guards it
	acks    atomic.Pointer[acks]
	refused atomic.Pointer[error] // why the last append that arrived was refused; nil, or of nil: it was not

	record // of the judge
}

// detection is how long the member waits for its leader. The judge measures by it, so it is
// computed here and not by package elector.
func (m *member) detection() time.Duration {
	return time.Duration(m.timing.Leak) * m.timing.Heartbeat
}

// join joins a group to the host, and runs the member.
func (p *process) join(g *groupPlan) {
	m, config := p.newMember(g)
	el, err := p.host.Join(config)
	if m.enters(el, err) {
		p.world().work.Go(func() { m.run(func() error { return m.awaitStart(el.Start()) }) })
	}
}

// joinTogether joins all groups of the node to the host, starts them together, and runs the members.
func (p *process) joinTogether() {
	var all []*member
	var configs []elector.GroupConfig
	for i, l := range p.node.ledgers {
		if l != nil {
			m, config := p.newMember(p.world().plan.groups[i])
			all, configs = append(all, m), append(configs, config)
		}
	}
	joined, err := p.host.JoinAll(slices.Values(configs))
	if err != nil {
		joined = make([]*elector.Elector, len(all))
	}
	started := make(chan struct{})
	for i, m := range all {
		if m.enters(joined[i], err) {
			p.world().work.Go(func() {
				m.run(func() error {
					<-started
					return m.awaitStart(elector.ErrStoreSilent) // it may have been
				})
			})
		}
	}
	p.world().work.Go(func() {
		defer close(started)
		_ = p.host.StartAll() // each member knows its own error
	})
}

// awaitStart waits until the member takes part, or has ended, if its start was given up because the store was silent: it goes on.
func (m *member) awaitStart(err error) error {
	if !errors.Is(err, elector.ErrStoreSilent) {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.process.world().work.Go(func() {
		select {
		case <-m.el.Done():
			cancel()
		case <-ctx.Done():
		}
	})
	for s := range m.el.Watch(ctx) {
		if s.Revision > 0 {
			break
		}
	}
	return m.whyNotStarted()
}

// whyNotStarted is the error of a member that has ended by the time at which it should have started.
func (m *member) whyNotStarted() error {
	select {
	case <-m.el.Done():
		return cmp.Or(m.el.Err(), elector.ErrStopped)
	default:
		return nil
	}
}

// newMember is a member of a group, and its configuration.
func (p *process) newMember(g *groupPlan) (*member, elector.GroupConfig) {
	n, w := p.node, p.world()
	m := &member{
		process: p, group: g, id: w.judge.nextID(), name: n.name + " " + g.name, timing: g.timingAt(n.rate),
		ledger: n.ledgers[g.index], promise: p.promises[g.index], gone: make(chan struct{}),
	}
	var noPreVote, noRanks bool
	m.leases, noPreVote, noRanks = g.rules(n.random)
	m.ordered = n.random.IntN(2) == 0
	// No other place knows how a group is configured.
	config := elector.GroupConfig{
		Group: g.name, Members: g.members, Timing: m.timing, Preferred: g.preferred,
		Leases: m.leases, NoPreVote: noPreVote, NoRanks: noRanks, LedgerEnd: m.ledgerEnd,
	}
	g.vouching.configure(&config, m)
	if g.lead {
		config.Lead = m.lead
	}
	if g.pause {
		config.Pause = m.pause
	}
	if n.random.IntN(2) == 0 {
		m.handler = &handler{member: m}
		config.Handlers = []elector.RoleHandler{m.handler}
	}
	return m, config
}

// enters notes that the member has joined its host, and says whether it has.
func (m *member) enters(el *elector.Elector, err error) bool {
	j := m.process.world().judge
	j.joined(m, err)
	if err != nil {
		close(m.gone)
		return false
	}
	m.el = el
	j.enters(m)
	return true
}

// run starts the member, and waits until it has ended.
func (m *member) run(start func() error) {
	defer close(m.gone)
	w := m.process.world()
	started := start()
	if started == nil {
		w.work.Go(m.watch)
		if !m.group.lead {
			w.work.Go(m.leadByWatching)
		}
		if m.ordered {
			w.work.Go(m.order)
		}
		if v := m.group.vouching; v.counts > 0 && !v.asked {
			w.work.Go(m.vouch)
		}
	}
	<-m.el.Done()
	m.ended.Store(true)
	w.judge.ended(m, started)
	if err := errors.Join(started, m.el.Err()); err != nil && !errors.Is(err, elector.ErrStopped) {
		select {
		case m.process.broken <- struct{}{}:
		default: // it is known already
		}
	}
}

// patience is the context for stopping a member.
func (m *member) patience(now bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), m.process.world().drawn(3*m.detection()))
	if now {
		cancel()
	}
	return ctx, cancel
}

// stop stops the member and waits for its end.
func (m *member) stop(ctx context.Context) {
	j := m.process.world().judge
	j.leaves(m)
	err := patiently(func() error { return m.el.Stop(ctx) })
	j.stopped(m, ctx.Err() == nil, err)
	<-m.gone
}

// watch reads Watch until the member has stopped.
func (m *member) watch() {
	j := m.process.world().judge
	var last elector.Status
	for s := range m.el.Watch(context.Background()) {
		j.watched(m, &last, &s)
		last = s
		m.seen.Store(s.Revision)
	}
	j.watchedAll(m, &last)
}

// flaky says whether a callback misbehaves this time, which it does only while faults strike.
func (m *member) flaky(one int) bool {
	return !m.process.world().isCalm() && !m.process.isDead() && m.process.world().drawn64()%uint64(one) == 0
}

// misbehave has a callback fail, end its goroutine, or not return until its context has ended.
func (m *member) misbehave(ctx context.Context) error {
	switch m.process.world().drawn64() % 3 {
	case 0:
		return errEngine
	case 1:
		runtime.Goexit()
	}
	<-ctx.Done()
	return ctx.Err()
}

// linger waits in a callback, if the group's callbacks are slow.
func (m *member) linger(most time.Duration) {
	if m.group.slow && !m.process.isDead() {
		time.Sleep(m.process.world().drawn(most))
	}
}

// ledgerEnd is the engine's LedgerEnd.
func (m *member) ledgerEnd(term memberstate.Term) memberstate.Position {
	j := m.process.world().judge
	defer j.called(m, "LedgerEnd")()
	if m.group.slow && m.flaky(4) {
		j.struck(SlowLedger)
		m.process.busy.begin()
		m.linger(m.detection())
		m.process.busy.end()
	}
	return m.promise.End(term, m.ledger.end)
}

// lead is the engine's Lead.
func (m *member) lead(ctx context.Context, term memberstate.Term) error {
	j := m.process.world().judge
	defer j.called(m, "Lead")()
	defer j.leads(ctx, m, term)()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	if m.flaky(4) {
		early := time.AfterFunc(time.Duration(m.process.world().drawn64()%uint64(4*m.detection())), stop)
		defer early.Stop()
	}
	m.serve(serving, term)
	if ctx.Err() != nil {
		m.linger(m.detection())
		return ctx.Err()
	}
	j.leadReturns(m, term)
	if m.process.world().drawn64()%2 == 0 {
		runtime.Goexit()
	}
	return errEngine
}

// leadByWatching serves for an engine that has no Lead: it watches the member's role.
func (m *member) leadByWatching() {
	var served memberstate.Term
	stop, over := func() {}, make(chan struct{})
	close(over)
	for s := range m.el.Watch(context.Background()) {
		if s.Role != memberstate.Leader || s.Term != served {
			stop()
		}
		if s.Role != memberstate.Leader || s.Term == served {
			continue
		}
		<-over
		served = s.Term
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		stop, over = cancel, done
		m.process.world().work.Go(func() {
			defer close(done)
			m.serve(ctx, s.Term)
		})
	}
	stop()
	<-over
}

// pause is the engine's Pause.
func (m *member) pause(ctx context.Context, term memberstate.Term) error {
	j := m.process.world().judge
	defer j.called(m, "Pause")()
	defer j.pauses(ctx, m, term)()
	if m.flaky(3) {
		j.struck(PauseFails)
		return m.misbehave(ctx)
	}
	m.linger(m.timing.Heartbeat)
	m.paused.Store(true)
	context.AfterFunc(ctx, func() { m.paused.Store(false) })
	return nil
}

// handler is a slow RoleHandler.
type handler struct {
	member *member
	last   elector.Status
	began  atomic.Bool
	over   atomic.Bool
}

// Startup must be the first call.
func (h *handler) Startup() {
	defer h.member.process.world().judge.called(h.member, "Startup")()
	h.member.process.world().judge.handled(h.member, !h.began.Load() && !h.over.Load(), "Startup is not the first call")
	h.began.Store(true)
}

// Handle receives a status.
func (h *handler) Handle(s elector.Status) {
	j := h.member.process.world().judge
	defer j.called(h.member, "Handle")()
	j.handled(h.member, h.began.Load() && !h.over.Load() && s.Revision > h.last.Revision, "Handle is called out of turn")
	h.last = s
	h.member.linger(h.member.timing.Heartbeat)
}

// Shutdown must be the last call.
func (h *handler) Shutdown() {
	j := h.member.process.world().judge
	defer j.called(h.member, "Shutdown")()
	j.handled(h.member, h.began.Load() && !h.over.Load() && h.last.Stopped, "Shutdown is called before the last status was handled, or twice")
	h.over.Store(true)
}
