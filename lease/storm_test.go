package lease_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// storm is a very bad network: calls are slow or lost, answers are lost, and statements are
// executed late, or twice.
func storm(seed uint64) fault {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 1))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	wait := func() { <-time.After(time.Duration(roll(int(2 * timing.TTL)))) }
	lost := errors.New("lost")
	return func(ctx context.Context, _ string, do func(context.Context) error) error {
		switch roll(12) {
		case 0:
			return lost
		case 1:
			_ = do(ctx)
			return lost
		case 2: // late, when the caller no longer waits
			go func() {
				wait()
				_ = do(context.Background())
			}()
			return lost
		case 3: // twice
			_ = do(ctx)
			return do(ctx)
		case 4: // the answer is late
			err := do(ctx)
			wait()
			return err
		case 5: // the question is late
			wait()
			return do(context.WithoutCancel(ctx))
		}
		return do(ctx)
	}
}
