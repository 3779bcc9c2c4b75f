// Looking with the simulator: seed after seed, until one shows something.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/simulation"
)

// search says which seeds are looked at, and for what.
type search struct {
	faults, ignored string
	first, count    uint64
}

func (s *search) seeds(ctx context.Context) (found, error) {
	faults, err := simulation.ParseFaults(s.faults)
	if err != nil {
		return found{}, err
	}
	if s.ignored != "" && !isInvariant(s.ignored) {
		return found{}, fmt.Errorf("no invariant is called %q; there are %v", s.ignored, simulation.Invariants())
	}
	var f found
	for ctx.Err() == nil && (s.count == 0 || f.Seeds < s.count) {
		c := simulation.Campaign{First: s.first + f.Seeds, UntilFailure: true, Options: func(seed uint64) simulation.Options {
			return options(seed, faults)
		}}
		if s.count != 0 {
			c.Count = s.count - f.Seeds
		}
		total, err := c.Run(ctx)
		if err != nil {
			return f, err
		}
		f.Seeds += total.Seeds
		f.Events += total.Events
		for _, r := range total.Failing {
			if name := r.Violation.Invariant.String(); name != s.ignored {
				f.Invariant, f.What, f.Seed = name, r.Violation.Error(), r.Seed
				return f, nil
			}
		}
	}
	return f, nil
}

func isInvariant(name string) bool {
	for _, i := range simulation.Invariants() {
		if i.String() == name {
			return true
		}
	}
	return false
}

// options have every feature on in some seeds and off in others.
func options(seed uint64, faults simulation.FaultSet) simulation.Options {
	return simulation.Options{
		Seed: seed, Members: 3 + int(seed%3), Leases: seed%2 == 0, NoPreVote: seed%7 == 3, NoRanks: seed%5 == 1,
		Duration: 30 * time.Second, Faults: faults,
	}
}
