// Renewing: all that the keeper holds, with one call of the store for every 10,000.

package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hustings/hustings/internal/office"
)

// maxBatch bounds the leases in one call of the store, and so the size of a statement.
const maxBatch = 10_000

// renewals renews again and again: everything from time to time, and soon, some times,
// what was not answered.
func (k *Keeper) renewals(ctx context.Context) {
	const sooner = 3 // so often fits between two renewals of everything
	var unanswered []*Elector
	for tries := 0; pause(ctx, within(k.config.Timing.RenewWithin(len(unanswered) == 0))); tries++ {
		due := unanswered
		if len(due) == 0 || tries >= sooner {
			due, tries = k.serving(), 0
		}
		unanswered = nil
		for batch := range slices.Chunk(due, maxBatch) {
			unanswered = append(unanswered, k.renew(batch)...)
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

// renew renews a number of leases, and returns those of which it is not known whether
// they were. Their old ends stay.
func (k *Keeper) renew(electors []*Elector) (unanswered []*Elector) {
	batch, held := k.tenures(electors)
	if len(held) == 0 {
		return nil
	}
	names, err := call(k, k.lanes[renewing], k.config.Timing.Timeout, func(ctx context.Context) ([]string, error) {
		return k.config.Store.Renew(ctx, k.id, held)
	})
	if err != nil { // told when what was kept is extended
		defer k.log.Warn("leases were not renewed", "of", len(batch), "error", err)
	}
	var locked *LockedError
	if err != nil && !errors.As(err, &locked) {
		return electors
	}
	return k.renewed(batch, names, locked)
}

// tenures are the renewals to be sent now.
func (k *Keeper) tenures(electors []*Elector) (batch []tenure, held []Held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, e := range electors {
		l := e.lease.Load()
		if l == nil {
			continue // it is not held, or has run out
		}
		if h, ok := e.machine.Renew(now); ok {
			batch, held = append(batch, tenure{h, e, l}), append(held, h)
		}
	}
	return batch, held
}

// renewed tells the machines which leases were kept. What the answer does not list is
// lost, unless it was left out; these it returns.
func (k *Keeper) renewed(batch []tenure, names []string, locked *LockedError) (leftOut []*Elector) {
	kept, unknown := make(map[string]bool, len(names)), map[string]bool{}
	for _, name := range names {
		kept[name] = true
	}
	if locked != nil {
		for _, name := range locked.Names {
			unknown[name] = true
		}
	}
	k.mu.Lock()
	defer k.unlock()
	for _, t := range batch {
		if unknown[t.Name] {
			leftOut = append(leftOut, t.elector)
			continue
		}
		next := t.elector.machine.Renewed(t.Term, kept[t.Name])
		if next == ExtendLease {
			t.lease.Extend(t.elector.machine.Until(), k.now()) // of each, for this may take long
		}
		t.elector.lost(next, "it was taken away")
	}
	return leftOut
}

// within draws a wait of at least this and at most that.
func within(least, most time.Duration) time.Duration { return least + rand.N(1+most-least) }
