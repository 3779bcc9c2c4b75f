// The options of a run, and its result.

package simulation

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/faultlist"
	"github.com/hustings/hustings/simulation/invariant"
)

// Options describe a run. The zero Options are a run of seed 0 with all faults that
// break no assumption of an election.
type Options struct {
	// Seed decides everything that is drawn.
	Seed uint64
	// Branches continue the run with the choices of other seeds, each from a time on.
	Branches []Branch
	// Members is how many voters there are, up to 9; 0 for 3.
	Members int
	// Observers is how many observers there are from the start, up to 2 and as far as there is
	// room. Preferred is how many of the voters are preferred, the last ones.
	Observers, Preferred int
	// Groups is how many groups every node takes part in, up to 64; 0 for 1.
	Groups int
	// Duration is how long faults strike, in virtual time; 0 for a minute. The run goes on until
	// it is known whether a healed majority has a leader.
	Duration time.Duration
	// Faults are those that may strike; zero for DefaultFaults. The seed enables some of them.
	Faults FaultSet
	// Timing holds the intervals; zero for the default.
	Timing elector.Timing
	// Leases, NoPreVote and NoRanks are as in elector.GroupConfig.
	Leases, NoPreVote, NoRanks bool
	// Vouch is for how long an engine's word counts that it is able to lead; 0: engines need not
	// vouch.
	Vouch time.Duration
	// Asked is whether engines vouch when they are asked, as by elector.GroupConfig.Healthy, and
	// not by their work, as by elector.Elector.Alive.
	Asked bool
	// Judged is whether each node has a function that judges its engines, as elector.HostConfig.Stalled.
	Judged bool
	// Beats is whether nodes exchange beats, as a host does whose transport carries them.
	Beats bool
	// Open has nodes pack no groups, for a comparison with a run in which they do: see protocol.Node.KeepOpen.
	Open bool
	// Campaigns is how many campaigns a node has under way at a time, how many requests it handles in a turn, and of how
	// many leavings a beat tells, if that is no less than a quarter of the groups; 0: as many as suit real nodes.
	Campaigns int
	// Uneven draws the weights of groups and the capacities of nodes; 0: all are usual.
	Uneven int
	// Term is the term in the stores of all members at first. Counters is where the counters of
	// every process begin.
	Term     memberstate.Term
	Counters uint32
	// Careless has engines break their promise, in one of two ways. An entry that is
	// committed is then lost sooner or later, and the run says so.
	Careless Carelessness
	// Unchecked are invariants that are not demanded, to see what the other ones notice.
	Unchecked []invariant.Invariant
}

// Branch is a time from which on a run makes the choices of another seed.
type Branch struct {
	At   time.Duration
	Seed uint64
}

// Result is how a run went.
type Result struct {
	Seed     uint64
	Branches []Branch
	// Events counts the steps of machines, Elections the elections that were won.
	Events, Elections uint64
	Virtual           time.Duration
	// Struck counts how often each fault struck, Checked how often each invariant
	// was checked, Met how often a condition was met.
	Struck  map[Fault]uint64
	Checked map[invariant.Invariant]uint64
	Met     map[Condition]uint64
	// Traits are the properties that some worlds have, and this one.
	Traits []Trait
	// Told are the faults that break an assumption and were detected, and refused.
	Told FaultSet
	// Excused counts how often an invariant did not hold where it could not be demanded.
	Excused map[invariant.Invariant]uint64
	// Converged is how long a healed majority took to have a leader, if that was Demanded,
	// and Detection is the detection time in this run.
	Converged time.Duration
	Detection time.Duration
	Demanded  bool
	// Unmet lists what a scenario expects and did not find, and its lines that had
	// no effect.
	Unmet []string
	// Digest is the same for the same Options, anywhere.
	Digest uint64
	// Violation is nil if all invariants held.
	Violation *invariant.Violation
}

// lastTerm is larger than any term that a group reaches, and leaves room for the terms by which a
// message may be ahead.
const lastTerm memberstate.Term = math.MaxUint64 - 2*memberstate.MaxTermStep

