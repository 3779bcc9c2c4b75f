// The database: the store in memory, with a clock that may step.

package leases

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/lease/protocol"
)

// names are the names of the leases.
var names = [maxLeases]string{"g0", "g1", "g2", "g3"}

// lookUp is the number of a lease.
func lookUp(name string) int { return int(name[1] - '0') }

// forces is the name of an operator's statement, besides those of keepers.
const forces = protocol.Listen + 1

// does says in words what statements do.
var does = [...]string{
	protocol.Read: "reads", protocol.Acquire: "acquires", protocol.Renew: "renews", protocol.Release: "releases",
	protocol.Wake: "wakes", protocol.Listen: "listens", forces: "forces",
}

// database has some leases, and remembers how they were.
type database struct {
	store   mem.Store
	clock   clock
	looked  time.Duration    // the time of the clock that the statement under way has read
	stalled int64            // until then it does nothing
	locked  [maxLeases]int64 // until then the record is being written
	kept    [maxLeases]int64 // until then somebody else keeps it locked
	past    [maxLeases][]copyOf
}

// copyOf is a record as it was at a time.
type copyOf struct {
	since  int64 // true time
	shown  time.Duration
	record lease.Record
}

func (d *database) init() {
	d.clock.rate = trueRate
	d.store.Clock = func() time.Duration { return d.looked }
}

// none is the record that a keeper assumes for a lease that has none.
func none(of int) lease.Record { return lease.Record{Name: names[of], Released: true} }

// now is a record as it is, at the clock's time.
func (d *database) now(of int) lease.Record {
	found, err := d.store.Read(context.Background(), names[of:of+1])
	if err != nil || len(found) == 0 {
		return none(of)
	}
	return found[0]
}

// execute carries out a statement that read the clock at a time, and checks what it did to some
// leases.
func (w *world) execute(looked int64, what protocol.Kind, leases []int, do func(context.Context)) {
	d := &w.database
	d.looked = d.clock.reading(looked)
	if what == protocol.Read {
		do(context.Background())
		w.mix(uint64(d.looked), uint64(len(leases)))
		return
	}
	var before [maxLeases]lease.Record
	for _, of := range leases {
		before[of] = d.now(of)
	}
	do(context.Background())
	for _, of := range leases {
		after := d.now(of)
		b := &before[of]
		w.wrote(of, b, &after, what)
		if after.Term != b.Term || after.Holder != b.Holder || after.Renewals != b.Renewals || after.Released != b.Released {
			d.past[of] = append(d.past[of], copyOf{w.now, d.looked, after})
			d.past[of] = d.past[of][max(0, len(d.past[of])-remembered):]
		}
		w.mix(uint64(after.Term)<<32|after.Renewals, uint64(after.Left))
	}
}

// remembered is how many copies of a record are kept.
const remembered = 16

// stale is a record from a copy that is behind, at the current time of the clock.
func (d *database) stale(of int, behind, now int64) lease.Record {
	past := d.past[of]
	for i := len(past) - 1; i >= 0; i-- {
		if c := &past[i]; c.since <= now-behind {
			r := c.record
			r.Left -= d.looked - c.shown
			return r
		}
	}
	return d.now(of)
}

// describe describes some records.
func (d *database) describe(leases []int) string {
	var all []string
	for _, of := range leases {
		r := d.now(of)
		all = append(all, fmt.Sprintf("%s: term %d, holder %q, heir %q, %d renewals, %v left, released: %v", r.Name, r.Term, r.Holder, r.Heir, r.Renewals, r.Left, r.Released))
	}
	return strings.Join(all, "; ")
}

// find is the result of a read.
func (w *world) find(named []string, leases []int) []lease.Record {
	found, err := w.database.store.Read(context.Background(), named)
	if err != nil {
		panic(err) // a store in memory has no reason to refuse
	}
	if !w.chance(StaleRead) {
		return found
	}
	behind := w.span()
	found = found[:0]
	for _, of := range leases {
		if r := w.database.stale(of, behind, w.now); r != none(of) {
			found = append(found, r)
		}
	}
	return found
}
