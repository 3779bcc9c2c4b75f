// A campaign is many runs, on all cores; a summary adds up their results.

package leases

import (
	"context"
	"time"

	"github.com/hustings/hustings/simulation/internal/search"
)

// Campaign plays many seeds.
type Campaign struct {
	// Count is how many seeds there are; 0: no end.
	Count uint64
	// Options are those of the i-th seed.
	Options func(i uint64) Options
	// UntilFailure stops at the first invariant that does not hold.
	UntilFailure bool
	// Workers is how many runs are played at once; 0: as many as there are cores.
	Workers int
	// Progress, if not nil, is called now and then with the sum so far.
	Progress func(*Summary)
}

// Summary adds up results.
type Summary struct {
	Seeds, Events, Elections uint64
	Virtual                  time.Duration
	Struck                   map[Fault]uint64
	Checked                  map[Invariant]uint64
	Met                      map[Condition]uint64
	Excused                  map[Invariant]uint64
	// Assumed counts the runs in which a fault struck that breaks an assumption.
	Assumed map[Fault]uint64
	// TakenOver counts the silent leaders by how long it took to replace each.
	TakenOver map[time.Duration]uint64
	// Digest is that of all runs, in any order.
	Digest uint64
	// Failing lists the results in which an invariant did not hold.
	Failing []Result
}

// Run plays until all seeds are played or the context ends, and returns the sum of the results. The
// error is about the options.
func (c *Campaign) Run(ctx context.Context) (*Summary, error) {
	total, prepared := NewSummary(), uint64(0)
	all := search.Batches[Options, Result]{
		Count: c.Count, Workers: c.Workers, Play: Run,
		Next: func(size int) []Options {
			next := make([]Options, size)
			for i := range next {
				next[i] = c.Options(prepared)
				prepared++
			}
			return next
		},
		Done: func(results []Result) bool {
			for i := range results {
				total.Add(&results[i])
			}
			if c.Progress != nil {
				c.Progress(total)
			}
			return !c.UntilFailure || len(total.Failing) == 0
		},
	}
	return total, all.Run(ctx)
}

// NewSummary is one of no runs.
func NewSummary() *Summary {
	return &Summary{
		Struck: map[Fault]uint64{}, Checked: map[Invariant]uint64{}, Met: map[Condition]uint64{}, Excused: map[Invariant]uint64{},
		Assumed: map[Fault]uint64{}, TakenOver: map[time.Duration]uint64{},
	}
}

// Add enters a result.
func (s *Summary) Add(r *Result) {
	s.Seeds++
	s.Events += r.Events
	s.Elections += r.Elections
	s.Virtual += r.Virtual
	s.Digest += r.Digest // it wraps, and does not depend on the order
	addAll(s.Struck, r.Struck)
	addAll(s.Checked, r.Checked)
	addAll(s.Met, r.Met)
	addAll(s.Excused, r.Excused)
	for f, n := range r.Struck {
		if f.Class() == AssumptionFaults && n > 0 {
			s.Assumed[f]++
		}
	}
	if r.Demanded {
		s.TakenOver[r.TakenOver]++
	}
	if r.Violation != nil {
		s.Failing = append(s.Failing, *r)
	}
}

func addAll[K comparable](to, from map[K]uint64) {
	for k, n := range from {
		to[k] += n
	}
}
