// Package realtime measures failover in real time: members on loopback with their real
// transports, one of which is killed, falls silent, or resigns.
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

// detection is how long a leader may be silent, and beat our interval of heartbeats. It equals
// the peer's, which depends on the detection time, because otherwise the age of the last
// heartbeat would favour one side.
const (
	detection = 300 * time.Millisecond
	leak      = 10
	beat      = detection / leak
)

// Section measures failover in real time.
func Section() figure.Section {
	return figure.Section{
		Name: name, Title: "Failover in real time, three members on loopback",
		Configured: []string{
			fmt.Sprintf("Both sides: a leader is taken for dead after %v; stores in memory; every message passes a TCP proxy, which resets connections and refuses new ones for a kill, and forwards nothing for a pause. Measured until two members name the new leader, as their watchers see it.", detection),
			fmt.Sprintf("Ours: rpc/grpcrpc without TLS, heartbeat %v, leak %d, vote waits 30..100 ms, pre-vote and ranks on, no leases, no logger.", beat, leak),
			fmt.Sprintf("hashicorp/raft 1.8: its TCP transport, HeartbeatTimeout = ElectionTimeout = LeaderLeaseTimeout = %v, all else by default with pre-vote on, a logger that discards; resign is LeadershipTransfer. It sends a heartbeat after every %v..%v, and looks after every %v..%v whether its leader has been silent for %v; these times are drawn.", detection, detection/10, detection/5, detection, 2*detection, detection),
			"Time counts from the event, which falls anywhere between two heartbeats: the older the last one, the sooner the leader is taken for dead. So ours is sent as often as the peer's at its most frequent.",
		},
		Extent:  extent,
		Measure: run,
	}
}

// event is a fault or an order of the leader.
type event struct {
	name   string
	gone   bool // the leader is cut off
	happen func(c *cluster, leader string) error
}

var events = [...]event{
	{"is killed", true, func(c *cluster, leader string) error { return c.town.kill(leader) }},
	{"is paused", true, func(c *cluster, leader string) error {
		c.town.mute(leader)
		return nil
	}},
	{"resigns", false, func(c *cluster, leader string) error { return c.members[leader].resign() }},
}

// times are the durations of the failovers, in milliseconds.
type times [len(events)]float64

// trials returns the number of trials of each event, for each side.
func trials(p figure.Plan) int {
	if p.Quick {
		return 2
	}
	return 20
}

func extent(p figure.Plan) string {
	return fmt.Sprintf("%d trials of each, in turns; their median and its spread, and the p90 of all, which has none.", trials(p))
}

func run(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
	rows := []measure.Row[times]{
		{Measure: func() (times, error) { return trial(ctx, startOurs) }},
		{Name: peerName, Measure: func() (times, error) { return trial(ctx, startPeer) }},
	}
	var err error
	for i := 0; i < trials(p) && err == nil; i++ {
		p.Progress("trials", float64(i)/float64(trials(p)))
		err = measure.Turn(ctx, rows)
	}
	return figures(rows), measure.UnlessOver(ctx, err)
}

// trial applies each event to a cluster of its own, one after the other, because in parallel a
// kill sometimes takes ten times as long.
func trial(ctx context.Context, start func(changed func()) (*cluster, error)) (t times, err error) {
	for i, e := range events {
		took, err := measureOne(ctx, start, e)
		if err != nil {
			return t, fmt.Errorf("the leader %s: %w", e.name, err)
		}
		t[i] = took.Seconds() * 1000
	}
	return t, nil
}

// measureOne starts a cluster, waits until it is idle, and applies an event to its leader at a
// random moment between two heartbeats.
func measureOne(ctx context.Context, start func(changed func()) (*cluster, error), e event) (took time.Duration, err error) {
	changed := make(chan struct{}, 1)
	c, err := start(func() {
		select {
		case changed <- struct{}{}:
		default: // a value is already waiting
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
func figures(rows []measure.Row[times]) (lines []figure.Figure) {
	if len(rows[0].Results) == 0 {
		return nil
	}
	for i, e := range events {
		all := measure.Compare(name, "the leader "+e.name+": until a majority names the new one", "ms", rows, func(t times) float64 { return t[i] })
		worst := figure.Figure{Section: name, Name: all.Name + ", p90", Unit: "ms", Ours: worstTenth(rows[0].Results, i)}
		worst.Beside(peerName, worstTenth(rows[1].Results, i))
		lines = append(lines, all, worst)
	}
	return lines
}

func worstTenth(trials []times, event int) float64 {
	all := make([]float64, len(trials))
	for i, t := range trials {
		all[i] = t[event]
	}
	return measure.Quantile(all, 0.9)
}
