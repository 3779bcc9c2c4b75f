// Trials: many contests at once, in a random order, so that other work of the machine affects
// all sides equally.

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

// series is one kind of trial with one side, and its results so far.
type series struct {
	side   string
	server bool // it needs the server
	number int  // of trials
	try    func(ctx context.Context) (float64, error)
	values []float64
}

// comparison is one or more lines of the table: our values beside the peer's, if there is one.
type comparison struct {
	name, unit string
	ours, peer *series
	aspects    []aspect
}

// aspect makes one number of many values.
type aspect struct {
	name string
	unit string // empty: that of the values
	of   func([]float64) float64
}

func quantile(name string, share float64) aspect {
	return aspect{name, "", func(values []float64) float64 { return measure.Quantile(values, share) }}
}

// compare runs the trials of all series and makes the figures. If ctx ends early, it makes them
// of the results so far.
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

// The number of simultaneous contests: those in memory mostly wait; those on the server are few
// enough that connecting takes no noticeable time.
const (
	atOnce       = 80
	atOnceServer = 20
)

// run runs the trials of all series, many at once, until the context ends or one
// fails.
func run(ctx context.Context, every []*series, progress func(done float64)) error {
	var mu sync.Mutex
	var failed error
	trials, begun, total := map[bool][]*series{}, 0, 0
	for _, s := range every {
		trials[s.server] = append(trials[s.server], slices.Repeat([]*series{s}, s.number)...)
		total += s.number
	}
	for _, t := range trials {
		rand.Shuffle(len(t), func(i, j int) { t[i], t[j] = t[j], t[i] })
	}
	take := func(server bool) *series {
		mu.Lock()
		defer mu.Unlock()
		left := trials[server]
		if len(left) == 0 || failed != nil || ctx.Err() != nil {
			return nil
		}
		begun++
		progress(float64(begun) / float64(total))
		trials[server] = left[1:]
		return left[0]
	}
	work := func(server bool) {
		for s := take(server); s != nil; s = take(server) {
			value, err := s.try(ctx)
			mu.Lock()
			if err == nil {
				s.values = append(s.values, value)
			} else {
				failed = errors.Join(failed, err)
			}
			mu.Unlock()
		}
	}
	var workers sync.WaitGroup
	for server, number := range map[bool]int{false: atOnce, true: atOnceServer} {
		for range number {
			workers.Go(func() { work(server) })
		}
	}
	workers.Wait()
	return measure.UnlessOver(ctx, failed)
}
