// A campaign is many runs, on all cores.

package simulation

import (
	"context"
	"sync"

	"github.com/hustings/hustings/simulation/internal/search"
)

// Campaign plays many seeds.
type Campaign struct {
	// First is the first seed, Count how many there are; 0: no end.
	First, Count uint64
	// Options are the options of a seed.
	Options func(seed uint64) Options
	// Guided varies runs that have reached new states, between fresh seeds. Count then counts the
	// runs.
	Guided bool
	// UntilFailure stops at the first invariant that does not hold.
	UntilFailure bool
	// Workers is how many runs are played at once; 0: as many as there are cores.
	Workers int
	// Progress, if not nil, is called now and then with the sum so far.
	Progress func(*Summary)

	counting bool // count states without guiding
}

// Run plays until all seeds are played or the context ends, and returns the sum of the results. The
// error is about the options.
func (c *Campaign) Run(ctx context.Context) (*Summary, error) {
	total, guide := NewSummary(), newGuide(c)
	all := search.Batches[Options, played]{
		Count: c.Count, Workers: c.Workers, Next: guide.next, Play: c.playOne,
		Done: func(results []played) bool {
			for _, r := range results {
				total.Add(r.Result)
				guide.learn(r)
			}
			total.States = len(guide.reached.Found)
			if c.Progress != nil {
				c.Progress(total)
			}
			return !c.UntilFailure || len(total.Failing) == 0
		},
	}
	return total, all.Run(ctx)
}

// played is the result of a run, and the states that it reached.
type played struct {
	Result
	options Options
	reached []uint32
}

var coverages = sync.Pool{New: func() any { return search.NewCoverage() }}

func (c *Campaign) playOne(o Options) (played, error) {
	if !c.Guided && !c.counting {
		r, err := Run(o)
		return played{Result: r, options: o}, err
	}
	reached, _ := coverages.Get().(*search.Coverage)
	defer coverages.Put(reached)
	reached.Clear()
	if err := o.fill(); err != nil {
		return played{}, err
	}
	w := newWorld(o)
	w.coverage = reached
	w.drawn()
	r := w.play(nil)
	return played{r, o, append([]uint32(nil), reached.Found...)}, nil
}
