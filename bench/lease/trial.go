// Trials: many contests at once, in an order that is drawn, so that what else the
// machine does falls upon all sides.

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

// series is one kind of trial with one side, and what it came to so far.
type series struct {
	side   string
	number int // of trials
	try    func(ctx context.Context) (float64, error)
	values []float64
}

// comparison is a line or two of the table: ours beside the peer's, if there is one.
type comparison struct {
	name, unit string
	ours, peer *series
	aspects    []aspect
}

// aspect makes one number of many.
type aspect struct {
	name string
	unit string // empty: that of the values
	of   func([]float64) float64
}

func quantile(name string, share float64) aspect {
	return aspect{name, "", func(values []float64) float64 { return measure.Quantile(values, share) }}
}

// compare runs the trials of all series and makes the figures. It ends early with ctx,
// and then makes them of what there is.
func compare(ctx context.Context, section string, lines []comparison, progress func(done float64)) ([]figure.Figure, error) {
	var every []*series
	for _, c := range lines {
		for _, s := range []*series{c.ours, c.peer} {
			if s != nil && !slices.Contains(every, s) {
				every = append(every, s)
			}
		}
	}
	err := run(ctx, every, progress)
	var figures []figure.Figure
	for _, c := range lines {
		if len(c.ours.values) > 0 {
			figures = append(figures, c.figures(section)...)
		}
	}
	return figures, err
}

func (c *comparison) figures(section string) (all []figure.Figure) {
	for _, a := range c.aspects {
		f := figure.Figure{Section: section, Name: c.name + ", " + c.ours.side + ": " + a.name, Unit: c.unit, Ours: a.of(c.ours.values)}
		if a.unit != "" {
			f.Unit = a.unit
		} else {
			f.Spread = measure.Spread(c.ours.values, f.Ours)
		}
		if c.peer != nil && len(c.peer.values) > 0 {
			f.Beside(c.peer.side, a.of(c.peer.values))
		}
		all = append(all, f)
	}
	return all
}

// atOnce is how many contests there are at one time. They wait most of it.
const atOnce = 60

// run runs the trials of all series, many at once, until the context ends or one
// fails.
func run(ctx context.Context, every []*series, progress func(done float64)) error {
	var trials []*series
	for _, s := range every {
		trials = append(trials, slices.Repeat([]*series{s}, s.number)...)
	}
	rand.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	var mu sync.Mutex
	var failed error
	next := 0
	take := func() *series {
		mu.Lock()
		defer mu.Unlock()
		if next == len(trials) || failed != nil || ctx.Err() != nil {
			return nil
		}
		next++
		progress(float64(next) / float64(len(trials)))
		return trials[next-1]
	}
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for s := take(); s != nil; s = take() {
				value, err := s.try(ctx)
				mu.Lock()
				if err == nil {
					s.values = append(s.values, value)
				} else {
					failed = errors.Join(failed, err)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return measure.UnlessOver(ctx, failed)
}
