// What only ours can: to resign, and to hear that the connection to a leader has broken.

package churn

import (
	"context"

	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/virtual"
)

// rest is how long a leader leads before it crashes: until those measurements of a round
// trip are forgotten that had the saves of its election in them.
const rest = 64 * beat

// Alone are the times of what no peer can.
type Alone struct {
	// Leaderless is from when a leader that resigns takes no more writes until there
	// is another, Resignation from the order on.
	Leaderless, Resignation Quantiles
	// Crash is from the crash of a leader until a majority knows another.
	Crash Quantiles
}

// OursAlone has a leader resign as often as leaders transfer, and another one crash.
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

// crash has one leader after the other crash, and come back when there is another. It
// tells, in milliseconds, how long each time it took until a majority knew that one.
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
