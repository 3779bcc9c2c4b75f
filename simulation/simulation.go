// Running a simulation.

package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
)

// Options describe a run. The zero Options are a run of seed 0 with all faults.
type Options struct {
	// Seed decides everything that is drawn.
	Seed uint64
	// Members is how many voters there are, up to 9; 0 for 3.
	Members int
	// Duration is how long faults strike, in virtual time; 0 for a minute. What
	// follows, until it is known whether a healed majority has a leader, is more.
	Duration time.Duration
	// Faults are those that may strike, as bits 1 << Fault; 0 for all. Of these the
	// seed enables some.
	Faults uint32
	// Timing holds the intervals; zero for the default.
	Timing elector.Timing
	// Leases, NoPreVote and NoRanks are as in elector.Config.
	Leases, NoPreVote, NoRanks bool
	// Careless has engines accept appends without asking whether they may, and
	// acknowledge what they have promised not to. An entry that is committed is then
	// lost sooner or later, and the run says so.
	Careless bool
}

// Result is what became of a run.
type Result struct {
	Seed uint64
	// Events counts steps and what led to them, Elections those that were won.
	Events, Elections uint64
	Virtual           time.Duration
	// Struck counts how often each fault struck, Checked how often each invariant
	// was looked at.
	Struck  map[Fault]uint64
	Checked map[Invariant]uint64
	// Met counts how often a condition came about.
	Met map[Condition]uint64
	// Converged is how long a healed majority took to have a leader.
	Converged time.Duration
	// Digest is the same for the same Options, anywhere.
	Digest uint64
	// Violation is nil if all invariants held.
	Violation *Violation
}

const maxMembers = 9

// fill puts defaults where nothing is said, and refuses what cannot be.
func (o *Options) fill() error {
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Duration == 0 {
		o.Duration = time.Minute
	}
	if o.Timing == (elector.Timing{}) {
		o.Timing = elector.DefaultTiming()
	}
	if o.Faults == 0 {
		o.Faults = 1<<faults - 1
	}
	var problems []error
	if o.Members < 1 || o.Members > maxMembers {
		problems = append(problems, fmt.Errorf("simulation: Members is %d, want 1 to %d", o.Members, maxMembers))
	}
	if o.Duration < 0 {
		problems = append(problems, fmt.Errorf("simulation: Duration is %v, want more than 0", o.Duration))
	}
	if o.Faults >= 1<<faults {
		problems = append(problems, fmt.Errorf("simulation: Faults has bits beyond %v", faults-1))
	}
	return errors.Join(problems...)
}

// Run plays one seed. The error is about the options; whether the invariants held is
// in the result.
func Run(o Options) (Result, error) {
	if err := o.fill(); err != nil {
		return Result{}, err
	}
	w := newWorld(o)
	w.run(o.Duration)
	r := Result{Seed: o.Seed}
	if w.check.violation == nil && !o.NoPreVote {
		r.Converged = w.converge()
	}
	r.Events, r.Elections, r.Virtual, r.Digest, r.Violation = w.count, w.election, time.Duration(w.now), w.digest, w.check.violation
	r.Struck, r.Checked = make(map[Fault]uint64, faults), make(map[Invariant]uint64, invariants)
	for f, count := range w.swarm.struck {
		r.Struck[Fault(f)] = count
	}
	r.Met = make(map[Condition]uint64, conditions)
	for c, count := range w.conditions {
		r.Met[Condition(c)] = count
	}
	for i, count := range w.check.counts {
		r.Checked[Invariant(i)] = count
	}
	return r, nil
}

// describe tells what the nodes are, for violations.
func (w *world) describe() string {
	var parts []string
	for i := range w.nodes {
		n := &w.nodes[i]
		text := fmt.Sprintf("n%d %v in term %d", i, n.machine.Role, n.machine.Term)
		if !n.alive {
			text = fmt.Sprintf("n%d is down", i)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
