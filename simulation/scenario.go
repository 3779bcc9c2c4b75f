// A scenario is a run without chance: it lists the strikes, and those choices that matter of all that a
// seed would draw. It is written by hand as a test, or recorded from a seed that broke something, and
// shrunk.

package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/invariant"
)

// Scenario is a run that is written down. Its Seed, Branches and Faults are not used.
type Scenario struct {
	Options
	// Heal are the nodes, by index, that are healed after Duration, and must then have a
	// leader soon and keep it. With nil the run just ends.
	Heal []int
	// Delay is how long a message takes if the scenario does not say otherwise, Tick how often an
	// engine writes; zero for 1 ms and 100 ms.
	Delay, Tick time.Duration
	// Strikes are the faults that strike.
	Strikes []Strike
	// Expect is what must be found.
	Expect []Expectation

	choices map[choice.Address]choice.Value
	lines   map[choice.Address]int // their lines, if the scenario was read from a text
	origin  *Options               // of the seed that it was recorded from; nil: from none
}

// Run plays the scenario. Whether it went as expected is in Result.Unmet.
func (s *Scenario) Run() (Result, error) {
	w, err := s.world()
	if err != nil {
		return Result{}, err
	}
	return s.play(w), nil
}

func (s *Scenario) play(w *world) Result {
	w.begin()
	r := w.play(s.moments())
	if r.Violation == nil || s.Expects(r.Violation.Invariant) { // else it has ended too early for them
		r.Unmet = append(r.Unmet, w.missed...)
		r.Unmet = append(r.Unmet, s.unreached(w)...)
	}
	for _, e := range s.Expect {
		if e.Violation != nil && (r.Violation == nil || r.Violation.Invariant != *e.Violation) {
			r.Unmet = append(r.Unmet, e.unmet(fmt.Sprint(r.Violation)))
		}
	}
	return r
}

// moments are the expectations that have a time, by time.
func (s *Scenario) moments() (all []Expectation) {
	for _, e := range s.Expect {
		if e.Violation == nil {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Expectation) int { return cmp.Compare(a.At, b.At) })
	return all
}

// unreached are the lines about choices that a run has not made.
func (s *Scenario) unreached(w *world) (lines []string) {
	for _, c := range slices.SortedFunc(maps.Keys(s.lines), choice.Compare) {
		if made := w.choices.Stream(c.Kind, c.Node, c.To).Count; c.Number > made {
			lines = append(lines, fmt.Sprintf("line %d: %q is never reached: there are %d", s.lines[c], c.Line(s.choices[c]), made))
		}
	}
	return lines
}

// world prepares the scenario.
func (s *Scenario) world() (*world, error) {
	o := s.Options
	if err := o.fill(); err != nil {
		return nil, err
	}
	filled := *s
	filled.Options = o
	if err := filled.check(); err != nil {
		return nil, err
	}
	w := newWorld(o)
	w.choices.Script = s.choices
	if w.choices.Script == nil {
		w.choices.Script = map[choice.Address]choice.Value{}
	}
	w.network.delay, w.tick = cmp.Or(s.Delay, defaultDelay), cmp.Or(s.Tick, defaultTick)
	s.plan(w)
	return w, nil
}

// plan enters the strikes in the agenda.
func (s *Scenario) plan(w *world) {
	w.core, w.scripted = s.Heal, true
	w.network.wanted = map[choice.Address]*parcel{}
	w.account = account{map[answer]int{}, map[asker]asked{}}
	for i := range s.Strikes {
		strike := s.Strikes[i]
		if strike.Fault == StaleMessage {
			w.network.wanted[strike.message()] = nil
		}
		if strike.At == 0 && strike.Fault.is(fromStart) {
			w.inflict(&strike)
			continue
		}
		w.planned = append(w.planned, strike)
		w.events.Push(int64(strike.At), newEvent(strikePlanned, 0, uint32(len(w.planned)-1)))
	}
}

// clone is a copy that can be changed.
func (s *Scenario) clone() *Scenario {
	c := *s
	c.Strikes = append([]Strike(nil), s.Strikes...)
	c.choices = maps.Clone(s.choices)
	return &c
}

// Choices counts the choices that the scenario makes.
func (s *Scenario) Choices() int { return len(s.choices) }

// Expects says whether the scenario is about a violation of an invariant.
func (s *Scenario) Expects(i invariant.Invariant) bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Violation != nil && *e.Violation == i })
}
