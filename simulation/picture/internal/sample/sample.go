// Package sample makes traces to draw: of simulated runs, with and without a violation.
package sample

import (
	"context"
	"sync"
	"time"

	"github.com/hustings/hustings/simulation"
)

// Calm is a run in which nothing goes wrong.
func Calm(nodes int) *simulation.Trace {
	return Run(simulation.Options{Members: nodes, Faults: simulation.NoFaults, Duration: 20 * time.Second})
}

// Stormy is a run with faults, of three nodes and an observer.
func Stormy() *simulation.Trace {
	observed := false
	for seed := uint64(0); ; seed++ {
		t := Run(simulation.Options{Seed: seed, Leases: true, Duration: 20 * time.Second})
		for f, n := range t.Result.Struck {
			observed = observed || f == simulation.Observe && n > 0
		}
		if observed {
			return t
		}
	}
}

// Long is a run of at least so many moments.
func Long(moments int) *simulation.Trace {
	return Run(simulation.Options{Seed: 14, Members: 5, Duration: time.Duration(moments) * 12 * time.Millisecond})
}

// Run plays a run. Its options must be good.
func Run(o simulation.Options) *simulation.Trace {
	t, err := o.Trace()
	if err != nil {
		panic(err)
	}
	return t
}

// Violation is a run in which a careless engine loses what was committed, and the same
// made small. It is made once.
var Violation = sync.OnceValues(func() (original, shrunk *simulation.Trace) {
	o := simulation.Options{Members: 3, Careless: simulation.CarelessAlways, Duration: 20 * time.Second}
	for {
		s, r, err := simulation.Record(o)
		if err != nil {
			panic(err)
		}
		if r.Violation != nil {
			return Run(o), traceOf(s.Shrink(context.Background(), nil))
		}
		o.Seed++
	}
})

func traceOf(s *simulation.Scenario) *simulation.Trace {
	t, err := s.Trace()
	if err != nil {
		panic(err)
	}
	return t
}
