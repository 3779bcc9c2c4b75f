// A scenario is a run without chance: what strikes and when, and of all that is left to
// chance that which matters. It is written by hand, as a test that reads like a story,
// or made of a seed that broke something, and shrunk.

package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Scenario is a run that is written down. Its Seed, Branches and Faults are not used.
type Scenario struct {
	Options
	// Heal are the nodes, by index, that are healed after Duration, and must then have a
	// leader soon and keep it. With nil the run just ends.
	Heal []int
	// Delay is what a message takes of which nothing else is said, Tick how often an
	// engine writes; zero for 1 ms and 100 ms.
	Delay, Tick time.Duration
	// Strikes are the faults that strike.
	Strikes []Strike
	// Expect is what must be found.
	Expect []Expectation

	choices map[choice]chosen
	origin  *Options // of the seed that it was recorded from, if it was
}

// Expectation is what is expected at a time, or with Violation in the end.
type Expectation struct {
	At time.Duration
	// Leader is who must lead then, by index: the node of the largest term that takes
	// itself for the leader. NoLeader expects that nobody does, AnyLeader does not care.
	Leader int
	// Term is the largest term that any node is in; 0: any.
	Term memberstate.Term
	// Violation is the invariant that must be broken in the end; nil: this is about a time.
	Violation *Invariant
}

// What Expectation.Leader may be besides a node.
const (
	NoLeader  = -1
	AnyLeader = -2
)

// String is the expectation as a scenario's text has it, without the word expect.
func (e Expectation) String() string {
	switch {
	case e.Violation != nil:
		return fmt.Sprintf("violation %v", *e.Violation)
	case e.Leader == NoLeader:
		return fmt.Sprintf("no leader at %v", e.At)
	case e.Leader == AnyLeader:
		return fmt.Sprintf("term %d at %v", e.Term, e.At)
	case e.Term == 0:
		return fmt.Sprintf("leader n%d at %v", e.Leader, e.At)
	default:
		return fmt.Sprintf("leader n%d in term %d at %v", e.Leader, e.Term, e.At)
	}
}

// met says whether a world is as expected now.
func (e Expectation) met(w *world) bool {
	var term memberstate.Term
	for i := range w.nodes {
		term = max(term, w.nodes[i].members[0].group.Term)
	}
	leader := w.leader()
	switch e.Leader {
	case NoLeader:
		return leader == nil
	case AnyLeader:
		return term == e.Term
	default:
		return leader != nil && leader.index == e.Leader && (e.Term == 0 || leader.group.Term == e.Term)
	}
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
	for _, e := range s.Expect {
		if e.Violation != nil && (r.Violation == nil || r.Violation.Invariant != *e.Violation) {
			r.Unmet = append(r.Unmet, fmt.Sprintf("expected: %v; found: %v", e, r.Violation))
		}
	}
	return r
}

// moments are the expectations that have a time.
func (s *Scenario) moments() (all []Expectation) {
	for _, e := range s.Expect {
		if e.Violation == nil {
			all = append(all, e)
		}
	}
	return all
}

// world prepares the scenario.
func (s *Scenario) world() (*world, error) {
	o := s.Options
	if err := o.fill(); err != nil {
		return nil, err
	}
	w := newWorld(o)
	w.choices.script = s.choices
	if w.choices.script == nil {
		w.choices.script = map[choice]chosen{}
	}
	w.network.delay, w.tick = cmp.Or(s.Delay, dullDelay), cmp.Or(s.Tick, dullTick)
	s.plan(w)
	return w, nil
}

// plan has the strikes strike.
func (s *Scenario) plan(w *world) {
	w.core, w.scripted = s.Heal, true
	w.network.wanted = map[choice]*parcel{}
	for i := range s.Strikes {
		strike := s.Strikes[i]
		if strike.Fault == StaleMessage {
			w.network.wanted[choice{chooseFate, uint8(strike.Node), uint8(strike.Other), uint32(strike.Count)}] = nil
		}
		if strike.At == 0 && strike.Fault.standing() {
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

// Choices counts the choices that are not left dull.
func (s *Scenario) Choices() int { return len(s.choices) }

// Expects says whether the scenario is about a violation of an invariant.
func (s *Scenario) Expects(i Invariant) bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Violation != nil && *e.Violation == i })
}
