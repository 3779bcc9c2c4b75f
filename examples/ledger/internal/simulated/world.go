// Package simulated runs whole nodes of the example engine in virtual time, over a network and disks that fail, and checks what
// their clients see. A world belongs in a bubble of testing/synctest.
package simulated

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/client"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/internal/history"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator/route"
	"github.com/hustings/hustings/rpc"
)

// World is one run. Its seed decides what may happen, but not in which order goroutines run.
type World struct {
	random    *rand.Rand // of the faults
	trouble   *dice      // of old tables, lost answers and delays
	members   []memberstate.Member
	shards    uint32
	leases    bool
	keep      uint64 // entries
	part      int    // bytes
	sessions  uint64
	timing    elector.Timing
	elections *rpc.Network
	network   *network
	nodes     []*node
	history   history.History
	unknown   atomic.Int64 // commands that a leader did not know the fate of
	work      sync.WaitGroup
	over      chan struct{}

	mu     sync.Mutex
	faults []string
	failed string
}

// New makes the world of a seed.
func New(seed uint64) *World {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &World{
		random: r, trouble: newDice(seed), shards: 1 + r.Uint32N(3), leases: r.IntN(2) == 0, keep: []uint64{1, 10, 100}[r.IntN(3)], part: 1 + r.IntN(100), sessions: []uint64{20, 200, 1 << 20}[r.IntN(3)], elections: rpc.NewNetwork(seed), network: newNetwork(seed), over: make(chan struct{}),
		timing: elector.Timing{Heartbeat: 50 * time.Millisecond, Leak: 3, MinVoteWait: 20 * time.Millisecond, MaxVoteWait: 60 * time.Millisecond, RoundTimeout: 100 * time.Millisecond, DriftMargin: 10 * time.Millisecond},
	}
	voters, observers := 3+2*r.IntN(2), r.IntN(4)
	for i := range voters + observers {
		w.members = append(w.members, memberstate.Member{ID: fmt.Sprint("n", i), Observer: i >= voters})
	}
	for _, m := range w.members {
		w.nodes = append(w.nodes, &node{world: w, id: m.ID, disk: vfs.NewCrashableMem(), store: new(memberstate.MemStore)})
	}
	return w
}

// Play plays it, in a bubble of virtual time.
func (w *World) Play() {
	w.weather(true)
	for _, n := range w.nodes {
		n.start()
	}
	var clients sync.WaitGroup
	for i := range 2 + w.random.IntN(3) {
		r := rand.New(rand.NewPCG(w.random.Uint64(), 1))
		clients.Go(func() { w.serveClient(i, r) })
	}
	for end := time.Now().Add(time.Duration(3+w.random.IntN(8)) * time.Second); time.Now().Before(end) && !w.isBroken(); {
		time.Sleep(time.Duration(w.random.Int64N(int64(700 * time.Millisecond))))
		w.strike()
	}
	w.heal()
	w.converge()
	close(w.over)
	clients.Wait()
	w.compare()
	w.serve()
	w.compare()
	w.givesBack()
	for _, n := range w.nodes {
		w.end(n)
	}
	w.work.Wait()
	w.network.flying.Wait()
}

// weather sets all links: good ones, or those of a bad network.
func (w *World) weather(bad bool) {
	for _, from := range w.members {
		for _, to := range w.members {
			l := rpc.Link{Delay: 200 * time.Microsecond, Jitter: time.Millisecond}
			if bad {
				l.Jitter = time.Duration(1+w.random.IntN(20)) * time.Millisecond
				l.Loss, l.Duplicate, l.Reorder = 0.1*w.random.Float64(), 0.1*w.random.Float64(), 0.1*w.random.Float64()
			}
			w.link(from.ID, to.ID, l)
		}
	}
}

// link sets a link of the engines and that of their electors.
func (w *World) link(from, to string, l rpc.Link) {
	w.network.set(from, to, l)
	w.elections.SetLink(from, to, l)
}

