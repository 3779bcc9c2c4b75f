// Package churn measures what a group goes through when nothing fails: its cold start,
// and its leadership handed around. Virtual time, in which both sides have equal
// message delays, equal saves and equal detection times; nothing is computed for free,
// but nothing is waited for.
package churn

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/bench/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

const name = "churn"

// beat is how often a leader is heard, and detection how many beats may be missed.
const (
	beat      = 100 * time.Millisecond
	detection = etcd.ElectionTicks
)

// Section measures churn.
func Section() figure.Section {
	return figure.Section{
		Name: name, Title: "Cold starts, and leadership handed around",
		Configured: []string{
			fmt.Sprintf("Both sides run under one virtual time: a message takes %v one way, a save %v, and the members start within one heartbeat of %v.", delay, save, beat),
			"Ours: machines under the Host's own executor, heartbeat 100 ms, leak 10, vote waits 30..100 ms, pre-vote and ranks on, no leases; the engine pauses its writes at once. Leaderless is from that pause until the new leader leads.",
			"etcd/raft 3.7: RawNode, ticks of 100 ms in phases of their own, heartbeat tick 1, election tick 10, of which 8 are skipped at a start as etcd's server does, pre-vote, check quorum. Leaderless is from MsgTransferLeader, when the leader begins to drop proposals, until the new leader leads.",
		},
		Measure: run,
	}
}

// cluster is a group of one of the sides. Members count from 1.
type cluster interface {
	// know says how many members know the leader that most of them know.
	know() (knowing, leader int)
	// serves says whether a member leads.
	serves(i int) bool
	// transfer begins to hand over, and pausedAt is when writes then ended.
	transfer(from, to int)
	pausedAt() time.Duration
}

// most finds the leader that most know, given how many know each.
func most(by []int) (knowing, leader int) {
	for i, n := range by {
		if i > 0 && n > knowing {
			knowing, leader = n, i
		}
	}
	return knowing, leader
}

// sides are ours and the peer.
var sides = []func(w *world, size int) (cluster, error){
	func(w *world, size int) (cluster, error) { return newOurs(w, size), nil },
	newPeer,
}

// patience is how long anything may take. Nothing takes as long unless it fails.
const patience = time.Hour

func run(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
	table := new(measure.Table)
	sizes, repetitions, starts, transfers := []int{3, 5, 9, 31}, 5, 500, 1000
	if p.Quick {
		repetitions, starts, transfers = 1, 20, 100
	}
	for r := range repetitions {
		for i, start := range sides {
			for j, size := range sizes {
				p.Progress(fmt.Sprintf("cold start of %d", size), (float64(r)+float64(i)/2+float64(j)/10)/float64(repetitions))
				took, err := coldStarts(ctx, start, size, starts, uint64(r))
				if err != nil || ctx.Err() != nil {
					return table.Figures(name, etcd.Name), err
				}
				record(table, i, fmt.Sprintf("cold start of %d: until a majority knows the leader", size), took)
			}
			p.Progress("transfers", (float64(r)+float64(i)/2+0.4)/float64(repetitions))
			took, err := handAround(ctx, start, transfers, uint64(r))
			if err != nil || ctx.Err() != nil {
				return table.Figures(name, etcd.Name), err
			}
			record(table, i, fmt.Sprintf("%d transfers: leaderless", transfers), took)
		}
	}
	return table.Figures(name, etcd.Name), nil
}

// record enters what one repetition of one side says: its median and its worst
// hundredth.
func record(t *measure.Table, side int, what string, took []float64) {
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		pair := t.Pair(what+", "+q.name, "ms")
		if side == 0 {
			pair.Ours = append(pair.Ours, measure.Quantile(took, q.share))
		} else {
			pair.Peer = append(pair.Peer, measure.Quantile(took, q.share))
		}
	}
}

// coldStarts starts groups of a size, one after the other, in milliseconds each. It
// ends early with ctx.
func coldStarts(ctx context.Context, start func(*world, int) (cluster, error), size, times int, seed uint64) (took []float64, err error) {
	for i := 0; i < times && ctx.Err() == nil; i++ {
		w := newWorld(seed<<32 + uint64(i))
		c, err := start(w, size)
		if err != nil {
			return nil, err
		}
		if !w.run(patience, func() bool { return known(c, size) }) {
			return nil, fmt.Errorf("churn: no leader of %d members within %v", size, patience)
		}
		took = append(took, milliseconds(w.now))
	}
	return took, nil
}

// known says whether a majority knows the leader, which leads.
func known(c cluster, size int) bool {
	knowing, leader := c.know()
	return knowing > size/2 && c.serves(leader)
}

// handAround hands the leadership of three members on and on. It ends early with ctx.
func handAround(ctx context.Context, start func(*world, int) (cluster, error), times int, seed uint64) (took []float64, err error) {
	const size = 3
	w := newWorld(seed)
	c, err := start(w, size)
	if err != nil {
		return nil, err
	}
	for i := 0; i < times && ctx.Err() == nil; i++ {
		if !w.run(patience, func() bool { knowing, _ := c.know(); return knowing == size }) {
			return nil, fmt.Errorf("churn: not all know a leader before transfer %d", i)
		}
		w.pass(2*beat + w.draw(beat)) // somewhere between two beats
		_, old := c.know()
		next := old%size + 1
		c.transfer(old, next)
		if !w.run(patience, func() bool { return c.serves(next) }) {
			return nil, fmt.Errorf("churn: transfer %d came to nothing", i)
		}
		took = append(took, milliseconds(w.now-c.pausedAt()))
	}
	return took, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
