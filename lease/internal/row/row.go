// Package row implements the steps of lease.Store on one record, for stores that do not use
// SQL.
package row

import (
	"time"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// Row is a stored record. The zero Row is that of a lease without a record. Times are in
// microseconds of the database's clock.
type Row struct {
	Term     memberstate.Term `json:"term"`
	Holder   string           `json:"holder"`
	Heir     string           `json:"heir"`
	Renewals uint64           `json:"renewals"`
	TTL      int64            `json:"ttl_us"`
	Until    int64            `json:"until_us"` // 0: released
}

// Record returns the row as a lease.Record.
func (r Row) Record(name string, now int64) lease.Record {
	return lease.Record{
		Name: name, Term: r.Term, Holder: r.Holder, Heir: r.Heir, Renewals: r.Renewals,
		TTL: duration(r.TTL), Left: duration(r.Until - now), Released: r.Until == 0,
	}
}

// Acquire implements lease.Store.Acquire.
func (r Row) Acquire(c lease.Claim, now int64) (Row, bool) {
	if r.Term != c.Term {
		return r, false
	}
	free := r.Until == 0 || r.Holder == c.Holder
	if c.Watched {
		free = free || r.Renewals == c.Renewals
	} else {
		free = free || r.Until <= now
	}
	if !free {
		return r, false
	}
	ttl := c.TTL.Microseconds()
	return Row{Term: r.Term + 1, Holder: c.Holder, TTL: ttl, Until: now + ttl}, true
}

// Renew implements lease.Store.Renew.
func (r Row) Renew(holder string, term memberstate.Term, now int64) (Row, bool) {
	if r.Holder != holder || r.Term != term {
		return r, false
	}
	r.Renewals++
	r.Until = now + r.TTL
	return r, true
}

// Release implements lease.Store.Release.
func (r Row) Release(holder string, term memberstate.Term) (Row, bool) {
	held := r.Holder == holder && r.Term == term
	forced := r.Holder == "" && r.Term == term+1
	if !held && !forced {
		return r, false
	}
	r.Holder, r.Until = "", 0
	return r, true
}

// Force implements lease.Store.Force.
func (r Row) Force(heir string) Row {
	r.Term++
	r.Holder, r.Heir, r.Renewals = "", heir, 0
	return r
}

func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
