// Recording: what a seed draws is noted and becomes a scenario.

package simulation

import "github.com/hustings/hustings/simulation/internal/choice"

// tape has the strikes that a run draws. The tape of its choices is in w.choices.
type tape struct{ strikes []Strike }

func (t *tape) strike(s *Strike) { t.strikes = append(t.strikes, *s) }

// Record plays a seed and notes all that it draws. The scenario is the same run, without the
// seed.
func Record(o Options) (*Scenario, Result, error) {
	if err := o.fill(); err != nil {
		return nil, Result{}, err
	}
	w := newWorld(o)
	w.record()
	w.drawn()
	r := w.play(nil)
	return w.recorded(), r, nil
}

// record has a world note what it draws.
func (w *world) record() { w.tape, w.choices.Tape = new(tape), map[choice.Address]choice.Value{} }

// recorded is the scenario that a world has noted.
func (w *world) recorded() *Scenario {
	o := w.options
	s := &Scenario{Options: o, Heal: w.core, Delay: w.network.delay, Tick: w.tick, Strikes: w.tape.strikes, choices: w.choices.Tape, origin: &o}
	s.Preferred = min(s.Preferred, s.Members) // more are drawn where there are fewer, and then all are preferred
	s.Seed, s.Branches, s.Faults = 0, nil, FaultSet{}
	return s
}
