// A tape notes what a seed has drawn, so that it becomes a scenario.

package simulation

import "github.com/hustings/hustings/simulation/internal/choice"

// tape is what a run draws, besides its choices.
type tape struct{ strikes []Strike }

func (t *tape) strike(s *Strike) { t.strikes = append(t.strikes, *s) }

// Record plays a seed and writes down all that it drew. The scenario is the same run
// without the seed.
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

// record has a world write down what it draws.
func (w *world) record() { w.tape, w.choices.Tape = new(tape), map[choice.Address]choice.Value{} }

// recorded is the scenario that a world has written down.
func (w *world) recorded() *Scenario {
	o := w.options
	s := &Scenario{Options: o, Heal: w.core, Delay: w.network.delay, Tick: w.tick, Strikes: w.tape.strikes, choices: w.choices.Tape, origin: &o}
	s.Seed, s.Branches, s.Faults = 0, nil, 0
	return s
}
