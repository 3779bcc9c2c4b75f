// The sum of many results.

package simulation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hustings/hustings/simulation/invariant"
)

// Summary adds up results, in any order.
type Summary struct {
	Seeds, Events, Elections uint64
	// Virtual is in seconds, because no Duration holds the years of half a million worlds.
	Virtual float64
	Struck  map[Fault]uint64
	Checked map[invariant.Invariant]uint64
	Met     map[Condition]uint64
	// Worlds counts the worlds that have each trait.
	Worlds map[Trait]uint64
	// Excused counts how often each invariant was broken where it was not demanded any more,
	// because a fault had broken something that it rests on.
	Excused map[invariant.Invariant]uint64
	// Assumed counts the runs in which a fault struck that breaks an assumption, Told
	// those of them in which it was detected and refused.
	Assumed, Told map[Fault]uint64
	// Converged counts the healed majorities by how long each took to have a leader, in
	// thousandths of a detection time.
	Converged map[uint64]uint64
	// States is how many abstract states were reached; zero if they were not counted.
	States int
	// Digest is that of all runs, in any order.
	Digest uint64
	// Failing lists the results in which an invariant did not hold, by seed.
	Failing []Result
}

// NewSummary is one of no runs.
func NewSummary() *Summary {
	return &Summary{
		Struck: map[Fault]uint64{}, Checked: map[invariant.Invariant]uint64{}, Met: map[Condition]uint64{}, Worlds: map[Trait]uint64{},
		Excused: map[invariant.Invariant]uint64{}, Assumed: map[Fault]uint64{}, Told: map[Fault]uint64{}, Converged: map[uint64]uint64{},
	}
}

// Add enters a result.
func (s *Summary) Add(r Result) {
	one := Summary{
		Seeds: 1, Events: r.Events, Elections: r.Elections, Virtual: r.Virtual.Seconds(), Digest: r.Digest,
		Struck: r.Struck, Checked: r.Checked, Met: r.Met, Worlds: map[Trait]uint64{}, Excused: r.Excused,
		Assumed: map[Fault]uint64{}, Told: map[Fault]uint64{}, Converged: map[uint64]uint64{},
	}
	for f := range r.Struck {
		if f.Class() == AssumptionFaults && r.Struck[f] > 0 {
			one.Assumed[f] = 1
			if r.Told.Has(f) {
				one.Told[f] = 1
			}
		}
	}
	for _, t := range r.Traits {
		one.Worlds[t] = 1
	}
	if r.Demanded {
		one.Converged[uint64(1000*r.Converged.Seconds()/r.Detection.Seconds())] = 1
	}
	if r.Violation != nil {
		one.Failing = []Result{r}
	}
	s.Merge(&one)
}

// Merge enters all of another summary. States are not added, because both may have reached the same
// ones: the larger number stays.
func (s *Summary) Merge(o *Summary) {
	s.Seeds += o.Seeds
	s.Events += o.Events
	s.Elections += o.Elections
	s.Virtual += o.Virtual
	s.States = max(s.States, o.States)
	s.Digest += o.Digest // it wraps, and does not depend on the order
	addAll(s.Struck, o.Struck)
	addAll(s.Checked, o.Checked)
	addAll(s.Met, o.Met)
	addAll(s.Worlds, o.Worlds)
	addAll(s.Excused, o.Excused)
	addAll(s.Assumed, o.Assumed)
	addAll(s.Told, o.Told)
	addAll(s.Converged, o.Converged)
	if len(o.Failing) > 0 {
		s.Failing = append(s.Failing, o.Failing...)
		slices.SortStableFunc(s.Failing, func(a, b Result) int { return cmp.Compare(a.Seed, b.Seed) })
	}
}

// allBelow lists the numbers below count, which stand for kinds of something.
func allBelow[K ~uint8 | ~int](count K) []K {
	all := make([]K, count)
	for i := range all {
		all[i] = K(i)
	}
	return all
}

func addAll[K comparable](to, from map[K]uint64) {
	for k, n := range from {
		to[k] += n
	}
}

// ConvergedWithin is how long healed majorities took to have a leader, in detection times,
// at a quantile from 0 to 1; zero if there were none.
func (s *Summary) ConvergedWithin(quantile float64) float64 {
	var all, seen uint64
	for _, n := range s.Converged {
		all += n
	}
	for _, took := range slices.Sorted(maps.Keys(s.Converged)) {
		if seen += s.Converged[took]; float64(seen) >= quantile*float64(all) {
			return float64(took) / 1000
		}
	}
	return 0
}
