// One group, which starts, and whose leader hands over repeatedly.

package churn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/adapter/ours"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/virtual"
	"github.com/hustings/hustings/elector"
)

const (
	beat  = 100 * time.Millisecond // the interval of heartbeats
	delay = 5 * time.Millisecond   // of a message, one way
	save  = time.Millisecond       // the duration of a save
	// patience is longer than anything takes that does not fail.
	patience = time.Hour
)

// Task says how many groups of a size start, and how often the leader of another one hands over.
type Task struct {
	Members, Starts, Transfers int
	Seed                       uint64
}

// Times are the times of the starts and the transfers.
type Times struct {
	Start, Leaderless, Transfer Quantiles
}

// Quantiles are in milliseconds.
type Quantiles struct{ P50, P99, Max float64 }

func quantiles(milliseconds []float64) Quantiles {
	return Quantiles{measure.Quantile(milliseconds, 0.5), measure.Quantile(milliseconds, 0.99), measure.Quantile(milliseconds, 1)}
}

// Ours runs our machines.
func Ours(ctx context.Context, t Task) (Times, error) { return timesOf(ctx, oursFound(), t) }

func oursFound() founder[ours.Message] {
	timing := elector.DefaultTiming()
	timing.Heartbeat, timing.Leak = beat, etcd.ElectionTicks
	return ours.Variant{Timing: timing, PreVote: true, Ranks: true}.Found
}

// Etcd runs the version of etcd/raft that is linked in.
func Etcd(ctx context.Context, t Task) (Times, error) {
	defer etcd.Restore()
	return etcdOf(ctx, (*raft.RawNode).Step, t)
}

func etcdOf[M any](ctx context.Context, step func(*raft.RawNode, M) error, t Task) (Times, error) {
	return timesOf(ctx, etcd.Found(step, beat), t)
}

// founder makes a group of one of the libraries.
type founder[M any] func(w *virtual.World[M], members, behind int) []virtual.Member[M]

func timesOf[M any](ctx context.Context, found founder[M], t Task) (Times, error) {
	defer measure.Unclocked()()
	var starts []float64
	for i := range t.Starts {
		g, err := start(found, t.Members, t.Seed<<32+uint64(i))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Times{}, err
		}
		starts = append(starts, milliseconds(g.led))
	}
	g, err := start(found, t.Members, t.Seed)
	if err != nil {
		return Times{}, err
	}
	leaderless, whole, err := g.handAround(ctx, t.Transfers, func(old int) { g.world.Transfer(old, (old+1)%t.Members) })
	return Times{quantiles(starts), quantiles(leaderless), quantiles(whole)}, err
}

// group is a group under observation.
type group[M any] struct {
	world   virtual.World[M]
	leaders []int         // the leader that each member knows
	led     time.Duration // when a majority first knew one; zero before
	paused  time.Duration // when a leader last ended its writes
}

// start starts a group, member after member, and lets time pass until all have started and a
// majority knows the leader.
func start[M any](found founder[M], size int, seed uint64) (*group[M], error) {
	g := &group[M]{leaders: slices.Repeat([]int{virtual.Nobody}, size)}
	w := &g.world
	*w = virtual.World[M]{Delay: delay, Save: save, Random: rand.New(rand.NewPCG(seed, 1)), Observer: g}
	w.Found(found(w, size, virtual.Nobody))
	when := make([]time.Duration, size)
	for i := range when {
		when[i] = draw(w.Random)
	}
	slices.Sort(when)
	for i, member := range w.Random.Perm(size) {
		w.Until(when[i])
		w.Start(member)
	}
	err := g.until(func() bool { return g.led > 0 })
	return g, err
}

// draw draws a time within a heartbeat interval.
func draw(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(beat))) }

// handAround orders one leader after the other to hand over. It returns, in milliseconds, how
// long there was no leader, and how long it took from the order until the new one led.
func (g *group[M]) handAround(ctx context.Context, times int, order func(old int)) (leaderless, whole []float64, err error) {
	w := &g.world
	for range times {
		old, err := g.settled(ctx, 2*beat)
		if err != nil {
			return nil, nil, err
		}
		ordered := w.Now()
		order(old)
		if err := g.until(func() bool { return g.succeeded(old) }); err != nil {
			return nil, nil, err
		}
		leaderless = append(leaderless, milliseconds(w.Now()-g.paused))
		whole = append(whole, milliseconds(w.Now()-ordered))
	}
	return leaderless, whole, nil
}

// settled returns the leader that all members know, after it has led for long and a random part
// of a heartbeat interval.
func (g *group[M]) settled(ctx context.Context, long time.Duration) (leader int, err error) {
	w, all := &g.world, len(g.leaders)
	if err := g.until(func() bool { return g.leader(all) != virtual.Nobody }); err != nil {
		return virtual.Nobody, err
	}
	w.Until(w.Now() + long + draw(w.Random))
	if leader = g.leader(all); leader == virtual.Nobody {
		return leader, fmt.Errorf("churn: at %v the leader was lost without an order", w.Now())
	}
	return leader, ctx.Err()
}

// succeeded reports whether a member other than the old leader leads, by its own account.
func (g *group[M]) succeeded(old int) bool {
	for member, leader := range g.leaders {
		if member != old && leader == member {
			return true
		}
	}
	return false
}

// until lets time pass until a condition holds.
func (g *group[M]) until(so func() bool) error {
	w := &g.world
	for limit := w.Now() + patience; !so(); {
		if w.Now() > limit || !w.Step() {
			return errors.Join(w.Err, fmt.Errorf("churn: it was not over at %v", w.Now()))
		}
	}
	return nil
}

// leader returns the member that takes itself for the leader and is known as such to at least
// known members.
func (g *group[M]) leader(known int) int {
	for member, own := range g.leaders {
		if own != member {
			continue
		}
		by := 0
		for _, leader := range g.leaders {
			if leader == member {
				by++
			}
		}
		if by >= known {
			return member
		}
	}
	return virtual.Nobody
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// Beats is ignored.
func (g *group[M]) Beats(int) {}

// Asks is ignored.
func (g *group[M]) Asks(int, uint64, bool) {}

// Knows notes the leader that a member knows.
func (g *group[M]) Knows(member int, _ uint64, leader int) {
	g.leaders[member] = leader
	if g.led == 0 && g.leader(len(g.leaders)/2+1) != virtual.Nobody {
		g.led = g.world.Now()
	}
}

// Pauses notes the time.
func (g *group[M]) Pauses(int) { g.paused = g.world.Now() }
