// Package churn measures what a group goes through when nothing fails: its cold start,
// and its leadership handed around. Virtual time, in which all libraries have equal
// message delays, equal saves and equal detection times; nothing is computed for free,
// but nothing is waited for.
package churn

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "churn"

// Section measures churn.
func Section() figure.Section {
	return figure.Section{
		Name: name, Title: "Cold starts, and leadership handed around",
		Configured: []string{
			fmt.Sprintf("One virtual time for all: a message takes %v one way, a save %v, and the members start within one heartbeat of %v, from whose beginning a cold start is timed.", delay, save, beat),
			"Ours: machines under the Host's own executor, heartbeat 100 ms, leak 10, vote waits 30..100 ms, pre-vote and ranks on, no leases. A transfer asks its target first whether it is there; then the engine pauses its writes at once. Leaderless is from that pause until the new leader leads.",
			"etcd/raft 3.7 and 3.6: RawNode, ticks of 100 ms in phases of their own, heartbeat tick 1, election tick 10, pre-vote, check quorum; as etcd's server does, 8 ticks are skipped at a start, and a leader sends while it saves. Leaderless is from MsgTransferLeader, when the leader begins to drop proposals, until the new leader leads. For each figure the better version counts.",
		},
		Measure: measureAll,
	}
}

// aspects are what of the times makes a figure.
var aspects = []struct {
	name string
	of   func(Times) float64
}{
	{"cold start until a majority knows the leader, p50", func(t Times) float64 { return t.Start.P50 }},
	{"cold start until a majority knows the leader, p99", func(t Times) float64 { return t.Start.P99 }},
	{"transfer, leaderless, p50", func(t Times) float64 { return t.Leaderless.P50 }},
	{"transfer, leaderless, p99", func(t Times) float64 { return t.Leaderless.P99 }},
	{"transfer, from the order until the new leader leads, p50", func(t Times) float64 { return t.Transfer.P50 }},
	{"transfer, from the order until the new leader leads, p99", func(t Times) float64 { return t.Transfer.P99 }},
}

func measureAll(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
	repetitions, task := 5, Task{Starts: 500, Transfers: 1000}
	if p.Quick {
		repetitions, task = 1, Task{Starts: 20, Transfers: 100}
	}
	child, err := peer.Start(ctx, "raft36")
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // it has said all that it had to say
	var figures []figure.Figure
	sizes := []int{3, 5, 9, 31}
	for i, size := range sizes {
		at := fmt.Sprintf("%d members", size)
		task.Members = size
		told := aspects
		if size > sizes[0] { // whose transfers are as long
			task.Transfers, told = 0, aspects[:2]
		}
		rows := peer.Rows(ctx, child, name, func() (Times, error) { return Ours(ctx, task) }, Etcd, &task)
		for r := range repetitions {
			p.Progress(at, (float64(i)+float64(r)/float64(repetitions))/float64(len(sizes)))
			task.Seed = uint64(r)
			if err := measure.Turn(ctx, rows); err != nil {
				return figures, measure.UnlessOver(ctx, err)
			}
		}
		for _, a := range told {
			f := measure.Compare(name, at+": "+a.name, "ms", rows, a.of)
			f.Chart, f.At = a.name, at
			figures = append(figures, f)
		}
	}
	return figures, nil
}
