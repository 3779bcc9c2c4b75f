// Package realtime measures failover as the clock on the wall has it: members on
// loopback, each with its real transport, of which one is killed, falls silent, or
// resigns.
package realtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

const name = "realtime"

// detection is how long a leader may be silent.
const detection = 300 * time.Millisecond

// Section measures failover in real time.
func Section() figure.Section {
	return figure.Section{
		Name: name, Title: "Failover in real time, three members on loopback",
		Configured: []string{
			fmt.Sprintf("Both sides: a leader is taken for dead after %v; stores in memory; every message passes a TCP proxy, which resets connections and refuses new ones for a kill, and forwards nothing for a pause. Measured until two members name the new leader, by what they tell their watchers.", detection),
			"Ours: rpc/grpcrpc without TLS, heartbeat 100 ms, leak 3, vote waits 30..100 ms, pre-vote and ranks on, no leases, no logger.",
			"hashicorp/raft 1.8: its TCP transport, HeartbeatTimeout = ElectionTimeout = LeaderLeaseTimeout, all else by default with pre-vote on, a logger that discards; resign is LeadershipTransfer.",
		},
		Measure: run,
	}
}

// event is what happens to the leader.
type event struct {
	name   string // what the leader is or does
	gone   bool   // nobody hears it any more
	happen func(c *cluster, leader string) error
}

var events = []event{
	{"is killed", true, func(c *cluster, leader string) error { return c.town.kill(leader) }},
	{"is paused", true, func(c *cluster, leader string) error {
		c.town.mute(leader)
		return nil
	}},
	{"resigns", false, func(c *cluster, leader string) error { return c.members[leader].resign() }},
}

func run(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
	trials := 30
	if p.Quick {
		trials = 2
	}
	took := make(map[string]*[2][]float64)
	var err error
	for i := 0; i < trials && err == nil; i++ {
		for j, e := range events {
			p.Progress("the leader "+e.name, (float64(i)+float64(j)/float64(len(events)))/float64(trials))
			err = trial(ctx, e, took)
			if err != nil {
				break
			}
		}
	}
	if errors.Is(err, ctx.Err()) {
		err = nil // the time is up; what there is counts
	}
	return figures(took), err
}

// trial has an event happen to a cluster of each side.
func trial(ctx context.Context, e event, took map[string]*[2][]float64) error {
	if took[e.name] == nil {
		took[e.name] = new([2][]float64)
	}
	for side, start := range []func(changed func()) (*cluster, error){startOurs, startPeer} {
		d, err := measureOne(ctx, start, e)
		if err != nil {
			return fmt.Errorf("the leader %s: %w", e.name, err)
		}
		took[e.name][side] = append(took[e.name][side], d.Seconds()*1000)
	}
	return nil
}

// measureOne founds a cluster, lets it come to rest, and has something happen to its
// leader at any moment between two heartbeats.
func measureOne(ctx context.Context, start func(changed func()) (*cluster, error), e event) (took time.Duration, err error) {
	changed := make(chan struct{}, 1)
	c, err := start(func() {
		select {
		case changed <- struct{}{}:
		default: // it is known already
		}
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.changed = changed
	leader, err := c.await(ctx, len(nodes), "")
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(detection + rand.N(detection)):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if e.gone {
		c.gone = leader
	}
	began := time.Now()
	happened := make(chan error, 1)
	go func() { happened <- e.happen(c, leader) }()
	_, err = c.await(ctx, len(nodes)/2+1, leader)
	took = time.Since(began)
	return took, errors.Join(err, <-happened)
}

// figures are the medians and the worst tenths of the trials.
func figures(took map[string]*[2][]float64) (lines []figure.Figure) {
	for _, e := range events {
		sides := took[e.name]
		if sides == nil || len(sides[0]) == 0 || len(sides[1]) == 0 {
			continue
		}
		all := measure.Pair{Name: "the leader " + e.name + ": until a majority names the new one", Unit: "ms", Ours: sides[0], Peer: sides[1]}
		worst := measure.Pair{
			Name: all.Name + ", p90", Unit: "ms",
			Ours: []float64{measure.Quantile(sides[0], 0.9)}, Peer: []float64{measure.Quantile(sides[1], 0.9)},
		}
		lines = append(lines, all.Figure(name, peerName), worst.Figure(name, peerName))
	}
	return lines
}
