// Renewing: all that the keeper holds, with one call of the store for every 10,000.

package lease

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hustings/hustings/internal/office"
)

// maxBatch bounds the leases in one call of the store, and so the size of a statement.
const maxBatch = 10_000

// renewals renews again and again: everything from time to time, and soon what was not
// answered. It waits for no answer, because a call that hangs, or is repeated, must not
// make the renewal of other leases late.
func (k *Keeper) renewals(ctx context.Context) {
	t := k.config.Timing
	everything := k.now() + within(t.RenewWithin(true))
	for pause(ctx, min(everything-k.now(), within(t.RenewWithin(false)))) {
		all := k.now() >= everything
		if all {
			everything = k.now() + within(t.RenewWithin(true))
		}
		for batch := range slices.Chunk(k.tenures(all), maxBatch) {
			k.working.Go(func() { k.renew(batch) })
		}
	}
}

// tenure is a lease that is being renewed.
type tenure struct {
	Held
	elector *Elector
	lease   *office.Lease
}

// tenures are the renewals to be sent now. Their order is always the same, so that each
// batch has the same leases as the last time: one that hangs costs no others.
func (k *Keeper) tenures(everything bool) (all []tenure) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, e := range k.joined {
		l := e.lease.Load()
		if l == nil {
			continue // it is not held, or has run out
		}
		if held, ok := e.machine.Renew(everything, now); ok {
			all = append(all, tenure{held, e, l})
		}
	}
	if len(all) > maxBatch {
		slices.SortFunc(all, func(a, b tenure) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

// renew renews a number of leases.
func (k *Keeper) renew(batch []tenure) {
	held := make([]Held, len(batch))
	for i, t := range batch {
		held[i] = t.Held
	}
	names, err := call(k, k.lanes[renewing], k.config.Timing.Timeout, func(ctx context.Context) ([]string, error) {
		return k.config.Store.Renew(ctx, k.id, held)
	})
	k.renewed(batch, names, err)
	k.came(renewing, err, "leases", len(batch)) // after what was kept is extended, for telling may take long
}

// renewed tells the machines what became of their leases. What the answer does not list is
// lost, unless it was left out. Of what was left out, and of all if there is no answer,
// nothing is known, and the old ends stay.
func (k *Keeper) renewed(batch []tenure, names []string, err error) {
	answered, kept, leftOut := err == nil, set(names), map[string]bool{}
	if locked, is := errors.AsType[*LockedError](err); is {
		answered, leftOut = true, set(locked.Names)
	}
	k.mu.Lock()
	defer k.unlock()
	for _, t := range batch {
		m := &t.elector.machine
		if !answered || leftOut[t.Name] {
			m.Unanswered(t.Term)
			continue
		}
		next := m.Renewed(t.Term, kept[t.Name])
		if next == ExtendLease {
			t.lease.Extend(m.Until(), k.now()) // the time is that of each, for this may take long
		}
		t.elector.lost(next, "it was taken away")
	}
}

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// within draws a wait of at least this and at most that.
func within(least, most time.Duration) time.Duration { return least + rand.N(1+most-least) }
