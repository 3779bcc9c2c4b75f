// Renewing: all that the keeper holds, with one statement.

package lease

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hustings/hustings/internal/office"
)

// maxBatch bounds the leases in one statement, and so its size.
const maxBatch = 10_000

// renewals renews again and again.
func (k *Keeper) renewals(ctx context.Context) {
	t := k.config.Timing
	wait := t.Renew
	for pause(ctx, wait-rand.N(1+wait/8)) {
		wait = t.Renew
		for batch := range slices.Chunk(k.held(), maxBatch) {
			if !k.renew(batch) {
				wait = t.retry()
			}
		}
	}
}

// tenure is a lease that an elector of this keeper holds.
type tenure struct {
	elector *Elector
	lease   *office.Lease
}

// held lists what is to be renewed.
func (k *Keeper) held() []tenure {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []tenure
	for _, e := range k.joined {
		if l := e.lease.Load(); l != nil {
			all = append(all, tenure{e, l})
		}
	}
	return all
}

// renew renews a number of leases, and says whether it got an answer. Validity is
// counted from before the question was sent. What the answer does not list is
// lost, now; if there is none, the old ends of the leases stay.
func (k *Keeper) renew(batch []tenure) bool {
	held := make([]Held, len(batch))
	for i, t := range batch {
		held[i] = Held{t.elector.config.Name, t.lease.Term}
	}
	asked := k.now()
	names, err := call(k, k.lanes[renewing], func(ctx context.Context) ([]string, error) {
		return k.config.Store.Renew(ctx, k.id, held)
	})
	if err != nil {
		k.log.Warn("leases were not renewed", "leases", len(batch), "error", err)
		return false
	}
	kept := make(map[string]bool, len(names))
	for _, name := range names {
		kept[name] = true
	}
	until, now := asked+k.config.Timing.validity(), k.now()
	for _, t := range batch {
		if kept[t.elector.config.Name] {
			t.lease.Extend(until, now)
		} else {
			t.elector.lose(t.lease.Term, "it was taken away")
		}
	}
	return true
}

// after draws a wait of at most this, and at least half of it.
func after(most time.Duration) time.Duration { return most - rand.N(1+most/2) }
