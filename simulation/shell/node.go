// This file has a machine, and the processes that run on it one after another.

package shell

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// node is a machine. Its disk and the ledgers of its engines outlive its processes.
type node struct {
	world   *world
	index   int
	name    string
	rate    float64 // of its clock
	random  *rand.Rand
	disk    *disk
	ledgers []*ledger        // by group; nil: the node has no member of it
	counted memberstate.Term // how many starts its disk has, as acknowledged last; the judge guards it

	kept       bool // its processes begin drained, as acknowledged last; the judge guards it, ...
	keptUnsure bool // ... and whether it may be otherwise, because an order was not acknowledged

	process atomic.Pointer[process] // the one that runs; nil: none does
}

// process is one incarnation of a node: a host with a store and a transport, and a member
// of each of the node's groups.
type process struct {
	node       *node
	number     int
	died       chan struct{}
	operated   chan struct{} // closed when no operator gives orders any more that are drawn
	broken     chan struct{} // holds a value when a group has ended with an error, or the store has failed otherwise
	busy       trouble
	still      atomic.Int64              // how long its loop stands still when it next sends
	lags       atomic.Bool               // who reads Host.Watch is slow
	lagsBehind atomic.Bool               // who reads Host.WatchProgress is slow
	stands     trouble                   // causes for which its loop stands still
	diskFailed atomic.Pointer[time.Time] // when an operation of its disk failed last
	tap        *tap
	store      *memberstate.FileStore
	host       *elector.Host

	promises []*elector.Promise // by group: a ledger's promise binds as long as the process runs

	// The judge guards the fields below.
	dead    bool
	failing bool // a save has failed
	members map[string]*member
	judging bool // the function that judges all engines runs
	beating beating
	mute    bool // it exchanges no beats, although others do
	service service
}

func (p *process) world() *world { return p.node.world }

// fails says whether a save of the process has failed, or fails at this moment and has not returned.
func (p *process) fails() bool {
	at := p.diskFailed.Load()
	return p.failing || at != nil && at.Equal(time.Now())
}

