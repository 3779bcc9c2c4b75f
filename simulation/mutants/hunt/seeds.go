// Looking with the simulator: seed after seed, until one shows a violation.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/invariant"
)

// search says which seeds are looked at, and for which violations.
type search struct {
	faults, unchecked string
	first, count      uint64
	plain             bool // no seed draws what its groups are like
	most              int  // members; 0: as many as are drawn
}

func (s *search) seeds(ctx context.Context) (found, error) {
	faults, err := simulation.ParseFaults(s.faults)
	if err != nil {
		return found{}, err
	}
	unchecked, err := invariantsCalled(s.unchecked)
	if err != nil {
		return found{}, err
	}
	hanging := endless()
	defer hanging.Stop()
	c := simulation.Campaign{
		First: s.first, Count: s.count, UntilFailure: true,
		Options: func(seed uint64) simulation.Options {
			o := s.options(seed, faults)
			o.Unchecked = unchecked
			return o
		},
		Progress: func(*simulation.Summary) { hanging.Reset(patience) },
	}
	total, err := c.Run(ctx)
	f := found{Seeds: total.Seeds, Events: total.Events}
	if len(total.Failing) > 0 {
		r := total.Failing[0]
		f.Invariant, f.What, f.Seed = r.Violation.Invariant.String(), r.Violation.Error(), r.Seed
	}
	return f, err
}

// invariantsCalled is the invariant of this name, or none if it is empty.
func invariantsCalled(name string) ([]invariant.Invariant, error) {
	if name == "" {
		return nil, nil
	}
	for _, i := range invariant.All() {
		if i.String() == name {
			return []invariant.Invariant{i}, nil
		}
	}
	return nil, fmt.Errorf("no invariant is called %q; there are %v", name, invariant.All())
}

// options have every feature on in some seeds and off in others. Every other seed draws its options, as hustings sim
// does, unless all are to be plain: then no member observes or is preferred from the beginning.
func (s *search) options(seed uint64, faults simulation.FaultSet) simulation.Options {
	if seed%2 == 1 && !s.plain {
		o := simulation.Draw(seed, simulation.Fixed{})
		o.Faults = faults
		if s.most > 0 {
			o.Members = min(o.Members, s.most)
		}
		return o
	}
	if !s.plain {
		seed /= 2
	}
	timing := elector.DefaultTiming()
	if seed%4 == 2 { // more heartbeats than a leader remembers, or fewer
		timing.Leak = 2 + int(seed/4%11)
	}
	o := simulation.Options{
		Seed: 2 * seed, Timing: timing, Members: 3 + int(seed%3), Leases: seed%2 == 0, NoPreVote: seed%7 == 3, NoRanks: seed%5 == 1,
		Duration: 30 * time.Second, Faults: faults, Asked: seed%3 == 2, Judged: seed%4 == 1,
	}
	if seed%3 > 0 {
		o.Vouch = timing.Detection()
	}
	return o
}
