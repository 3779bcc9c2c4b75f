// Many runs, on all cores.

package simulation

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Campaign plays many seeds.
type Campaign struct {
	// First is the first seed, Count how many there are; 0: no end.
	First, Count uint64
	// Options are those of a seed.
	Options func(seed uint64) Options
	// Guided has runs that reached something new be varied before fresh seeds are drawn.
	// Then Count is that of the runs.
	Guided bool
	// UntilFailure stops at the first invariant that does not hold.
	UntilFailure bool
	// Workers is how many runs are played at once; 0: as many as there are cores.
	Workers int
	// Progress, if not nil, is told now and then what there is so far.
	Progress func(*Summary)

	counting bool // states are counted also where they do not guide
}

// batch is how many runs are prepared together. What they are depends on the batches
// before, so that it does not matter how many cores there are.
const batch = 64

// Run plays until all seeds are played or the context ends, and returns what it came to
// so far. The error is about the options.
func (c *Campaign) Run(ctx context.Context) (*Summary, error) {
	total, guide := NewSummary(), newGuide(c)
	for done := uint64(0); ctx.Err() == nil && (c.Count == 0 || done < c.Count); {
		size := uint64(batch)
		if c.Count != 0 {
			size = min(size, c.Count-done)
		}
		done += size
		results, err := c.play(ctx, guide.next(int(size)))
		if err != nil {
			return total, err
		}
		for _, r := range results {
			total.Add(r.Result)
			guide.learn(r)
		}
		total.States = len(guide.reached.found)
		if c.Progress != nil {
			c.Progress(total)
		}
		if c.UntilFailure && len(total.Failing) > 0 {
			break
		}
	}
	return total, nil
}

// played is a run that was played, and the states that it reached.
type played struct {
	Result
	options Options
	reached []uint32
}

// play plays a batch, and returns the results in its order, without those that the
// context's end has prevented.
func (c *Campaign) play(ctx context.Context, all []Options) ([]played, error) {
	workers := c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results, failures := make([]played, len(all)), make([]error, len(all))
	var waiting sync.WaitGroup
	places := make(chan int, len(all))
	for i := range all {
		places <- i
	}
	close(places)
	for range min(workers, len(all)) {
		waiting.Go(func() {
			for i := range places {
				if ctx.Err() == nil {
					results[i], failures[i] = c.playOne(all[i])
				}
			}
		})
	}
	waiting.Wait()
	finished := results[:0]
	for _, r := range results {
		if r.Checked != nil {
			finished = append(finished, r)
		}
	}
	return finished, errors.Join(failures...)
}

var coverages = sync.Pool{New: func() any { return newCoverage() }}

func (c *Campaign) playOne(o Options) (played, error) {
	if !c.Guided && !c.counting {
		r, err := Run(o)
		return played{Result: r, options: o}, err
	}
	reached, _ := coverages.Get().(*coverage)
	defer coverages.Put(reached)
	reached.clear()
	if err := o.fill(); err != nil {
		return played{}, err
	}
	w := newWorld(o)
	w.coverage = reached
	w.drawn()
	r := w.play(nil)
	return played{r, o, append([]uint32(nil), reached.found...)}, nil
}
