// Operations that only our library has: to resign, and to act on a broken connection to the
// leader.

package churn

import (
	"context"

	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/virtual"
)

// rest is how long a leader leads before it crashes. By then no remembered round trip contains
// a save of its election.
const rest = 64 * beat

// Alone are the times of the operations that no peer has.
type Alone struct {
	// Leaderless is from the last write of a leader that resigns until there is another
	// leader, Resignation from the order until then.
	Leaderless, Resignation Quantiles
	// Crash is from the crash of a leader until a majority knows another one.
	Crash Quantiles
}

// OursAlone makes leaders resign t.Transfers times, and then crash as often.
func OursAlone(ctx context.Context, t Task) (Alone, error) {
	return aloneOf(ctx, oursFound(), t)
}

func aloneOf[M any](ctx context.Context, found founder[M], t Task) (a Alone, err error) {
	defer measure.Unclocked()()
	g, err := start(found, t.Members, t.Seed)
	if err != nil {
		return a, err
	}
	leaderless, whole, err := g.handAround(ctx, t.Transfers, func(old int) { g.world.Resign(old) })
	if err != nil {
		return a, err
	}
	a.Leaderless, a.Resignation = quantiles(leaderless), quantiles(whole)
	took, err := g.crash(ctx, t.Transfers)
	a.Crash = quantiles(took)
	return a, err
}

// crash makes one leader after the other crash, and come back when there is another. It
// returns, in milliseconds, how long it took each time until a majority knew the new one.
func (g *group[M]) crash(ctx context.Context, times int) (took []float64, err error) {
	w := &g.world
	for range times {
		down, err := g.settled(ctx, rest)
		if err != nil {
			return nil, err
		}
		crashed := w.Now()
		w.Break(down)
		g.leaders[down] = virtual.Nobody
		if err := g.until(func() bool { return g.leader(len(g.leaders)/2+1) != virtual.Nobody }); err != nil {
			return nil, err
		}
		took = append(took, milliseconds(w.Now()-crashed))
		w.Start(down)
	}
	return took, nil
}