// strike has one thing go wrong, or an operator do something.
func (w *World) strike() {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	kinds := []struct {
		name string
		does func(*node)
	}{
		{"power", w.losePower},
		{"power", w.losePower},
		{"cut", w.cut},
		{"cut leaders", w.cutLeaders},
		{"cut engine", w.cutEngine},
		{"one way", w.cutOneWay},
		{"one way", w.cutOneWay},
		{"weather", func(*node) { w.weather(true) }},
		{"slow disk", w.slowDisk},
		{"drain", w.drain},
		{"transfer", w.transfer},
		{"late transfers", w.transferLate},
		{"late transfers", w.transferLate},
		{"resign", w.resign},
		{"restart", w.restart},
		{"all die", w.allDie},
	}
	k := kinds[w.random.IntN(len(kinds))]
	w.mu.Lock()
	w.faults = append(w.faults, k.name+" "+n.id)
	w.mu.Unlock()
	for k.does(n); w.random.IntN(4) == 0; k.does(n) { // the same may come again before all have coped with it
		time.Sleep(time.Duration(w.random.Int64N(int64(2 * w.timing.Heartbeat))))
	}
}

func (w *World) losePower(n *node) {
	if leader := w.anyLeader(); leader != nil && w.random.IntN(2) == 0 {
		n = leader
	}
	n.die(w.random)
	time.Sleep(time.Duration(w.random.Int64N(int64(400 * time.Millisecond))))
	n.start()
}

func (w *World) allDie(*node) {
	for _, n := range w.nodes {
		n.die(w.random)
	}
	for _, n := range w.nodes {
		n.start()
	}
}

func (w *World) restart(n *node) {
	wait, cancel := context.WithTimeout(context.Background(), time.Duration(w.random.Int64N(int64(time.Second))))
	defer cancel()
	n.stop(wait)
	n.start()
}

// cut cuts a node off from all others, for a while.
func (w *World) cut(n *node) { w.cutBy(n, w.link) }

// cutEngine cuts a node's engine off, and not its electors, which have connections of their own.
func (w *World) cutEngine(n *node) { w.cutBy(n, w.network.set) }

func (w *World) cutBy(n *node, link func(from, to string, l rpc.Link)) {
	for _, m := range w.members {
		link(n.id, m.ID, rpc.Link{Cut: true})
		link(m.ID, n.id, rpc.Link{Cut: true})
	}
	time.Sleep(time.Duration(w.random.Int64N(int64(time.Second))))
	w.weather(true)
}

// cutLeaders cuts one leader off after the other. Each has entries that the next one lacks, and may not know yet that it leads no more.
func (w *World) cutLeaders(*node) {
	for range 2 + w.random.IntN(3) {
		if leader := w.anyLeader(); leader != nil {
			w.cut(leader)
		}
	}
}

func (w *World) cutOneWay(n *node) {
	for _, m := range w.members {
		switch w.random.IntN(3) {
		case 0:
			w.link(n.id, m.ID, rpc.Link{Cut: true})
		case 1:
			w.link(m.ID, n.id, rpc.Link{Cut: true})
		}
	}
	if w.random.IntN(2) == 0 {
		time.Sleep(time.Duration(w.random.Int64N(int64(time.Second))))
	}
}

func (w *World) slowDisk(n *node) {
	lasts := time.Duration(w.random.Int64N(int64(20 * time.Millisecond)))
	if w.random.IntN(4) == 0 {
		lasts *= 30
	}
	n.lasts.Store(int64(lasts))
}

func (w *World) drain(n *node) {
	p := n.running()
	if p == nil {
		return
	}
	wait, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.engine.Host().Drain(wait)
	if w.random.IntN(2) == 0 {
		_ = p.engine.Host().Undrain()
	}
}

