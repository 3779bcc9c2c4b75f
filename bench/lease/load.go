// The statements of a leader and of a follower while nothing changes.

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

func loadSection(s *server) figure.Section {
	return figure.Section{
		Name: "load", Title: "Statements while nothing happens",
		Configured: []string{
			fmt.Sprintf("Both sides: TTL %v, renewed every %v; followers look as often, client-go's at random up to 2.2 times as seldom, ours up to twice as often. A statement is a call of the client or of the store, on PostgreSQL one that the driver sends.", brief.ttl, brief.renew),
		},
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return loads(ctx, s, p) },
	}
}

func loads(ctx context.Context, s *server, p figure.Plan) ([]figure.Figure, error) {
	number, lasting := 10, 10*time.Second
	if p.Quick {
		number, lasting = 3, 2*time.Second
	}
	p.Progress("nothing happens", 0)
	var table measure.Table
	var mu sync.Mutex
	var problems []error
	var contests sync.WaitGroup
	watch := func(s side, where string, values func(*measure.Pair) *[]float64) {
		contests.Go(func() {
			asked, err := idle(ctx, s, lasting)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, err)
				return
			}
			for number, who := range []string{"a leader", "a follower"} {
				for what, n := range map[string]int64{"writes": asked[number].writes, "reads": asked[number].reads} {
					v := values(table.Pair(who+" "+what+", "+where, "statements per s"))
					*v = append(*v, float64(n)/lasting.Seconds())
				}
			}
		})
	}
	ours := func(p *measure.Pair) *[]float64 { return &p.Ours }
	peers := func(p *measure.Pair) *[]float64 { return &p.Peer }
	// In the order of the table.
	for _, where := range []string{"memory", "PostgreSQL"} {
		for _, who := range []string{"a leader", "a follower"} {
			for _, what := range []string{"writes", "reads"} {
				table.Pair(who+" "+what+", "+where, "statements per s")
			}
		}
	}
	for range number {
		watch(inMemory(false), "memory", ours)
		watch(clientGo(), "memory", peers)
		watch(overPostgres(s), "PostgreSQL", ours)
	}
	contests.Wait()
	return table.Figures("load", peerName), measure.UnlessOver(ctx, errors.Join(problems...))
}

// idle counts the statements of two candidates while one leads.
func idle(ctx context.Context, s side, lasting time.Duration) (asked [2]load, err error) {
	c, err := contend(ctx, s, brief, false)
	if err != nil {
		return asked, err
	}
	for i, one := range c.candidates {
		asked[i] = one.asked()
	}
	err = sleep(ctx, lasting)
	for i, one := range c.candidates {
		asked[i] = one.asked().since(asked[i])
	}
	if err == nil && len(c.record.all()) > 1 {
		err = fmt.Errorf("%s: the leader has changed meanwhile", s.name)
	}
	return asked, errors.Join(err, c.end())
}
