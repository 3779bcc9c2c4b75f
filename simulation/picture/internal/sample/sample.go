// Package sample makes traces to draw, of simulated runs with and without a violation.
package sample

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// Calm is a run in which nothing goes wrong.
func Calm(nodes int) *trace.Trace {
	return Run(simulation.Options{Members: nodes, Faults: simulation.NoFaults(), Duration: 20 * time.Second})
}

// Stormy is a run with faults, in which the network loses messages, candidates ask soon before they stand, and somebody
// only observes.
func Stormy() *trace.Trace {
	lost := func(p trace.Passage) bool { return p.Fate == trace.Lost }
	asks := func(p trace.Passage) bool { return p.Kind == rpc.VoteRequest && p.Mark == rpc.PreVote }
	for seed := uint64(0); ; seed++ {
		t := Run(simulation.Options{Seed: seed, Leases: true, Duration: 20 * time.Second})
		if t.Nodes > t.Voters && slices.ContainsFunc(t.Passages, lost) && slices.ContainsFunc(t.Passages[:min(100, len(t.Passages))], asks) {
			return t
		}
	}
}

// Long is a run of at least this many moments, in which leaders last for a while. Processes die,
// messages are late or lost, and no other fault strikes.
func Long(moments int) *trace.Trace {
	return Run(simulation.Options{Seed: 14, Members: 5, Faults: faults("crash,loss,delay"), Duration: time.Duration(moments) * 12 * time.Millisecond})
}

// Crowded is a run in which much happens at once: many nodes, messages that take long, and
// elections that are lost again and again.
func Crowded() *trace.Trace {
	return Run(simulation.Options{Seed: 3, Members: 7, Faults: faults("all"), Leases: true, Careless: simulation.CarelessAlways, Duration: 20 * time.Second})
}

func faults(list string) simulation.FaultSet {
	f, err := simulation.ParseFaults(list)
	if err != nil {
		panic(err)
	}
	return f
}

// Explored is a trace of the explorer: two members hold a lease at once, because a clock misses
// ticks.
func Explored() *trace.Trace {
	s, err := explore.ParseScript(strings.NewReader(twoLeases))
	if err != nil {
		panic(err)
	}
	t, err := s.Trace()
	if err != nil {
		panic(err)
	}
	return t
}

const twoLeases = `explored
members 3
pre-vote off
leases on
1 n0 alarm
2 n2 hears 1
3 n2 hears 1
4 n0 hears 3
5 n2 hears 4
6 tick
7 tick without n0
8 tick without n0
9 n2 alarm
10 n2 alarm
11 n1 hears 10
12 n1 hears 10
13 n2 hears 12
14 n1 hears 13
15 n0 hears 5
16 n2 hears 14
expect violation one lease
`

// Run plays a run. Its options must be valid.
func Run(o simulation.Options) *trace.Trace {
	t, err := o.Trace()
	if err != nil {
		panic(err)
	}
	return t
}

// Violation is a run in which a careless engine loses a committed entry, and the same run
// shrunk. Both are made once.
var Violation = sync.OnceValues(func() (original, shrunk *trace.Trace) {
	o := simulation.Options{Members: 3, Careless: simulation.CarelessAlways, Duration: 20 * time.Second}
	for {
		s, r, err := simulation.Record(o)
		if err != nil {
			panic(err)
		}
		if r.Violation != nil && r.Violation.Invariant == invariant.CommittedStays {
			return Run(o), traceOf(s.Shrink(context.Background(), nil))
		}
		o.Seed++
	}
})

func traceOf(s *simulation.Scenario) *trace.Trace {
	t, err := s.Trace()
	if err != nil {
		panic(err)
	}
	return t
}