// transferLate has leaders hand over again and again while messages are late: some are given up, and their requests for votes arrive
// after that.
func (w *World) transferLate(*node) {
	for _, from := range w.members {
		for _, to := range w.members {
			w.link(from.ID, to.ID, rpc.Link{Jitter: w.timing.Detection()})
		}
	}
	for range 6 {
		w.transfer(nil)
	}
	w.weather(true)
}

func (w *World) transfer(*node) { w.order((*elector.Elector).TransferLeadership) }

func (w *World) resign(*node) {
	w.order(func(el *elector.Elector, ctx context.Context, _ string) error { return el.Resign(ctx) })
}

func (w *World) order(give func(*elector.Elector, context.Context, string) error) {
	shard := w.random.Uint32N(w.shards)
	for _, n := range w.nodes {
		if el := n.leads(shard); el != nil {
			wait, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = give(el, wait, "")
			cancel()
		}
	}
}

func (w *World) anyLeader() *node {
	for _, n := range w.nodes {
		if n.leads(0) != nil {
			return n
		}
	}
	return nil
}

// heal ends all faults.
func (w *World) heal() {
	w.weather(false)
	for _, n := range w.nodes {
		n.lasts.Store(int64(time.Millisecond))
		if p := n.running(); p == nil {
			n.start()
		} else {
			_ = p.engine.Host().Undrain()
		}
	}
}

// converge waits until a write to every shard has succeeded.
func (w *World) converge() {
	wait, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := client.New(w, w, w.shards, 300*time.Millisecond)
	for i := range 20 {
		for err := errDied; err != nil; { // its session may end before it has an answer
			if err = c.Put(wait, fmt.Appendf(nil, "last %d", i), []byte("x")); err != nil && wait.Err() != nil {
				w.fail("30 s after the last fault: %v", err)
				return
			}
		}
	}
}

// compare compares the states of all members, which get the last entries within a few heartbeats.
func (w *World) compare() {
	for shard := range w.shards {
		var want []byte
		for began := time.Now(); ; time.Sleep(w.timing.Heartbeat) {
			same := true
			want = nil
			for _, n := range w.nodes {
				p := n.running()
				if p == nil {
					return
				}
				digest := p.engine.Digest(shard)
				same = same && (want == nil || bytes.Equal(want, digest))
				want = digest
			}
			if same || w.isBroken() {
				break
			}
			if time.Since(began) > 10*time.Second {
				w.fail("the states of shard %d differ", shard)
				return
			}
		}
	}
}

// serve restarts a node while nobody writes, and waits until each takes its share of leading. None lacks anything now.
func (w *World) serve() {
	if again := w.nodes[0]; again.running() != nil && !w.isBroken() {
		w.end(again)
		again.start()
	}
	for _, n := range w.nodes {
		for began := time.Now(); ; time.Sleep(w.timing.Heartbeat) {
			p := n.running()
			if p == nil || p.engine.Host().Progress().Standing.State == rpc.Serving || w.isBroken() {
				break
			}
			if time.Since(began) > 10*time.Second {
				w.fail("%s has what its leaders have, and does not serve", n.id)
				return
			}
		}
	}
}

// givesBack waits until no node holds anything for work that is over.
func (w *World) givesBack() {
	for _, n := range w.nodes {
		for began := time.Now(); ; time.Sleep(w.timing.Heartbeat) {
			p := n.running()
			if p == nil || w.isBroken() {
				return
			}
			held, err := p.engine.Holdings()
			if err == nil && held == (engine.Holdings{}) {
				break
			}
			if time.Since(began) > 20*w.timing.Heartbeat {
				w.fail("it is quiet, and %s still holds %+v (%v)", n.id, held, err)
				return
			}
		}
	}
}

// end ends a node as an operator would who has a minute. Whoever cannot take over is not waited for.
func (w *World) end(n *node) {
	wait, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n.stop(wait)
	if wait.Err() != nil {
		w.fail("%s does not end", n.id)
	}
}

