// One trial: a leader that serves writes hangs, and another one serves a write.

package hangs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// Members is the number of members.
	Members = 3
	// Beat is the interval of heartbeats.
	Beat = Detection / 10
	// Detection is T.
	Detection = time.Second

	delay  = Detection / 100  // of a message, one way
	saving = Detection / 1000 // the duration of a save

	// every is how often a client begins a write.
	every = Detection / 100
	// Hopeless is how long a client waits for a write before it gives it up.
	Hopeless = Detection / 2

	settling = 5 * Detection  // how long a leader serves before it hangs
	patience = 60 * Detection // how long one that hangs is left without a successor
	stop     = 5 * Detection  // how long a process is stopped
)

// Fault is what happens to the leader.
type Fault string

// The faults.
const (
	DiskHangs    Fault = "the leader's disk hangs"
	EngineHangs  Fault = "the leader's engine hangs"
	ProcessStops Fault = "the leader's process is stopped for 5 T"
	AllHangs     Fault = "the leader's whole engine hangs, as if a lock were never released"
)

// strike makes it happen to a node.
func (f Fault) strike(n *Node) {
	switch f {
	case DiskHangs:
		n.disk.shut()
	case AllHangs: // only different for a library with callbacks beside that which applies
		n.callbacks.shut()
		n.engine.shut()
	case EngineHangs:
		n.engine.shut()
	case ProcessStops:
		n.process.shut()
		time.AfterFunc(stop, n.process.open)
	}
}

// Member is a member of the group, of one of the libraries.
type Member interface {
	// Leads says whether it takes itself for the leader.
	Leads() bool
	// Write returns when the member, as the leader, has applied a new entry that a quorum has
	// saved.
	Write(ctx context.Context) error
	// HandOver makes the leader hand over to another member, and does not wait for that.
	HandOver()
	// Close ends the member. Nothing hangs any more.
	Close()
}

// Founder starts the members of a group, each on its node.
type Founder func(net *Network, nodes []*Node) ([]Member, error)

// trial is one group, with a client of each member.
type trial struct {
	net     Network
	nodes   []*Node
	members []Member
	clients sync.WaitGroup

	mu     sync.Mutex
	served []time.Time   // when the last write began that each member has served
	news   chan struct{} // receives a value when a member has served
}

// run runs a trial, in a bubble.
func run(s Side, f Fault, r *rand.Rand) (took float64, replaced bool, err error) {
	t := &trial{served: make([]time.Time, Members), news: make(chan struct{}, 1)}
	for i := range Members {
		t.nodes = append(t.nodes, &Node{Index: i, Phase: time.Duration(r.Int64N(int64(Beat)))})
	}
	if t.members, err = s.Found(&t.net, t.nodes); err != nil {
		return 0, false, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer t.close(cancel)
	for i := range Members {
		t.clients.Go(func() { t.use(ctx, i) })
		if s.Watchdog {
			t.clients.Go(func() { t.watch(ctx, i) })
		}
	}
	pause(ctx, settling+time.Duration(r.Int64N(int64(Detection))))
	leader := t.leader()
	if leader < 0 {
		return 0, false, errors.New("hangs: nobody has served a write")
	}
	began := time.Now()
	if last := began.Sub(t.last(leader)); last > Hopeless {
		return 0, false, fmt.Errorf("hangs: the leader has not served for %v", last)
	}
	f.strike(t.nodes[leader])
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case <-t.news:
		case <-late.C:
			return 0, false, nil
		}
		if next := t.leader(); next != leader && t.last(next).After(began) {
			return float64(time.Since(began)) / float64(Detection), true, nil
		}
	}
}

// close ends everything. It waits for the goroutines that still sleep, because a bubble's clock stands
// still once its first goroutine has ended.
func (t *trial) close(clients context.CancelFunc) {
	clients()
	for _, n := range t.nodes {
		n.release()
	}
	t.clients.Wait()
	for _, m := range t.members {
		m.Close()
	}
	t.net.close()
	time.Sleep(patience)
}

// use is the client of a member. While the member leads, it begins a write at fixed intervals, whatever
// has come of the last ones, as many independent clients do.
func (t *trial) use(ctx context.Context, i int) {
	var writes sync.WaitGroup
	defer writes.Wait()
	for ; ctx.Err() == nil; pause(ctx, every) {
		if t.members[i].Leads() {
			writes.Go(func() { t.write(ctx, i) })
		}
	}
}

func (t *trial) write(ctx context.Context, i int) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, Hopeless)
	defer cancel()
	if t.members[i].Write(ctx) != nil {
		return
	}
	t.mu.Lock()
	if t.served[i].Before(began) {
		t.served[i] = began
	}
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default: // a value is already waiting
	}
}

// leader returns the member that has last served; -1 if none has.
func (t *trial) leader() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := -1
	for i, at := range t.served {
		if !at.IsZero() && (newest < 0 || at.After(t.served[newest])) {
			newest = i
		}
	}
	return newest
}

func (t *trial) last(i int) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.served[i]
}
