// Looking with the simulator of leases.

package main

import (
	"context"

	"github.com/hustings/hustings/simulation/leases"
)

// leases looks at seeds with both ways to tell that a lease has run out.
func (s *search) leases(ctx context.Context) (found, error) {
	hanging := endless()
	defer hanging.Stop()
	c := leases.Campaign{
		Count: s.count, UntilFailure: true,
		Options: func(i uint64) leases.Options {
			seed := s.first + i
			return leases.Options{Seed: seed, Candidates: 2 + int(seed/2%4), Strict: seed%2 == 1}
		},
		Progress: func(*leases.Summary) { hanging.Reset(patience) },
	}
	total, err := c.Run(ctx)
	if err != nil {
		return found{}, err
	}
	f := found{Seeds: total.Seeds, Events: total.Events}
	if len(total.Failing) > 0 {
		r := total.Failing[0]
		f.Invariant, f.What, f.Seed = r.Violation.Invariant.String(), r.Violation.Error(), r.Seed
	}
	return f, nil
}
