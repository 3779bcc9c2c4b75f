// Package events measures the speed of a deterministic simulation of our machines and of etcd's
// nodes, in the same loop.
package events

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "events"

// Section measures simulation.
func Section(older *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "A single-threaded, deterministic simulation of five members whose leader crashes every 10 T and is back after 3 T, by CPU second",
		Configured: []string{
			"The loop is the same for all: a queue of messages, one alarm a member, delay T/100. An event is a message that arrives or an alarm that rings; etcd's alarms are its ticks.",
			"Ours: heartbeat T/10, leak 10, pre-vote and ranks on.",
			"etcd/raft 3.7 and 3.6: tick and heartbeat T/10, election tick 10, pre-vote, check quorum, a logger that does nothing, MemoryStorage. For each figure the better version counts.",
		},
		Extent:  extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, older, p) },
	}
}

// extents returns the number of repetitions, and how often a peer's leader crashes in each. Our
// leaders crash four times as often, because our runs are faster.
func extents(p figure.Plan) (repetitions, crashes int) {
	if p.Quick {
		return 3, 100
	}
	return 9, 500
}

const oursMore = 4

func extent(p figure.Plan) string {
	repetitions, crashes := extents(p)
	return fmt.Sprintf("%d repetitions in turns, each of %d crashes of ours and %d of either peer's.", repetitions, oursMore*crashes, crashes)
}

func measureAll(ctx context.Context, older *peer.Program, p figure.Plan) ([]figure.Figure, error) {
	repetitions, crashes := extents(p)
	child, err := older.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	task := Task{crashes}
	own := func() (Speed, error) { return Ours(ctx, Task{oursMore * crashes}) }
	rows := peer.Rows(ctx, child, name, own, Etcd, &task)
	for r := range repetitions {
		p.Progress("simulation", float64(r)/float64(repetitions))
		if err := measure.Turn(ctx, rows); err != nil {
			return nil, measure.UnlessOver(ctx, err)
		}
	}
	return []figure.Figure{
		measure.Compare(name, "events", "events/s", rows, func(s Speed) float64 { return s.Events }),
		measure.Compare(name, "simulated time", "T/s", rows, func(s Speed) float64 { return s.Time }),
	}, nil
}
