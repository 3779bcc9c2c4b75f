// Looking with the explorer: every interleaving, within bounds that are small enough to
// be done with in seconds.

package main

import (
	"context"
	"sync"

	"github.com/hustings/hustings/simulation/explore"
)

// bounds are what is explored: a term with all that can happen in it; two, in which a
// ledger grows, with and without pre-votes; two with leases.
var bounds = []explore.Bounds{
	{Members: 3, Terms: 1, Beats: 1},
	{Members: 2, Terms: 2, Beats: 2, Entries: 1},
	{Members: 3, Terms: 2, Beats: 1, Entries: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
	{Members: 3, Terms: 2, Beats: 1, Entries: 1, NoTransfer: true, NoHints: true},
	{Members: 3, Terms: 2, Beats: 1, Leases: true, NoPreVote: true, NoTransfer: true, NoHints: true},
}

// calm are the bounds within which a leader must always be able to come about.
var calm = explore.Bounds{Members: 2, Terms: 2, Beats: 2, NoTransfer: true, NoHints: true}

// explored explores all of these at once, and ends with the first that shows something.
func explored(ctx context.Context) (found, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := []func() (explore.Result, error){func() (explore.Result, error) {
		return explore.Live(ctx, explore.Options{Bounds: calm}, explore.Budgets{InFlight: 3, Drops: 1, Restarts: 1})
	}}
	for _, b := range bounds {
		looks = append(looks, func() (explore.Result, error) { return explore.Explore(ctx, explore.Options{Bounds: b}) })
	}
	results, failures := make([]explore.Result, len(looks)), make([]error, len(looks))
	var waiting sync.WaitGroup
	for i, look := range looks {
		waiting.Go(func() {
			if results[i], failures[i] = look(); failures[i] != nil || results[i].Violation != nil {
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
		if v := r.Violation; v != nil {
			f.Invariant, f.What, f.Steps = v.Invariant.String(), v.What, 0
			if v.Script != nil {
				f.Steps = len(v.Path)
			}
		}
	}
	return f, nil
}
