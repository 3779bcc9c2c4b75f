// This file runs many worlds on all cores and adds up their results.

package shell

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/internal/search"
)

// Campaign runs many worlds.
type Campaign struct {
	// Kind is the kind of all worlds.
	Kind Kind
	// Count is the number of worlds; 0: no end.
	Count uint64
	// Seed returns the seed of the i-th world.
	Seed func(i uint64) uint64
	// Careless holds for all worlds, see [Options].
	Careless bool
	// UntilFailure stops at the first invariant that does not hold.
	UntilFailure bool
	// Workers is how many worlds run at once; 0: one for each core.
	Workers int
	// Tell, if not nil, receives the stories of all worlds, line by line.
	Tell func(line string)
	// Progress, if not nil, receives the results so far now and then.
	Progress func(*Summary)
}

// Summary adds up results.
type Summary struct {
	Seeds, Messages, Elections uint64
	Virtual                    time.Duration
	Struck                     map[Fault]uint64
	Checked                    map[Invariant]uint64
	Met                        map[Condition]uint64
	// Failing lists the results in which an invariant did not hold.
	Failing []*Result
}

// Run runs the worlds until all are done or the context ends, and adds up their results.
func (c *Campaign) Run(ctx context.Context) (*Summary, error) {
	total, prepared := NewSummary(), uint64(0)
	all := search.Batches[uint64, *Result]{
		Count: c.Count, Workers: c.Workers,
		Play: func(seed uint64) (*Result, error) {
			return Run(Options{Kind: c.Kind, Seed: seed, Careless: c.Careless, Tell: c.Tell}), nil
		},
		Next: func(size int) []uint64 {
			next := make([]uint64, size)
			for i := range next {
				next[i] = c.Seed(prepared)
				prepared++
			}
			return next
		},
		Done: func(results []*Result) bool {
			for _, r := range results {
				total.Add(r)
			}
			if c.Progress != nil {
				c.Progress(total)
			}
			return !c.UntilFailure || len(total.Failing) == 0
		},
	}
	return total, all.Run(ctx)
}

// NewSummary returns the summary of no runs.
func NewSummary() *Summary {
	return &Summary{Struck: map[Fault]uint64{}, Checked: map[Invariant]uint64{}, Met: map[Condition]uint64{}}
}

// Add adds a result.
func (s *Summary) Add(r *Result) {
	s.Seeds++
	s.Messages += r.Messages
	s.Elections += r.Elections
	s.Virtual += r.Virtual
	addAll(s.Struck, r.Struck)
	addAll(s.Checked, r.Checked)
	addAll(s.Met, r.Met)
	if r.Violation != nil {
		s.Failing = append(s.Failing, r)
	}
}

func addAll[K ~uint8](to, from map[K]uint64) {
	for _, k := range slices.Sorted(maps.Keys(from)) {
		to[k] += from[k]
	}
}
