// What many runs came to.

package simulation

import (
	"cmp"
	"slices"
	"time"
)

// Summary adds up results, in whatever order they come.
type Summary struct {
	Seeds, Events, Elections uint64
	Virtual                  time.Duration
	Struck                   map[Fault]uint64
	Checked                  map[Invariant]uint64
	Met                      map[Condition]uint64
	// How long each healed majority took.
	converged []time.Duration
	// Digest is that of all runs, whatever their order.
	Digest uint64
	// Failing lists the results in which an invariant did not hold.
	Failing []Result
}

// NewSummary is one of no runs.
func NewSummary() *Summary {
	return &Summary{
		Struck: make(map[Fault]uint64, faults), Checked: make(map[Invariant]uint64, invariants), Met: make(map[Condition]uint64, conditions),
	}
}

// Add enters a result.
func (s *Summary) Add(r Result) {
	s.Seeds++
	s.Events += r.Events
	s.Elections += r.Elections
	s.Virtual += r.Virtual
	s.Digest += r.Digest // wraps: the order must not matter
	for f, n := range r.Struck {
		s.Struck[f] += n
	}
	for i, n := range r.Checked {
		s.Checked[i] += n
	}
	for c, n := range r.Met {
		s.Met[c] += n
	}
	if r.Violation != nil {
		s.Failing = append(s.Failing, r)
		slices.SortFunc(s.Failing, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
		return
	}
	s.converged = append(s.converged, r.Converged)
}

// Merge enters all of another summary.
func (s *Summary) Merge(o *Summary) {
	s.Seeds += o.Seeds
	s.Events += o.Events
	s.Elections += o.Elections
	s.Virtual += o.Virtual
	s.Digest += o.Digest
	for f, n := range o.Struck {
		s.Struck[f] += n
	}
	for i, n := range o.Checked {
		s.Checked[i] += n
	}
	for c, n := range o.Met {
		s.Met[c] += n
	}
	s.converged = append(s.converged, o.converged...)
	s.Failing = append(s.Failing, o.Failing...)
	slices.SortFunc(s.Failing, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
}

// Converged is how long healed majorities took to have a leader, at a quantile from
// 0 to 1; zero if there were none.
func (s *Summary) Converged(quantile float64) time.Duration {
	if len(s.converged) == 0 {
		return 0
	}
	slices.Sort(s.converged)
	return s.converged[int(quantile*float64(len(s.converged)-1)+0.5)]
}
