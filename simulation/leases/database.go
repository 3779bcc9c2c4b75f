// The database: the store in memory, by a clock that may step.

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

// names are those of the leases.
var names = [maxLeases]string{"g0", "g1", "g2", "g3"}

// lookUp is the number of a lease.
func lookUp(name string) int { return int(name[1] - '0') }

// forces is what an operator's statement does, beside those of keepers.
const forces = protocol.Listen + 1

// does says what statements do, as it is told.
var does = [...]string{
	protocol.Read: "reads", protocol.Acquire: "acquires", protocol.Renew: "renews", protocol.Release: "releases",
	protocol.Wake: "wakes", protocol.Listen: "listens", forces: "forces",
}

// database has some leases, and remembers how they were.
type database struct {
	store   mem.Store
	clock   clock
	looked  time.Duration    // what the statement under way has seen of the clock
	stalled int64            // it does nothing before
	locked  [maxLeases]int64 // the record is written until then
	kept    [maxLeases]int64 // somebody else keeps it locked until then
	past    [maxLeases][]copyOf
}

// copyOf is a record as it was.
type copyOf struct {
	since  int64 // true time
	shown  time.Duration
	record lease.Record
}

func (d *database) init() {
	d.clock.rate = trueRate
	d.store.Clock = func() time.Duration { return d.looked }
}

// none is what a keeper takes a lease for that has no record.
func none(of int) lease.Record { return lease.Record{Name: names[of], Released: true} }

// now is a record, at what the clock shows.
func (d *database) now(of int) lease.Record {
	found, err := d.store.Read(context.Background(), names[of:of+1])
	if err != nil || len(found) == 0 {
		return none(of)
	}
	return found[0]
}

// execute carries a statement out that looked at the clock at a time, and looks at what
// it did to some leases.
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

// stale is a record as a copy has it that is behind, by the clock of today.
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

// describe tells what some records are.
func (d *database) describe(leases []int) string {
	var all []string
	for _, of := range leases {
		r := d.now(of)
		all = append(all, fmt.Sprintf("%s: term %d, holder %q, heir %q, %d renewals, %v left, released: %v", r.Name, r.Term, r.Holder, r.Heir, r.Renewals, r.Left, r.Released))
	}
	return strings.Join(all, "; ")
}

// find is what a read tells.
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
