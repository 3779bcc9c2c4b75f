// Crossing over: the simulator finds a violation and makes it as small as it can, and then the explorer must find it,
// too, within bounds that hold it.

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/trace"
)

// crossing is the result of both.
type crossing struct {
	Simulated string `json:"simulated"` // the invariant
	Seed      uint64 `json:"seed"`
	Faults    int    `json:"faults"`  // left in the small scenario
	Choices   int    `json:"choices"` // left in it that differ from the default

	Bounds   explore.Bounds `json:"bounds"` // that hold it
	Explored string         `json:"explored"`
	Shown    bool           `json:"shown"` // plain machines reach it
	Steps    int            `json:"steps"`
	States   uint64         `json:"states"`
	Complete bool           `json:"complete"`
}

// shrinkFor limits how long a scenario is made smaller.
const shrinkFor = 15 * time.Second

// mostExplored is how many members the explorer's groups have at most.
const mostExplored = 5

// cross makes the simulator find a violation and the explorer find it again.
func (s *search) cross(ctx context.Context) (crossing, error) {
	s.most = mostExplored
	f, err := s.seeds(ctx)
	if err != nil || f.Invariant == "" {
		return crossing{}, errors.Join(err, ctx.Err())
	}
	small, played, err := s.small(ctx, f.Seed)
	if err != nil || played.Violation == nil {
		return crossing{}, err
	}
	c := crossing{
		Simulated: played.Violation.Invariant.String(), Seed: f.Seed,
		Faults: len(small.Strikes), Choices: small.Choices(), Bounds: holding(small, played),
	}
	r, err := explore.Explore(ctx, explore.Options{Bounds: c.Bounds})
	c.States, c.Complete = r.States, r.Complete
	if v := r.Violation; v != nil {
		c.Explored, c.Shown, c.Steps = v.Invariant.String(), v.Script != nil, len(v.Path)
	}
	return c, err
}

// small is a seed's scenario, shrunk, and its run.
func (s *search) small(ctx context.Context, seed uint64) (*simulation.Scenario, *trace.Trace, error) {
	faults, err := simulation.ParseFaults(s.faults)
	if err != nil {
		return nil, nil, err
	}
	recorded, _, err := simulation.Record(s.options(seed, faults))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, shrinkFor)
	defer cancel()
	small := recorded.Shrink(ctx, nil)
	played, err := small.Trace()
	return small, played, err
}

// holding are the smallest bounds that hold everything that happened in a run, except long ledgers and long offices.
func holding(s *simulation.Scenario, t *trace.Trace) explore.Bounds {
	terms, entries := memberstate.Term(1), uint64(0)
	for i := range t.Moments {
		m := &t.Moments[i].State
		terms, entries = max(terms, m.Term), max(entries, m.Ledger.Index)
	}
	for i := range t.Passages {
		terms = max(terms, t.Passages[i].Term)
	}
	struck := func(faults ...simulation.Fault) bool {
		return slices.ContainsFunc(s.Strikes, func(k simulation.Strike) bool { return slices.Contains(faults, k.Fault) })
	}
	class := func(c simulation.Class) bool {
		return slices.ContainsFunc(s.Strikes, func(k simulation.Strike) bool { return k.Fault.Class() == c })
	}
	return explore.Bounds{
		Members: t.Voters, Terms: min(int(terms), 7), Beats: 1, Entries: int(min(entries, 1)),
		NoPreVote: s.NoPreVote, Leases: s.Leases,
		NoCrash:    !class(simulation.ProcessFaults) && !class(simulation.DiskFaults),
		NoTransfer: !class(simulation.OperatorFaults),
		NoHints:    !struck(simulation.TrueHint, simulation.LateHint, simulation.FalseHint),
	}
}
