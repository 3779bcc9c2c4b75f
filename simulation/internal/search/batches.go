// Package search plays many runs, whatever world they are of: in batches, on all cores (Batches);
// with a record of the states that they have reached (Coverage); and ever smaller ones of a run
// that shows something (Minimize).
package search

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Batches are runs that are prepared together, with options O and results R. The next batch may
// depend on the results of those before, and on nothing else, so that the number of cores does not
// matter.
type Batches[O, R any] struct {
	Count   uint64 // how many runs; 0: no end
	Workers int    // how many at once; 0: as many as there are cores
	Next    func(size int) []O
	Play    func(O) (R, error)
	// Done takes the results of a batch, without the runs that the end of the context has
	// prevented, and says whether to go on.
	Done func([]R) bool
}

// size is how many runs are prepared together.
const size = 64

// Run plays until all are played, Done has had enough, or the context ends.
func (b *Batches[O, R]) Run(ctx context.Context) error {
	for done := uint64(0); ctx.Err() == nil && (b.Count == 0 || done < b.Count); {
		n := uint64(size)
		if b.Count != 0 {
			n = min(n, b.Count-done)
		}
		done += n
		results, err := b.play(ctx, b.Next(int(n)))
		if err != nil {
			return err
		}
		if !b.Done(results) {
			break
		}
	}
	return nil
}

// play plays a batch, and returns the results in its order.
func (b *Batches[O, R]) play(ctx context.Context, all []O) ([]R, error) {
	workers := b.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results, failures, played := make([]R, len(all)), make([]error, len(all)), make([]bool, len(all))
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
					results[i], failures[i] = b.Play(all[i])
					played[i] = true
				}
			}
		})
	}
	waiting.Wait()
	finished := results[:0]
	for i, r := range results {
		if played[i] {
			finished = append(finished, r)
		}
	}
	return finished, errors.Join(failures...)
}
