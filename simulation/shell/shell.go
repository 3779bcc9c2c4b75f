// This file runs one world and returns its result.

package shell

import (
	"sync/atomic"
	"time"
)

// Kind says how a world elects.
type Kind uint8

// The kinds.
const (
	// Votes: by votes, in hosts of package elector.
	Votes Kind = iota
	// Leases: by leases, in keepers of package lease.
	Leases
)

// Options describe the world to run.
type Options struct {
	Kind Kind
	Seed uint64
	// Careless makes engines accept every append without asking whether they may, so that
	// there is a violation to find. Worlds of leases have no engine and ignore it.
	Careless bool
	// Tell, if not nil, receives the story of the world, line by line.
	Tell func(line string)
	// Patience is how long virtual time may stand still by the real clock; 0: two minutes.
	// Then the run is abandoned, because a goroutine waits for a lock or loops for ever.
	Patience time.Duration
}

// Result is the result of a run.
type Result struct {
	Seed                uint64
	Virtual             time.Duration
	Messages, Elections uint64
	Struck              map[Fault]uint64
	Checked             map[Invariant]uint64
	Met                 map[Condition]uint64
	// Violation is the first invariant that did not hold; nil if all did.
	Violation *Violation
}

const usualPatience = 2 * time.Minute

// Run runs a world in a bubble of virtual time. It must not be called in one.
//
// The seed decides the plan of the world and which events are likely in it. It does not
// decide in which order goroutines run, so another run of the same seed may take another
// course.
func Run(o Options) *Result {
	patience := o.Patience
	if patience == 0 {
		patience = usualPatience
	}
	play := run
	if o.Kind == Leases {
		play = runLeases
	}
	results := make(chan *Result, 1)
	err := bubble(o.Seed, patience, func(moves *atomic.Uint64) { results <- play(o, moves) })
	r := &Result{Seed: o.Seed}
	select {
	case r = <-results:
	default: // the world did not reach its end
	}
	if err != nil && r.Violation == nil {
		r.Violation = &Violation{Seed: o.Seed, At: r.Virtual, Invariant: NothingLeft, What: err.Error()}
	}
	return r
}
