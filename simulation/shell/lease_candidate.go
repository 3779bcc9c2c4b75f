// This file has the machines of candidates, and the processes that run on each one after another.
// Each process has a lease.Keeper.

package shell

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/lease"
)

// leaseNode is a machine.
type leaseNode struct {
	world  *leaseWorld
	index  int
	name   string
	rate   float64 // of its clock
	timing lease.Timing
	random *rand.Rand

	candidate atomic.Pointer[candidate] // the one that runs; nil: none does
}

// candidate is one process: a keeper, and a contender for each lease.
type candidate struct {
	node   *leaseNode
	number int
	died   chan struct{}
	keeper *lease.Keeper
	still  atomic.Int64 // until when it stands still, since the world began
	busy   trouble      // slow lines of the log

	mu  sync.Mutex
	cut chan struct{} // closed while nothing from the database reaches it

	// The judge guards the fields below.
	dead       bool
	contenders map[string]*contender
	running    int // contenders whose Run was called and has not returned
	calls      int // of the store and the waker that have not returned
	logging    int // lines that are being written, except those of the world's own calls
	visits     int // calls of the world that may log
}

func (c *candidate) world() *leaseWorld { return c.node.world }
func (c *candidate) isDead() bool       { return isClosed(c.died) }
func (c *candidate) isCut() bool        { return isClosed(c.hungUp()) }

// hungUp returns the channel that is closed when the candidate is cut off.
func (c *candidate) hungUp() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// cutOff cuts the candidate off for a while.
func (c *candidate) cutOff(lasts time.Duration) {
	c.mu.Lock()
	if !isClosed(c.cut) {
		close(c.cut)
	}
	c.mu.Unlock()
	c.world().work.Go(func() {
		c.world().sleepInTrouble(lasts)
		c.mu.Lock()
		defer c.mu.Unlock()
		if isClosed(c.cut) {
			c.cut = make(chan struct{})
		}
	})
}

// standStill blocks its caller while the process stands still.
func (c *candidate) standStill() {
	wait := time.Duration(c.still.Load()) - time.Since(c.world().judge.began)
	if wait <= 0 {
		return
	}
	select {
	case <-time.After(wait):
	case <-c.world().calm:
	case <-c.died:
	}
}

// Enabled, Handle, WithAttrs and WithGroup make the candidate the handler of the keeper's logger.
// Handle calls the keeper and is slow at times, because the keeper must hold no lock when it logs.
func (c *candidate) Enabled(context.Context, slog.Level) bool { return true }

func (c *candidate) Handle(_ context.Context, r slog.Record) error {
	w := c.world()
	if c.isDead() || c.keeper == nil {
		return nil
	}
	defer w.judge.logs(c, r.Message)()
	_, _ = c.keeper.Join(lease.GroupConfig{Name: "the log's"}) // Join needs the keeper's lock
	if !w.isCalm() && w.chance(8) {
		w.judge.struck(SlowLog)
		c.busy.begin()
		defer c.busy.end()
		w.sleepInTrouble(w.drawn(w.plan.longest.TTL))
	}
	return nil
}

func (c *candidate) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *candidate) WithGroup(string) slog.Handler      { return c }

// live runs processes on the node until the world is over.
func (n *leaseNode) live() {
	for number := 1; !n.world.isOver(); number++ {
		c := &candidate{node: n, number: number, died: make(chan struct{}), cut: make(chan struct{}), contenders: map[string]*contender{}}
		config := lease.KeeperConfig{Self: n.name, Store: line{c}, Timing: n.timing, Strict: n.world.plan.strict, Logger: slog.New(c)}
		if n.world.plan.wakes {
			config.Waker = waker{line{c}}
		}
		keeper, err := lease.NewKeeper(config)
		n.world.judge.check(OrdersTold, err == nil, n.name, "no keeper is made: %v", err)
		if err != nil {
			return
		}
		c.keeper = keeper
		n.world.judge.tell("%s: process %d starts", n.name, number)
		for _, g := range n.world.plan.groups {
			c.join(g)
		}
		n.candidate.Store(c)
		c.run()
		n.candidate.Store(nil)
		n.world.judge.leaseDies(c)
		n.world.sleepInTrouble(upTo(n.random, 2*n.world.plan.longest.TTL))
	}
}

// run draws faults for the process until it ends.
func (c *candidate) run() {
	w, r := c.world(), c.node.random
	for {
		next := time.NewTimer(upTo(r, 20*w.plan.longest.TTL))
		select {
		case <-next.C:
		case <-w.calm:
			next.Stop()
			<-w.over
			c.close()
			return
		}
		switch f := []Fault{Kill, Kill, Close, Rejoin, Rejoin, StandStill, StandStill, CutOff, CutOff}[r.IntN(9)]; f {
		case Kill:
			w.judge.struckAt(f, c.node.name)
			c.die()
			return
		case Close:
			w.judge.struckAt(f, c.node.name)
			c.close()
			return
		case Rejoin:
			c.rejoin(w.plan.groups[r.IntN(len(w.plan.groups))])
		case StandStill:
			w.judge.struckAt(f, c.node.name)
			c.still.Store(int64(time.Since(w.judge.began) + upTo(r, 2*w.plan.longest.TTL)))
		default:
			w.judge.struckAt(f, c.node.name)
			c.cutOff(upTo(r, 3*w.plan.longest.TTL))
		}
	}
}

// rejoin stops the contender for a lease, and joins the lease again.
func (c *candidate) rejoin(g *leaseGroup) {
	e := c.world().judge.contenderOf(c, g.name)
	if e == nil {
		return
	}
	c.world().judge.struckAt(Rejoin, e.name)
	e.stop()
	<-e.gone
	c.join(g)
}

// die ends the process at once: it is cut off from everything. A goroutine cannot be ended from
// outside, so the contenders end later.
func (c *candidate) die() {
	all := c.world().judge.contendersOf(c)
	c.world().judge.leaseDies(c)
	for _, e := range all {
		e.stop()
	}
}

// close ends the process in good order.
func (c *candidate) close() {
	all := c.world().judge.contendersOf(c)
	for _, e := range all {
		e.stop()
	}
	for _, e := range all {
		<-e.gone
	}
	c.world().judge.tell("%s: process %d has ended", c.node.name, c.number)
}