// serveClient is one client, which asks until the world is over.
func (w *World) serveClient(number int, r *rand.Rand) {
	c := client.New(w, w, w.shards, 300*time.Millisecond)
	for i := 0; !isClosed(w.over) && !w.isBroken(); i++ {
		time.Sleep(time.Duration(r.Int64N(int64(60 * time.Millisecond))))
		a := history.Asked{Does: history.Kinds[r.IntN(len(history.Kinds))], Key: fmt.Sprint("k", r.IntN(4)), Value: fmt.Sprintf("%d.%d", number, i)}
		if a.Does == "swap" && r.IntN(2) == 0 {
			a.Old = w.history.LastPut(a.Key)
		}
		wait, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err := w.history.Ask(wait, c, number, a, r.IntN(2) == 0); err != nil {
			w.fail("client %d: %v", number, err)
		}
		cancel()
	}
}

// Await is what a client's router does: it looks who says that it leads, or who is said to. Now and then its table is as old as that of
// the node that is furthest behind.
func (w *World) Await(ctx context.Context, group string) (route.Leader, error) {
	if known := w.leadersOf(group); len(known) > 0 && w.trouble.IntN(8) == 0 {
		return slices.MinFunc(known, func(a, b route.Leader) int { return cmp.Compare(a.Term, b.Term) }), nil
	}
	return w.AwaitNewer(ctx, group, 0)
}

// AwaitNewer waits for a larger term.
func (w *World) AwaitNewer(ctx context.Context, group string, term memberstate.Term) (route.Leader, error) {
	for {
		if newest := w.leaderOf(group); newest.Term > term {
			return newest, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return route.Leader{}, context.Cause(ctx)
		}
	}
}

// leaderOf is the newest leader of a group that any node knows.
func (w *World) leaderOf(group string) (newest route.Leader) {
	for _, l := range w.leadersOf(group) {
		if l.Term > newest.Term {
			newest = l
		}
	}
	return newest
}

// leadersOf is whom each node takes for the leader of a group.
func (w *World) leadersOf(group string) (known []route.Leader) {
	for _, n := range w.nodes {
		p := n.running()
		if p == nil {
			continue
		}
		el := p.engine.Host().Elector(group)
		if el == nil {
			continue // it has ended
		}
		if now := el.Status(); now.Leader != "" {
			known = append(known, route.Leader{ID: now.Leader, Term: now.Term})
		}
	}
	return known
}

// Refused is told that a leader does not lead. The next look shows who does.
func (*World) Refused(string, memberstate.Term) {}

// Do asks a node. Question and answer take time, and either may be lost.
func (w *World) Do(ctx context.Context, id string, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	time.Sleep(time.Duration(w.trouble.IntN(int(2 * time.Millisecond))))
	for _, n := range w.nodes {
		p := n.running()
		if n.id != id || p == nil {
			continue
		}
		replied := make(chan *ledgerpb.Reply, 1)
		w.work.Go(func() { replied <- p.engine.Do(ctx, r) })
		select {
		case reply := <-replied:
			if reply.GetUnknown() != "" {
				w.unknown.Add(1)
			}
			if isClosed(p.died) || w.trouble.IntN(50) == 0 {
				return nil, errDied
			}
			return reply, nil
		case <-p.died:
			return nil, errDied
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, errDied
}

// Verdict says what was wrong, and what had happened before; empty if nothing was. It is for the time after Play, outside of the bubble.
func (w *World) Verdict() string {
	if w.failed == "" {
		w.failed = w.history.Check()
	}
	if w.failed == "" {
		return ""
	}
	return fmt.Sprintf("%s\nfaults: %q", w.failed, w.faults)
}

// Questions is how many there were.
func (w *World) Questions() int { return w.history.Len() }

func (w *World) isBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed != ""
}

// fail keeps the first thing that must not be.
func (w *World) fail(what string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == "" {
		w.failed = fmt.Sprintf(what, args...)
	}
}
