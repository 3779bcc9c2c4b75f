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
	answered := true
	for pause(ctx, within(k.config.Timing.RenewWithin(answered))) {
		answered = true
		for batch := range slices.Chunk(k.serving(), maxBatch) {
			answered = k.renew(batch) && answered
		}
	}
}

// serving lists the electors whose leases are to be renewed.
func (k *Keeper) serving() []*Elector {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []*Elector
	for _, e := range k.joined {
		if e.machine.Serving() {
			all = append(all, e)
		}
	}
	return all
}

// tenure is a lease that is being renewed.
type tenure struct {
	Held
	elector *Elector
	lease   *office.Lease
}

// renew renews a number of leases, and says whether it got an answer. If there is
// none, the old ends of the leases stay.
func (k *Keeper) renew(electors []*Elector) bool {
	batch, held := k.tenures(electors)
	if len(held) == 0 {
		return true
	}
	names, err := call(k, k.lanes[renewing], func(ctx context.Context) ([]string, error) {
		return k.config.Store.Renew(ctx, k.id, held)
	})
	if err != nil {
		k.log.Warn("leases were not renewed", "leases", len(batch), "error", err)
		return false
	}
	k.renewed(batch, names)
	return true
}

// tenures are the renewals to be sent now.
func (k *Keeper) tenures(electors []*Elector) (batch []tenure, held []Held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, e := range electors {
		if h, ok := e.machine.Renew(now); ok {
			batch, held = append(batch, tenure{h, e, e.lease.Load()}), append(held, h)
		}
	}
	return batch, held
}

// renewed tells the machines which leases were kept. What the answer does not list is
// lost.
func (k *Keeper) renewed(batch []tenure, names []string) {
	kept := make(map[string]bool, len(names))
	for _, name := range names {
		kept[name] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, t := range batch {
		next := t.elector.machine.Renewed(t.Term, kept[t.Name])
		if next == ExtendLease {
			t.lease.Extend(t.elector.machine.Until(), now)
		}
		t.elector.lost(next, "it was taken away")
	}
}

// within draws a wait of at least this and at most that.
func within(least, most time.Duration) time.Duration { return least + rand.N(1+most-least) }