func (p *process) isDead() bool {
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// standStill holds the loop up once, if a stall was set.
func (p *process) standStill() {
	if d := time.Duration(p.still.Swap(0)); d > 0 && !p.isDead() {
		p.busy.begin()
		defer p.busy.end()
		p.stands.begin()
		defer p.stands.end()
		select {
		case <-time.After(d):
		case <-p.world().calm:
		case <-p.died:
		}
	}
}

// live runs processes on the node until the world is over.
func (n *node) live() {
	for number := 1; !n.world.isOver(); number++ {
		p, err := n.boot(number)
		if err != nil {
			n.world.judge.tell("%s: its process cannot start: %v", n.name, err)
			n.world.sleep(n.world.plan.beat)
			continue
		}
		n.process.Store(p)
		powerCut := p.run()
		n.process.Store(nil)
		p.end()
		n.world.sleepInTrouble(upTo(n.random, 2*n.world.plan.longest))
		if powerCut {
			n.disk.died(true)
		}
		// A careless engine may have accepted entries with which the next process cannot
		// start. Without a pause it would start again and again while time stands still.
		n.world.sleep(n.world.plan.beat)
	}
}

// boot starts a process: it opens the store, or makes one if there is none.
func (n *node) boot(number int) (*process, error) {
	p := &process{
		node: n, number: number, died: make(chan struct{}), operated: make(chan struct{}), broken: make(chan struct{}, 1), members: map[string]*member{},
		promises: make([]*elector.Promise, len(n.ledgers)),
		beating:  beating{sent: map[uint64]*nodeBeat{}, answered: map[string]answered{}, heard: map[string]rpc.Beat{}, owes: map[string]time.Time{}, told: map[string]toldStanding{}},
	}
	for i := range p.promises {
		p.promises[i] = new(elector.Promise)
	}
	p.tap = &tap{process: p, inner: n.world.net.Join(n.name)}
	n.disk.mu.Lock()
	m := &mount{disk: n.disk, files: n.disk.files, died: p.died, busy: &p.busy, failed: &p.diskFailed}
	made := m.files.Get(storePath) != nil
	n.disk.mu.Unlock()
	options := memberstate.FileOptions{Disk: m, Logger: slog.New(slog.DiscardHandler)}
	var err error
	if made {
		p.store, err = options.Open(storePath, n.name)
	} else {
		p.store, err = options.Create(storePath, n.name)
	}
	if err != nil {
		n.disk.died(false)
		return nil, err
	}
	p.service.begins(n.random.IntN(4) == 0)
	p.mute = n.world.plan.mixed && n.random.IntN(2) == 0
	n.world.judge.booted(p, made)
	config := elector.HostConfig{
		Self: n.name, Store: &storeTap{p, p.store}, Transport: p.tap, Logger: slog.New(slog.DiscardHandler), NoNodeBeats: !n.world.plan.beats || p.mute, Hold: p.service.held,
		Metrics: &elector.Metrics{Changed: func(s elector.Status) { n.world.judge.shown(p, s) }},
	}
	if n.world.plan.judged {
		config.Stalled = p.stalled
	}
	p.host, err = elector.NewHost(config)
	return p, err
}

// run joins the groups and draws faults for the process until it dies or is closed. It says
// whether the power fails before the next process.
func (p *process) run() (powerCut bool) {
	w, r := p.world(), p.node.random
	w.work.Go(p.watch)
	w.work.Go(p.watchProgress)
	w.work.Go(p.operate)
	if p.service.held {
		w.judge.struckAt(Hold, p.node.name)
	}
	if p.mute {
		w.judge.struckAt(WithoutBeats, p.node.name)
	}
	p.joinAll(r.IntN(2) == 0)
	for {
		next := time.NewTimer(w.plan.longest + upTo(r, 20*w.plan.longest))
		select {
		case <-next.C:
		case <-p.broken:
			next.Stop()
			p.close(false)
			return false
		case <-w.calm:
			next.Stop()
			select {
			case <-p.broken:
			case <-w.over:
			}
			p.close(false)
			return false
		}
		if over, powerCut := p.strike(); over {
			return powerCut
		}
	}
}

// watch reads Host.Watch while the process runs, now and then slowly.
func (p *process) watch() {
	readSlowly(p, p.host.Watch, &p.lags, p.world().judge.watchedByHost)
}

// readSlowly reads what a host yields while the process runs. Lags says whether the reader stands still, as it does now and
// then.
func readSlowly[T any](p *process, yields func(context.Context) iter.Seq[T], lags *atomic.Bool, seen func(*process, *T)) {
	ctx, cancel := context.WithCancel(context.Background())
	w := p.world()
	w.work.Go(func() {
		<-p.died
		cancel()
	})
	for s := range yields(ctx) {
		seen(p, &s)
		if !w.isCalm() && w.drawn64()%8 == 0 {
			lags.Store(true)
			time.Sleep(w.drawn(w.plan.longest))
			lags.Store(false)
		}
	}
}

// joinAll joins all groups of the node, together or one by one.
func (p *process) joinAll(together bool) {
	if together {
		p.joinTogether()
		return
	}
	for i, l := range p.node.ledgers {
		if l != nil {
			p.join(p.world().plan.groups[i])
		}
	}
}

// strike makes one fault strike the process, and says whether that ended it.
func (p *process) strike() (over, powerCut bool) {
	w, r := p.world(), p.node.random
	switch f := []Fault{Kill, Kill, PowerCut, PowerCut, PowerCutLater, Close, CloseNow, Empty, Rejoin, Rejoin, Rejoin, RejoinNow, Mistake}[r.IntN(13)]; f {
	case Kill, PowerCut, PowerCutLater:
		w.judge.struckAt(f, p.node.name)
		p.die(f == PowerCut)
		return true, f == PowerCutLater
	case Close, CloseNow:
		w.judge.struckAt(f, p.node.name)
		p.close(f == CloseNow)
		return true, false
	case Empty:
		w.judge.struckAt(f, p.node.name)
		p.empty(false)
		p.joinAll(r.IntN(2) == 0)
	case Mistake:
		p.makeMistakes()
	default:
		p.rejoin(f)
	}
	return false, false
}

// rejoin stops a group and joins it again.
func (p *process) rejoin(f Fault) {
	w, g := p.world(), p.world().plan.groups[p.node.random.IntN(len(p.node.ledgers))]
	m := w.judge.memberOf(p, g.name)
	if m == nil {
		return
	}
	w.judge.struckAt(f, p.node.name+" "+g.name)
	ctx, cancel := m.patience(f == RejoinNow)
	defer cancel()
	m.stop(ctx)
	p.joinsOtherwise(g)
	p.join(g)
}

// die ends the process at once: from now on it says, hears, saves and shows nothing. A goroutine
// cannot be ended from outside, so the host is closed afterwards, cut off from everything.
func (p *process) die(powerCut bool) {
	p.world().judge.dies(p)
	p.tap.cut()
	p.node.disk.died(powerCut)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	p.world().work.Go(func() {
		_ = patiently(func() error { return p.host.Close(gone) }) // a dead process reports nothing
		_ = p.store.Close()
	})
}

// patiently repeats a call that was given up because the store was silent: its disk hangs, and not for ever.
func patiently(call func() error) error {
	for {
		if err := call(); !errors.Is(err, elector.ErrStoreSilent) {
			return err
		}
	}
}

// close closes the host in good order, or without waiting for a handover.
func (p *process) close(now bool) {
	p.empty(now)
	p.world().judge.closed(p)
	p.world().judge.tell("%s: process %d has closed its host", p.node.name, p.number)
	_ = p.store.Close() // it may be broken
	p.node.disk.died(false)
}

// empty closes all groups of the host.
func (p *process) empty(now bool) {
	all := p.world().judge.membersOf(p)
	ctx, cancel := context.WithCancel(context.Background())
	if now {
		cancel()
	}
	defer cancel()
	for _, m := range all {
		p.world().judge.leaves(m)
	}
	closed := p.world().judge.closes(p)
	_ = patiently(func() error { return p.host.Close(ctx) }) // run checks each group's error
	closed()
	p.world().judge.emptied(p, !now, all)
	// If all groups of a host have ended by themselves, Close has nothing to close and returns at
	// once. Stop waits for the host's own end in that case, too.
	for _, m := range all {
		if m.el != nil {
			_ = m.el.Stop(ctx)
		}
	}
	var over sync.WaitGroup
	for _, m := range all {
		over.Go(func() { <-m.gone })
	}
	over.Wait()
	p.world().judge.noneWaits(p)
}

// end cuts the process off, unless it has died.
func (p *process) end() {
	if !p.isDead() {
		p.world().judge.dies(p)
	}
}
