// Looking: at all leases that the keeper does not hold, with one statement for every
// 10,000 of them, which only reads. What turns out to be free is then claimed, each by a
// statement of its own.

package lease

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// polls looks again and again: at everything from time to time, and soon at what
// was released or has just joined.
func (k *Keeper) polls(ctx context.Context) {
	t := k.config.Timing
	everything := time.NewTimer(within(t.PollWithin()))
	defer everything.Stop()
	var woken <-chan time.Time // nil: nobody was woken since the last look
	next := k.now()            // nobody who is woken looks before
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.roused:
			if woken == nil { // or those who come later would put it off for ever
				woken = time.After(max(sparsely(t.LookWithin()), next-k.now()))
			}
		case <-woken:
			woken = nil
			if looking := k.waiting(true); len(looking) > 0 {
				next = k.now() + t.LooksApart()
				k.look(looking)
			}
		case <-everything.C:
			k.look(k.waiting(false))
			everything.Reset(within(t.PollWithin()))
		}
	}
}

// sparsely draws a wait that is rarely a short one: of many who were woken at once
// few look first, and the rest find the lease taken.
func sparsely(least, most time.Duration) time.Duration {
	return least + time.Duration(float64(most-least)*math.Cbrt(rand.Float64()))
}

// waiting lists the electors that wait for their leases: all, or those of them
// that were woken.
func (k *Keeper) waiting(woken bool) []*Elector {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := maps.Keys(k.joined)
	if woken {
		names = maps.Keys(k.woken)
	}
	var all []*Elector
	for name := range names {
		if e := k.joined[name]; e != nil && e.machine.Watching() {
			all = append(all, e)
		}
	}
	clear(k.woken)
	return all
}

// look reads the leases of some electors, and claims those that are free.
func (k *Keeper) look(electors []*Elector) {
	for batch := range slices.Chunk(electors, maxBatch) {
		k.lookAt(batch)
	}
}

func (k *Keeper) lookAt(electors []*Elector) {
	names := make([]string, len(electors))
	for i, e := range electors {
		names[i] = e.config.Name
	}
	found, err := call(k, k.lanes[reading], k.config.Timing.Timeout, func(ctx context.Context) ([]Record, error) {
		return k.config.Store.Read(ctx, names)
	})
	k.came(reading, err, "leases", len(names))
	if err != nil {
		return
	}
	now := k.now()
	records := make(map[string]Record, len(found))
	for _, r := range found {
		records[r.Name] = r
	}
	for _, e := range electors {
		r, known := records[e.config.Name]
		if !known {
			r = Record{Name: e.config.Name, Released: true}
		}
		if e.sees(r, now) {
			go e.claim() // looking goes on, for a claim may have to wait for a record that is locked
		}
	}
}