// fill sets defaults, and refuses options that are out of range.
func (o *Options) fill() error {
	if o.Members == 0 {
		o.Members = 3
	}
	if o.Groups == 0 {
		o.Groups = 1
	}
	if o.Duration == 0 {
		o.Duration = time.Minute
	}
	if o.Timing == (elector.Timing{}) {
		o.Timing = elector.DefaultTiming()
	}
	if o.Faults == (FaultSet{}) {
		o.Faults = DefaultFaults()
	}
	var problems []error
	if o.Members < 1 || o.Members > maxMembers {
		problems = append(problems, fmt.Errorf("simulation: Members is %d, want 1 to %d", o.Members, maxMembers))
	}
	if o.Observers < 0 || o.Observers > maxObservers {
		problems = append(problems, fmt.Errorf("simulation: Observers is %d, want up to %d", o.Observers, maxObservers))
	}
	if o.Preferred < 0 {
		problems = append(problems, fmt.Errorf("simulation: Preferred is %d, want 0 or more", o.Preferred))
	}
	if o.Groups < 1 || o.Groups > maxGroups {
		problems = append(problems, fmt.Errorf("simulation: Groups is %d, want 1 to %d", o.Groups, maxGroups))
	}
	if o.Campaigns < 0 {
		problems = append(problems, fmt.Errorf("simulation: Campaigns is %d, want 0 or more", o.Campaigns))
	}
	if o.Uneven < 0 {
		problems = append(problems, fmt.Errorf("simulation: Uneven is %d, want 0 or more", o.Uneven))
	}
	if o.Term > lastTerm {
		problems = append(problems, fmt.Errorf("simulation: Term is %d, %d is the most", o.Term, lastTerm))
	}
	if o.Careless >= carelessnesses {
		problems = append(problems, fmt.Errorf("simulation: Careless is %d, want less than %d", o.Careless, carelessnesses))
	}
	if o.Duration < 0 {
		problems = append(problems, fmt.Errorf("simulation: Duration is %v, want more than 0", o.Duration))
	}
	if !faultlist.Set(o.Faults).Below(uint8(faults)) {
		problems = append(problems, fmt.Errorf("simulation: Faults has bits beyond %v", faults-1))
	}
	if err := o.Timing.Validate(o.Leases); err != nil {
		problems = append(problems, fmt.Errorf("simulation: %w", err))
	}
	if least := 2 * o.Timing.Heartbeat; o.Vouch != 0 && o.Vouch < least {
		problems = append(problems, fmt.Errorf("simulation: Vouch is %v, want 0, or two heartbeats (%v) or more", o.Vouch, least))
	}
	for i, b := range o.Branches {
		if b.At < 0 {
			problems = append(problems, fmt.Errorf("simulation: Branches[%d].At is %v, want 0 or more", i, b.At))
		}
	}
	return errors.Join(problems...)
}

// measure is what the checks measure by.
func (o *Options) measure() check.Measure {
	return check.Measure{Voters: o.Members, Timing: o.Timing, Campaigns: o.Campaigns}
}

// Run plays one seed. The error is about the options; whether the invariants held is
// in the result.
func Run(o Options) (Result, error) {
	if err := o.fill(); err != nil {
		return Result{}, err
	}
	w := newWorld(o)
	w.drawn()
	return w.play(nil), nil
}

// play plays what has been prepared, and compares it with what is expected at certain times.
func (w *world) play(expected []Expectation) Result {
	var unmet []string
	for _, e := range expected {
		if w.run(e.At); w.check.Over {
			break
		}
		if found, met := e.met(w); !met {
			unmet = append(unmet, e.unmet(found))
		}
	}
	w.run(w.options.Duration)
	took, demanded := time.Duration(0), false
	if core := w.chooseCore(); core != nil && !w.check.Over {
		took, demanded = w.converge(core), true
	}
	r := w.result()
	r.Converged, r.Demanded, r.Unmet = took, demanded && !w.check.Over, unmet
	r.Detection = w.options.Timing.Detection()
	return r
}

// result sums up a run that has ended.
func (w *world) result() Result {
	r := Result{
		Seed: w.options.Seed, Branches: w.options.Branches,
		Events: w.steps, Elections: w.election, Virtual: time.Duration(w.now),
		Struck: make(map[Fault]uint64, faults), Checked: make(map[invariant.Invariant]uint64, invariant.Count),
		Met: make(map[Condition]uint64, conditions), Excused: map[invariant.Invariant]uint64{},
		Traits: w.options.Traits(), Told: w.told, Digest: w.digest, Violation: w.check.Violation,
	}
	for f, count := range &w.swarm.struck {
		r.Struck[Fault(f)] = count
	}
	for c, count := range w.conditions {
		r.Met[Condition(c)] = count
	}
	for i, count := range w.check.Counts {
		r.Checked[invariant.Invariant(i)] = count
	}
	for i, count := range w.check.Broken {
		if count > 0 {
			r.Excused[invariant.Invariant(i)] = count
		}
	}
	return r
}

// describe says which role every node has in a group, and in which term.
func (w *world) describe(place int) string {
	var parts []string
	for i := range w.nodes {
		g := w.nodes[i].members[place].group.State()
		text := fmt.Sprintf("n%d %v in term %d", i, g.Role, g.Term)
		if !w.nodes[i].Alive {
			text = fmt.Sprintf("n%d is down", i)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
