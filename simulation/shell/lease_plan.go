// This file draws the plan of a world of leases from its seed.

package shell

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/lease"
)

// leasePlan is the candidates, the leases and the database of a world.
type leasePlan struct {
	rates   []float64      // of the candidates' clocks
	timings []lease.Timing // of the candidates, by their own clocks
	rate    float64        // of the database's clock
	groups  []*leaseGroup
	strict  bool
	wakes   bool // candidates have a waker, which announces releases
	link    time.Duration
	longest lease.Timing // the longest intervals, by the time of the world
	trouble time.Duration
}

// leaseGroup is one lease.
type leaseGroup struct {
	name      string
	observers []bool // by candidate
	lead      bool   // services have a Lead; else they watch
	slow      bool   // callbacks take time
}

const (
	mostCandidates = 5
	mostLeases     = 3
)

func drawLeases(seed uint64) *leasePlan {
	r := random(seed, "plan of leases")
	margin := 0.02 + 0.2*r.Float64() // of a TTL
	rate := func() float64 { return 1 + 0.4*margin*(2*r.Float64()-1) }
	ttl := time.Duration(500e6 * math.Pow(40, r.Float64()))
	p := &leasePlan{rate: rate(), strict: r.IntN(3) == 0, wakes: r.IntN(2) == 0, link: time.Microsecond + upTo(r, ttl/1000), trouble: 40 * ttl}
	part := func(least, most float64) time.Duration {
		return time.Duration(float64(ttl) * (least + (most-least)*r.Float64()))
	}
	t := lease.Timing{
		TTL: ttl, DriftMargin: time.Duration(margin * float64(ttl)), Poll: part(0.05, 0.5), Timeout: part(0.05, 0.6),
		Renew: time.Duration(0.49 * (1 - margin) * float64(part(0.2, 1))),
	}
	if r.IntN(8) == 0 {
		t.Timeout = 2 * ttl
	}
	candidates := 1 + r.IntN(mostCandidates)
	odd := r.IntN(4 * candidates)
	for i := range candidates {
		p.rates = append(p.rates, rate())
		p.timings = append(p.timings, t)
		if i == odd {
			p.timings[i] = scaled(t, 2)
		}
		l, by := &p.longest, scaled(p.timings[i], 1/p.rates[i])
		l.TTL, l.Poll, l.Renew = max(l.TTL, by.TTL), max(l.Poll, by.Poll), max(l.Renew, by.Renew)
		l.Timeout, l.DriftMargin = max(l.Timeout, by.Timeout), max(l.DriftMargin, by.DriftMargin)
	}
	for i := range 1 + r.IntN(mostLeases) {
		p.groups = append(p.groups, p.group(r, i))
	}
	return p
}

func (p *leasePlan) group(r *rand.Rand, index int) *leaseGroup {
	g := &leaseGroup{name: fmt.Sprintf("l%d", index), lead: r.IntN(6) > 0, slow: r.IntN(2) == 0, observers: make([]bool, len(p.rates))}
	if r.IntN(4) == 0 {
		for i := range g.observers {
			g.observers[i] = r.IntN(3) == 0
		}
		g.observers[r.IntN(len(g.observers))] = false
	}
	return g
}

// scaled makes all intervals longer or shorter. All keepers of a bubble share one clock, so a
// keeper with a fast clock has shorter intervals instead.
func scaled(t lease.Timing, by float64) lease.Timing {
	times := func(d time.Duration) time.Duration { return time.Duration(float64(d) * by) }
	return lease.Timing{TTL: times(t.TTL), Renew: times(t.Renew), Poll: times(t.Poll), Timeout: times(t.Timeout), DriftMargin: times(t.DriftMargin)}
}
