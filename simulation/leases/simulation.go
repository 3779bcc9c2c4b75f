// The options of a run, and its result.

package leases

import (
	"errors"
	"fmt"
	"time"

	"github.com/hustings/hustings/lease"
)

// Options describe a run. The zero Options are a run of seed 0 with all faults that
// package lease promises to cope with.
type Options struct {
	// Seed decides everything that is drawn.
	Seed uint64
	// Candidates is their number, from 2 to 9; 0 for 3.
	Candidates int
	// Leases is the number of leases, up to 4; 0: the seed draws it.
	Leases int
	// Duration is how long faults strike, in virtual time, up to an hour; 0 for a
	// minute. The run goes on until a leader that has fallen silent is replaced.
	Duration time.Duration
	// Faults are those that may strike; 0 for DefaultFaults. The seed enables
	// some of them.
	Faults FaultSet
	// Strict is as in lease.KeeperConfig.
	Strict bool
	// Tell, if not nil, is called with a line for everything that happens.
	Tell func(line string)
}

// Result is how a run went.
type Result struct {
	Seed uint64
	// Events counts the events, Elections the offices that were taken.
	Events, Elections uint64
	Virtual           time.Duration
	// Struck counts how often each fault struck, Checked how often each invariant was
	// checked, Met how often a condition was met, Excused how often an invariant
	// did not hold when an assumption had been broken.
	Struck  map[Fault]uint64
	Checked map[Invariant]uint64
	Met     map[Condition]uint64
	Excused map[Invariant]uint64
	// TakenOver is how long it took in the end to replace a silent leader, if that was
	// Demanded.
	TakenOver time.Duration
	Demanded  bool
	// Digest is the same for the same Options, anywhere.
	Digest uint64
	// Violation is nil if all invariants held.
	Violation *Violation
}

const maxCandidates, maxLeases = 9, 4

// fill sets defaults, and refuses options that are out of range.
func (o *Options) fill() error {
	if o.Candidates == 0 {
		o.Candidates = 3
	}
	if o.Duration == 0 {
		o.Duration = time.Minute
	}
	if o.Faults == 0 {
		o.Faults = DefaultFaults()
	}
	var problems []error
	if o.Candidates < 2 || o.Candidates > maxCandidates {
		problems = append(problems, fmt.Errorf("simulation: Candidates is %d, want 2 to %d", o.Candidates, maxCandidates))
	}
	if o.Leases < 0 || o.Leases > maxLeases {
		problems = append(problems, fmt.Errorf("simulation: Leases is %d, want up to %d", o.Leases, maxLeases))
	}
	if o.Duration < 0 || o.Duration > time.Hour {
		problems = append(problems, fmt.Errorf("simulation: Duration is %v, want up to an hour", o.Duration))
	}
	if o.Faults&^NoFaults >= 1<<faults {
		problems = append(problems, fmt.Errorf("simulation: Faults has bits beyond %v", faults-1))
	}
	return errors.Join(problems...)
}

// timing is that of the candidates, except for one that may differ.
var timing = lease.DefaultTiming()

// ttl is how long a lease lasts, in nanoseconds.
var ttl = int64(timing.TTL)

// Run plays one seed. The error is about the options; whether the invariants held is
// in the result.
func Run(o Options) (Result, error) {
	if err := o.fill(); err != nil {
		return Result{}, err
	}
	w := newWorld(o)
	w.run(int64(o.Duration))
	w.heal()
	return w.result(), nil
}

// result sums up a run that has ended.
func (w *world) result() Result {
	r := Result{
		Seed: w.options.Seed, Events: w.happened, Elections: w.elections, Virtual: time.Duration(w.now),
		Struck: counted(w.struck[:], Fault(0)), Checked: counted(w.check.counts[:], Invariant(0)),
		Met: counted(w.conditions[:], Condition(0)), Excused: map[Invariant]uint64{},
		TakenOver: w.takenOver, Demanded: w.demanded, Digest: w.digest, Violation: w.check.violation,
	}
	for i, n := range w.check.broken {
		if n > 0 {
			r.Excused[Invariant(i)] = n
		}
	}
	return r
}

func counted[K ~uint8](counts []uint64, first K) map[K]uint64 {
	m := make(map[K]uint64, len(counts))
	for i, n := range counts {
		m[first+K(i)] = n
	}
	return m
}
