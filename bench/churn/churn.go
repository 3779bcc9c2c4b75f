// Package churn measures changes of leaders without a detection time: cold starts, transfers and
// resignations, and the crash of a leader whose connections break. It uses virtual time, with the
// same message delays, save times and detection times for all libraries.
package churn

import (
	"context"
	"fmt"
	"strings"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "churn"

// Section measures churn.
func Section(older *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "Cold starts, transfers, resignations, and crashes with broken connections",
		Configured: []string{
			fmt.Sprintf("One virtual time for all: a message takes %v one way, a save %v, and the members start within one heartbeat of %v, from whose beginning a cold start is timed.", delay, save, beat),
			"Ours: the node that ships, driven as a Host drives it, heartbeat 100 ms, leak 10, vote waits 30..100 ms, pre-vote and ranks on, no leases. A transfer first asks its target whether it is there. A resignation hands over to any member that can take over: it asks one, and another one if a heartbeat is due before the answer, and takes the first that can. Then the engine pauses its writes at once. Leaderless is from that pause until the new leader leads.",
			fmt.Sprintf("A crash with broken connections: a leader that has led for %v (by then no measured round trip contains a save of its election) crashes, its connections break, and each of the others learns that %v later. A majority knows the new leader after that, three round trips and two saves: %v. etcd/raft has no input for this, and no resignation except a transfer, so ours has no peer.", rest, delay, delay+3*2*delay+2*save),
			"etcd/raft 3.7 and 3.6: RawNode, ticks of 100 ms in phases of their own, heartbeat tick 1, election tick 10, pre-vote, check quorum; as etcd's server does, 8 ticks are skipped at a start, and a leader sends while it saves. Leaderless is from MsgTransferLeader, when the leader begins to drop proposals, until the new leader leads. For each figure the better version counts.",
		},
		Extent:  extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, older, p) },
	}
}

// aspect makes a figure of the times.
type aspect[T any] struct {
	name string
	of   func(T) float64
}

var starts = []aspect[Times]{
	{"cold start until a majority knows the leader, p50", func(t Times) float64 { return t.Start.P50 }},
	{"cold start until a majority knows the leader, p99", func(t Times) float64 { return t.Start.P99 }},
}

var transfers = []aspect[Times]{
	{"transfer, leaderless, p50", func(t Times) float64 { return t.Leaderless.P50 }},
	{"transfer, leaderless, p99", func(t Times) float64 { return t.Leaderless.P99 }},
	{"transfer, from the order until the new leader leads, p50", func(t Times) float64 { return t.Transfer.P50 }},
	{"transfer, from the order until the new leader leads, p99", func(t Times) float64 { return t.Transfer.P99 }},
}

var alone = []aspect[Alone]{
	{"resignation, leaderless, p50", func(a Alone) float64 { return a.Leaderless.P50 }},
	{"resignation, leaderless, longest", func(a Alone) float64 { return a.Leaderless.Max }},
	{"resignation, from the order until the new leader leads, p50", func(a Alone) float64 { return a.Resignation.P50 }},
	{"resignation, from the order until the new leader leads, longest", func(a Alone) float64 { return a.Resignation.Max }},
	{"crash with broken connections, until a majority knows the new leader, p50", func(a Alone) float64 { return a.Crash.P50 }},
	{"crash with broken connections, until a majority knows the new leader, longest", func(a Alone) float64 { return a.Crash.Max }},
}

// extents returns the number of repetitions, and the tasks of each.
func extents(p figure.Plan) (repetitions int, all []Task) {
	starts, many, few := 500, 1000, 100
	if repetitions = 5; p.Quick {
		repetitions, starts, many, few = 1, 20, 100, 10
	}
	return repetitions, []Task{
		{Members: 3, Starts: starts, Transfers: many},
		{Members: 5, Starts: starts, Transfers: few},
		{Members: 9, Starts: starts, Transfers: few},
		{Members: 31, Starts: starts},
	}
}

func extent(p figure.Plan) string {
	repetitions, all := extents(p)
	each := make([]string, len(all))
	for i, t := range all {
		each[i] = fmt.Sprintf("%d starts of %d members", t.Starts, t.Members)
		if t.Transfers > 0 {
			each[i] += fmt.Sprintf(" and %d each of their transfers, resignations and crashes", t.Transfers)
		}
	}
	return fmt.Sprintf("Repeated in turns: %d. Each time ", repetitions) + strings.Join(each, ", ") + "."
}

func measureAll(ctx context.Context, older *peer.Program, p figure.Plan) (figures []figure.Figure, err error) {
	child, err := older.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	repetitions, all := extents(p)
	for i, task := range all {
		at := fmt.Sprintf("%d members", task.Members)
		rows := peer.Rows(ctx, child, name, func() (Times, error) { return Ours(ctx, task) }, Etcd, &task)
		own := []measure.Row[Alone]{{Measure: func() (Alone, error) { return OursAlone(ctx, task) }}}
		for r := range repetitions {
			p.Progress(at, (float64(i)+float64(r)/float64(repetitions))/float64(len(all)))
			task.Seed = uint64(r)
			err := measure.Turn(ctx, rows)
			if err == nil {
				err = measure.Turn(ctx, own)
			}
			if err != nil {
				return figures, measure.UnlessOver(ctx, err)
			}
		}
		figures = append(figures, compare(at, rows, starts)...)
		if task.Transfers > 0 {
			figures = append(figures, compare(at, rows, transfers)...)
			figures = append(figures, compare(at, own, alone)...)
		}
	}
	return figures, nil
}

// compare makes the figures for groups of one size.
func compare[T any](at string, rows []measure.Row[T], aspects []aspect[T]) (figures []figure.Figure) {
	for _, a := range aspects {
		f := measure.Compare(name, at+": "+a.name, "ms", rows, a.of)
		f.Chart, f.At = a.name, at
		figures = append(figures, f)
	}
	return figures
}
