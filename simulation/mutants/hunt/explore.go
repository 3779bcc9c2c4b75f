// Looking with the explorer: every interleaving, within bounds that are small enough to
// be done with in seconds.

package main

import (
	"context"
	"sync"

	"github.com/hustings/hustings/simulation/explore"
)

// bounds are what is explored: many beats of one term, two terms that a ledger grows in,
// and a change of terms among three.
var bounds = []explore.Bounds{
	{Members: 3, Terms: 1, Beats: 2},
	{Members: 2, Terms: 2, Beats: 2, Entries: 1},
	{Members: 3, Terms: 2, Beats: 1, Entries: 1, NoTransfer: true, NoHints: true},
}

// explored explores all bounds at once, and ends with the first that shows something.
func explored(ctx context.Context) (found, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, failures := make([]explore.Result, len(bounds)), make([]error, len(bounds))
	var waiting sync.WaitGroup
	for i, b := range bounds {
		waiting.Go(func() {
			results[i], failures[i] = explore.Explore(ctx, explore.Options{Bounds: b})
			if results[i].Violation != nil {
				cancel()
			}
		})
	}
	waiting.Wait()
	var f found
	for i, r := range results {
		if failures[i] != nil {
			return f, failures[i]
		}
		f.Events += r.Transitions
		if r.Violation != nil {
			f.Invariant, f.What = "explored", r.Violation.What
		}
	}
	return f, nil
}
