// Package operation measures the cost of one input of a member, up to its messages and saves,
// without disk and network.
package operation

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "operation"

// The operations, as the table calls them.
const (
	heartbeat = "a follower takes a heartbeat"
	granted   = "a vote is granted, in a new term"
	refused   = "a vote is refused, it was another's"
	preVote   = "a pre-vote is granted"
	beat      = "alarm: a leader sends its next heartbeat"
	stands    = "alarm: a follower stands, and asks for pre-votes"
)

var operations = []string{heartbeat, granted, refused, preVote, beat, stands}

// Section measures operations.
func Section(older *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "One operation of a member of three",
		Configured: []string{
			"CPU time by getrusage, which includes the garbage collector's.",
			"Ours: a Session that takes a step, effects that do nothing, the ledger's end at hand, pre-vote and ranks on.",
			"etcd/raft 3.7 and 3.6: RawNode Step (Tick, Campaign), then Ready, MemoryStorage, Advance until nothing is left; pre-vote, check quorum, a logger that does nothing. The election tick is 2^30, so that no leader steps down for lack of answers; where a vote is requested, the candidates have pre-vote off, because otherwise they would request a pre-vote first. For each figure the better version counts.",
		},
		Extent:  extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, older, p) },
	}
}

// batch is a number of operations in a row, from a fresh start.
type batch struct {
	size int
	run  func() error
}

// Cost is the cost of one operation.
type Cost struct {
	Nanoseconds, Bytes, Allocations float64
}

// Task names the operation that a peer measures, and how often it does it at least.
type Task struct {
	Operation string
	Times     int
}

// costOf runs batches; it does not measure their preparation.
func costOf(times int, prepare func() (batch, error)) (Cost, error) {
	var total measure.Use
	done := 0
	for done < times {
		b, err := prepare()
		if err != nil {
			return Cost{}, err
		}
		used, err := measure.UseOf(b.run)
		if err != nil {
			return Cost{}, err
		}
		total.Add(used)
		done += b.size
	}
	each := 1 / float64(done)
	return Cost{float64(total.CPU.Nanoseconds()) * each, float64(total.Bytes) * each, float64(total.Allocations) * each}, nil
}

// extents returns the number of repetitions, and how often a peer does an operation in each. Ours
// are done ten times as often, because they are faster.
func extents(p figure.Plan) (repetitions, times int) {
	if p.Quick {
		return 3, 20_000
	}
	return 9, 100_000
}

const oursMore = 10

func extent(p figure.Plan) string {
	repetitions, times := extents(p)
	return fmt.Sprintf("%d repetitions in turns, each of %d operations of ours and %d of either peer's.", repetitions, oursMore*times, times)
}

func measureAll(ctx context.Context, older *peer.Program, p figure.Plan) ([]figure.Figure, error) {
	repetitions, times := extents(p)
	child, err := older.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	var figures []figure.Figure
	for i, o := range operations {
		task := Task{o, times}
		own := func() (Cost, error) { return Ours(ctx, Task{o, oursMore * times}) }
		rows := peer.Rows(ctx, child, name, own, Etcd, &task)
		for r := range repetitions {
			p.Progress(o, (float64(i)+float64(r)/float64(repetitions))/float64(len(operations)))
			if err := measure.Turn(ctx, rows); err != nil {
				return figures, measure.UnlessOver(ctx, err)
			}
		}
		for _, a := range aspects {
			f := measure.Compare(name, fmt.Sprintf("%s: %s", o, a.name), a.unit, rows, a.of)
			f.At = o
			figures = append(figures, f)
		}
	}
	return figures, nil
}

var aspects = []struct {
	name, unit string
	of         func(Cost) float64
}{
	{"time", "ns", func(c Cost) float64 { return c.Nanoseconds }},
	{"memory", "bytes", func(c Cost) float64 { return c.Bytes }},
	{"allocations", "allocations", func(c Cost) float64 { return c.Allocations }},
}
