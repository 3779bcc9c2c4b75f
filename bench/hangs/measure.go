// Many trials of one library under one fault.

package hangs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

// Task is a number of trials.
type Task struct {
	Side   string
	Fault  Fault
	Trials int
}

// Outcome sums up the trials. Times are in detection times, of the trials in which the leader was
// replaced; Never is the share of the others, in percent.
type Outcome struct{ Mean, P99, Never float64 }

// hopelessAfter is the number of trials after which no more are run, if the leader was replaced in none.
const hopelessAfter = 10

// Job returns the job that runs trials, each in a bubble of its own within a test. more are sides that
// this package does not have.
func Job(t *testing.T, more ...Side) peer.Job {
	t.Helper()
	all := append(slices.Clone(sides), more...)
	return peer.Of(func(ctx context.Context, task Task) (Outcome, error) {
		i := slices.IndexFunc(all, func(s Side) bool { return s.Name == task.Side })
		if i < 0 {
			return Outcome{}, fmt.Errorf("hangs: there is no side %q", task.Side)
		}
		var took []float64
		n := 0
		for ; n < task.Trials && (n < hopelessAfter || len(took) > 0); n++ {
			one, replaced, err := Trial(t, all[i], task.Fault, uint64(n))
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return Outcome{}, fmt.Errorf("%s, %s, trial %d: %w", task.Side, task.Fault, n, err)
			}
			if replaced {
				took = append(took, one)
			}
		}
		return outcome(took, n), nil
	})
}

// Trial runs the trial with a number, which says when the fault happens. It returns how long it took
// until another leader served a write, in detection times; false if that did not happen.
func Trial(t *testing.T, s Side, f Fault, number uint64) (took float64, replaced bool, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		took, replaced, err = run(s, f, rand.New(rand.NewPCG(number, 0)))
	})
	return took, replaced, err
}

func outcome(took []float64, trials int) (o Outcome) {
	for _, t := range took {
		o.Mean += t / float64(len(took))
	}
	o.P99 = measure.Quantile(took, 0.99)
	o.Never = 100 * float64(trials-len(took)) / float64(trials)
	return o
}
