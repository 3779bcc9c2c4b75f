// Looking with the explorer: every interleaving, within bounds that take seconds.

package main

import (
	"context"
	"sync"
	"time"

	"github.com/hustings/hustings/simulation/explore"
	"github.com/hustings/hustings/simulation/explore/nodes"
)

// bounds are explored: a term with everything that can happen in it; two terms in which a ledger grows, without
// pre-votes and with everything; two with leases; two of five members; two with leases and everything that an engine
// can do; and more beats than a leader keeps.
var bounds = []explore.Bounds{
	{Members: 3, Terms: 1, Beats: 1},
	{Members: 2, Terms: 2, Beats: 2, Entries: 1},
	{Members: 3, Terms: 2, Beats: 1, Entries: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
	{Members: 3, Terms: 2, Beats: 1, Entries: 1},
	{Members: 3, Terms: 2, Beats: 1, Leases: true, Lag: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
	{Members: 5, Terms: 2, Beats: 1, NoPreVote: true, NoTransfer: true, NoHints: true},
	{Members: 2, Terms: 2, Beats: 2, Leases: true, Lag: 1, NoHints: true, Withdrawals: true, Pauses: true},
	{Members: 2, Terms: 1, Beats: 5, Leak: 5, Leases: true, NoPreVote: true, NoTransfer: true, NoHints: true},
}

// exchanging are bounds of nodes that exchange beats and have a leader that rests: a process restarts, a group ends, a
// step of it waits, or two groups leave when a beat has room to tell of one.
var exchanging = []nodes.Bounds{
	{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, FollowerRestarts: 1},
	{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, Ends: 1},
	{Members: 2, Groups: 1, Terms: 2, Moments: 3, Calm: 4, Waits: 1},
	{Members: 2, Groups: 2, Terms: 2, Moments: 1, Calm: 4, Ends: 2, Leavings: 1},
}

// calm are the bounds within which it must always be possible to elect a leader.
var calm = explore.Bounds{Members: 2, Terms: 2, Beats: 2, NoTransfer: true, NoHints: true}

// longer is how long the other searches go on after one has found a violation without a script.
const longer = 2 * time.Second

// explored explores all of these at once, and ends with the first violation.
func explored(ctx context.Context) (found, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := []func() (explore.Result, error){func() (explore.Result, error) {
		return explore.Live(ctx, explore.Options{Bounds: calm}, explore.Budgets{InFlight: 3, Drops: 1, Restarts: 1})
	}}
	for _, b := range bounds {
		looks = append(looks, func() (explore.Result, error) { return explore.Explore(ctx, explore.Options{Bounds: b}) })
	}
	for _, b := range exchanging {
		looks = append(looks, func() (explore.Result, error) { return nodes.Explore(ctx, nodes.Options{Bounds: b}) })
	}
	results, failures := make([]explore.Result, len(looks)), make([]error, len(looks))
	var waiting sync.WaitGroup
	for i, look := range looks {
		waiting.Go(func() {
			results[i], failures[i] = look()
			switch v := results[i].Violation; {
			case failures[i] != nil, v != nil && v.Script != nil:
				cancel()
			case v != nil: // another search may find one that plain machines reach
				time.AfterFunc(longer, cancel)
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
		f.States += r.States
		switch v := r.Violation; {
		case v == nil || f.Steps > 0: // a violation that plain machines reach is preferred
		case v.Script != nil:
			f.Invariant, f.What, f.Steps = v.Invariant.String(), v.What, len(v.Path)
		default:
			f.Invariant, f.What = v.Invariant.String(), v.What
		}
	}
	return f, nil
}
