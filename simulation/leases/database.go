// The database: the store in memory, by a clock that may step.

package leases

import (
	"context"
	"fmt"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// group is the name of the lease.
const group = "g"

// What a statement does, as it is told.
const (
	reads    = "reads"
	acquires = "acquires"
	renews   = "renews"
	releases = "releases"
	forces   = "forces"
)

// database has one lease, and remembers how it was.
type database struct {
	store   mem.Store
	clock   clock
	looked  time.Duration // what the statement under way has seen of the clock
	past    []copyOf
	stalled int64 // it does nothing before
	locked  int64 // the record is written until then
}

// copyOf is the record as it was.
type copyOf struct {
	since  int64 // true time
	shown  time.Duration
	record lease.Record
}

func (d *database) init() {
	d.clock.rate = trueRate
	d.store.Clock = func() time.Duration { return d.looked }
}

// now is the record, at what the clock shows.
func (d *database) now() lease.Record {
	found, err := d.store.Read(context.Background(), []string{group})
	if err != nil || len(found) == 0 {
		return lease.Record{Name: group, Released: true} // as a keeper takes it
	}
	return found[0]
}

// execute carries a statement out that looked at the clock at a time, and looks at what
// it did.
func (w *world) execute(looked int64, what string, do func(context.Context) error) bool {
	d := &w.database
	d.looked = d.clock.reading(looked)
	before := d.now()
	err := do(context.Background())
	after := d.now()
	w.wrote(&before, &after, what)
	if after.Term != before.Term || after.Holder != before.Holder || after.Renewals != before.Renewals || after.Released != before.Released {
		d.past = append(d.past, copyOf{w.now, d.looked, after})
		d.past = d.past[max(0, len(d.past)-remembered):]
	}
	w.mix(uint64(after.Term)<<32|after.Renewals, uint64(after.Left))
	return err == nil
}

// remembered is how many copies of the record are kept.
const remembered = 16

// stale is the record as a copy has it that is behind, by the clock of today.
func (d *database) stale(behind int64, now int64) lease.Record {
	for i := len(d.past) - 1; i >= 0; i-- {
		if c := &d.past[i]; c.since <= now-behind {
			r := c.record
			r.Left -= d.looked - c.shown
			return r
		}
	}
	return d.now()
}

// describe tells what the record is.
func (d *database) describe() string {
	r := d.now()
	return fmt.Sprintf("term %d, holder %q, heir %q, %d renewals, %v left, released: %v", r.Term, r.Holder, r.Heir, r.Renewals, r.Left, r.Released)
}

// find is what a read tells.
func (w *world) find() lease.Record {
	if w.chance(StaleRead) {
		return w.database.stale(w.span(), w.now)
	}
	return w.database.now()
}
