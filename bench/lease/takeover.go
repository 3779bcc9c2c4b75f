// How long there is no leader after one has crashed or left.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/lease"
)

func takeoverSection(s *server) figure.Section {
	return figure.Section{
		Name: "takeover", Title: "From the end of a leader until the next one leads",
		Configured: []string{
			fmt.Sprintf("Both sides: TTL %v, renewed every %v, and followers look as often. The moment is drawn, at any distance from a renewal. A crash has the leader's connections reset, or in memory never answer again; a leader that leaves has its context ended.", brief.ttl, brief.renew),
			"Ours: a statement may take as long as a renewal interval, the margin for drift is a hundredth of the TTL; in memory candidates are not woken, on PostgreSQL they are, by NOTIFY. Strict candidates do not trust the database's clock.",
			"client-go: its own lock, a Lease, over a server in memory, ReleaseOnCancel, RenewDeadline two thirds of the TTL as by default. Over PostgreSQL there is no peer: cirello.io/pglock was not available (the module proxy refuses it).",
			fmt.Sprintf("By default: ours a TTL of %v, a renewal every %v and a look every %v; client-go %v and %v.", defaults.ttl, defaults.renew, defaults.poll, theirDefaults.ttl, theirDefaults.renew),
		},
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return takeovers(ctx, s, p) },
	}
}

// The default timings of both sides.
var (
	d             = lease.DefaultTiming()
	defaults      = timing{ttl: d.TTL, renew: d.Renew, poll: d.Poll, patience: d.Timeout}
	theirDefaults = timing{ttl: 15 * time.Second, renew: 2 * time.Second}
)

func takeovers(ctx context.Context, s *server, p figure.Plan) ([]figure.Figure, error) {
	many, few := 200, 30
	if p.Quick {
		many, few = 12, 0 // none with the defaults, because these are slow
	}
	memory, strict, postgres, peer := inMemory(false), inMemory(true), overPostgres(s), clientGo()
	crash, leave := (*candidate).crashes, (*candidate).leaves
	ofMany := func(s side, end ending, unit time.Duration) *series { return takeoverSeries(s, brief, end, many, unit) }
	byDefault := func(s side, t timing, end ending, unit time.Duration) *series {
		return takeoverSeries(s, t, end, few, unit)
	}
	peerCrash := ofMany(peer, crash, brief.ttl)
	all := []aspect{quantile("p50", 0.5), quantile("p99", 0.99), quantile("longest", 1)}
	return compare(ctx, "takeover", []comparison{
		{"after a crash", "TTL", ofMany(memory, crash, brief.ttl), peerCrash, all},
		{"after a crash", "TTL", ofMany(strict, crash, brief.ttl), peerCrash, all},
		{"after a crash", "TTL", ofMany(postgres, crash, brief.ttl), nil, all},
		{"after it left", "ms", ofMany(memory, leave, time.Millisecond), ofMany(peer, leave, time.Millisecond), all},
		{"after it left", "ms", ofMany(postgres, leave, time.Millisecond), nil, all},
		{"after a crash, by default", "s", byDefault(memory, defaults, crash, time.Second), byDefault(peer, theirDefaults, crash, time.Second), all},
		{"after it left, by default", "ms", byDefault(memory, defaults, leave, time.Millisecond), byDefault(peer, theirDefaults, leave, time.Millisecond), all},
		{"after it left, by default", "ms", byDefault(postgres, defaults, leave, time.Millisecond), nil, all},
	}, func(done float64) { p.Progress("leaders crash and leave", done) })
}

// ending ends a leader's office.
type ending func(*candidate)

func (c *candidate) crashes() { c.crash() }
func (c *candidate) leaves()  { c.leave() }

func takeoverSeries(s side, t timing, end ending, number int, unit time.Duration) *series {
	return &series{side: s.name, server: s.server, number: number, try: func(ctx context.Context) (float64, error) {
		took, err := takeover(ctx, s, t, end)
		return float64(took) / float64(unit), err
	}}
}

func takeover(ctx context.Context, s side, t timing, end ending) (time.Duration, error) {
	c, err := contend(ctx, s, t, false)
	if err != nil {
		return 0, err
	}
	from := time.Now()
	end(c.candidates[first])
	began, err := c.succeeded(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: no candidate took over: %w", s.name, err)
	case began.Before(from):
		err = fmt.Errorf("%s: the lease of a healthy leader was taken over", s.name)
	}
	return began.Sub(from), errors.Join(err, c.end())
}
