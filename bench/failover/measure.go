// Many trials, and their outcome.

package failover

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hustings/hustings/bench/measure"
)

// Outcome sums up the trials of a scenario. Times are in detection times.
type Outcome struct {
	Mean, P50, P99, Max float64
	// Messages is the mean of a trial, Contested and Split are in percent of them.
	Messages, Contested, Split float64
}

// batches is the number of parts of the trials whose spread is reported.
const batches = 5

// Outcomes are the outcome of all trials and those of the batches.
type Outcomes struct {
	All     Outcome
	Batches [batches]Outcome
}

// repeatTrials runs trials in parallel. The results do not depend on the number of workers.
func repeatTrials[M any](ctx context.Context, library Library[M], s Scenario, count, workers int) (Outcomes, error) {
	defer measure.Unclocked()()
	trials := make([]Trial, count)
	problems := make([]error, workers)
	var next atomic.Int64
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(count) && problems[worker] == nil; i = next.Add(1) - 1 {
				trials[i], problems[worker] = run(library, s, uint64(i))
				if ctx.Err() != nil {
					problems[worker] = ctx.Err()
				}
			}
		})
	}
	all.Wait()
	for _, err := range problems {
		if err != nil {
			return Outcomes{}, err
		}
	}
	o := Outcomes{All: outcome(trials)}
	for b := range o.Batches {
		o.Batches[b] = outcome(trials[b*count/batches : (b+1)*count/batches])
	}
	return o, nil
}

// processors returns the number of workers for a library without shared state.
func processors() int { return runtime.GOMAXPROCS(0) }

func outcome(trials []Trial) (o Outcome) {
	took, share := make([]float64, len(trials)), 1/float64(len(trials))
	for i, t := range trials {
		took[i] = t.Took
		o.Mean += t.Took * share
		o.Messages += float64(t.Messages) * share
		if t.Contested {
			o.Contested += 100 * share
		}
		if t.Split {
			o.Split += 100 * share
		}
	}
	o.P50, o.P99, o.Max = measure.Quantile(took, 0.5), measure.Quantile(took, 0.99), measure.Quantile(took, 1)
	return o
}
