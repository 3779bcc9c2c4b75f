// How long two candidates lead at once when the network fails.

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hustings/hustings/bench/figure"
)

func overlapSection(s *server) figure.Section {
	return figure.Section{
		Name: "overlap", Title: "Two candidates in office at once, each with a context that lives",
		Configured: []string{
			fmt.Sprintf("Both sides: TTL %v, renewed every %v, one clock in one process. Measured from when the second candidate is called to lead until the first one's context has ended, at most.", brief.ttl, brief.renew),
			fmt.Sprintf("A late answer: one renewal is carried out, its answer comes %v of a TTL later, and from then on nothing gets through. Both sides wait for answers for %v TTL (our Timeout, client-go's RenewDeadline).", lateness, float64(patient.patience)/float64(patient.ttl)),
			"A stall: the leader's connections stay and nothing gets through. Ours gives a statement up after a renewal interval, client-go after two thirds of a TTL; calls return when their context ends.",
			"A driver that hangs: the same, and calls do not return when their context ends. The HTTP client of client-go heeds contexts; some drivers of databases do not.",
			"client-go's lock stores whole seconds: of several renewals in one second followers only see the first, and count from there.",
		},
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return overlaps(ctx, s, p) },
	}
}

const lateness = 0.9 // in TTL

var patient = timing{ttl: brief.ttl, renew: brief.renew, patience: brief.ttl * 95 / 100}

// The faults of a leader's connection.
var (
	lateAnswer = fault{"a late answer", patient, false, func(c *contest) {
		c.candidates[first].late(time.Duration(lateness * float64(c.timing.ttl)))
	}}
	stalls      = fault{"a stall", brief, false, func(c *contest) { c.candidates[first].stall() }}
	driverHangs = fault{"a driver that hangs", brief, true, stalls.happen}
)

func overlaps(ctx context.Context, s *server, p figure.Plan) ([]figure.Figure, error) {
	many, few := 300, 100
	if p.Quick {
		many, few = 6, 3
	}
	memory, postgres, peer := inMemory(false), overPostgres(s), clientGo()
	var lines []comparison
	beside := func(f fault, number int, ours side, peer *series) {
		lines = append(lines, comparison{f.name, "TTL", f.series(ours, number), peer, []aspect{
			quantile("longest overlap", 1),
			{"runs with an overlap", "% of " + strconv.Itoa(number), positive},
		}})
	}
	for _, f := range []fault{lateAnswer, stalls} {
		beside(f, many, memory, f.series(peer, many))
		beside(f, many, postgres, nil)
	}
	beside(driverHangs, few, memory, driverHangs.series(peer, few))
	return compare(ctx, "overlap", lines, func(done float64) { p.Progress("leaders are cut off", done) })
}

// positive returns the percentage of values above zero.
func positive(values []float64) float64 {
	n := 0
	for _, v := range values {
		if v > 0 {
			n++
		}
	}
	return 100 * float64(n) / float64(len(values))
}

// fault is a fault of a leader's connection.
type fault struct {
	name   string
	timing timing
	deaf   bool
	happen func(*contest)
}

func (f fault) series(s side, number int) *series {
	return &series{side: s.name, server: s.server, number: number, try: func(ctx context.Context) (float64, error) {
		longest, err := f.overlap(ctx, s)
		return float64(longest) / float64(f.timing.ttl), err
	}}
}

// overlap applies the fault, and waits until the second candidate leads and the first no longer
// does, or until a bound, at which the first still leads.
func (f fault) overlap(ctx context.Context, s side) (time.Duration, error) {
	c, err := contend(ctx, s, f.timing, f.deaf)
	if err != nil {
		return 0, err
	}
	f.happen(c)
	if _, err = c.succeeded(ctx); err == nil {
		lasting, cancel := context.WithTimeoutCause(ctx, 5*f.timing.ttl, errPatience)
		if _, err = c.record.await(lasting, resigned(first)); errors.Is(err, errPatience) {
			err = nil // an overlap up to the bound is a result
		}
		cancel()
	}
	all := c.record.all()
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", f.name, s.name, err)
	}
	return overlap(all), errors.Join(err, c.end())
}
