// The record that a store keeps of a lease, and the arguments of its methods. The contract of
// the store itself is lease.Store.

package protocol

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Record is a lease in a store.
type Record struct {
	Name string
	// Term grows by one whenever the lease is acquired, even by the same holder, and
	// when it is forced. It is 0 if neither has happened.
	Term memberstate.Term
	// Holder holds the lease, or did until it expired. Empty: it was released or forced.
	Holder string
	// Heir is the readable name of the candidate that may take the lease first.
	Heir string
	// Renewals counts the renewals in the term.
	Renewals uint64
	// TTL is how long the lease lasts after a renewal.
	TTL time.Duration
	// Left is how long it still lasts, by the database's clock. If this is not
	// positive the lease has expired. It is LeftUnknown if the lease lasts and the
	// store does not know how long.
	Left time.Duration
	// Released says that candidates need not wait until the lease expires.
	Released bool
}

// String returns the record in one line, as in
//
//	"reports": term 7, holder "host-1", 12 renewals, 3s left of 5s
func (r Record) String() string {
	text := fmt.Sprintf("%q: term %d", r.Name, r.Term)
	if r.Holder != "" {
		text += fmt.Sprintf(", holder %q, %d renewals", r.Holder, r.Renewals)
	}
	if r.Heir != "" {
		text += fmt.Sprintf(", heir %q", r.Heir)
	}
	switch {
	case r.Released:
		return text + ", released"
	case r.Left == LeftUnknown:
		return text + fmt.Sprintf(", lasts %v", r.TTL)
	case r.Left > 0:
		return text + fmt.Sprintf(", %v left of %v", r.Left, r.TTL)
	}
	return text + fmt.Sprintf(", ran out %v ago", -r.Left)
}

// LeftUnknown is the Left of a lease that has not expired, if the store knows no more.
const LeftUnknown time.Duration = 1

// Claim is a candidate's attempt at a lease. It succeeds if the record has the
// Term that the claim has, and
//
//   - the candidate is itself the holder, so that a candidate whose winning claim
//     was not answered can have the lease at once, in a new term;
//   - or the lease was released, or there is no record of it;
//   - or, if not Watched, it has expired by the database's clock;
//   - or, if Watched, the record has the Renewals that the claim has.
type Claim struct {
	Name string
	// Holder is the candidate's identity.
	Holder string
	TTL    time.Duration
	// Term and Renewals are those of the record that the candidate saw; zero if it
	// saw none.
	Term     memberstate.Term
	Renewals uint64
	// Watched says that the candidate has itself seen the two unchanged for a TTL,
	// so that the database's clock is not needed.
	Watched bool
}

// String returns the claim in one line, as in
//
//	"reports": "host-1" for 5s, over term 7 with 12 renewals
func (c Claim) String() string {
	text := fmt.Sprintf("%q: %q for %v, over term %d with %d renewals", c.Name, c.Holder, c.TTL, c.Term, c.Renewals)
	if c.Watched {
		text += ", watched"
	}
	return text
}

// Held is a lease and the term in which a candidate holds it.
type Held struct {
	Name string
	Term memberstate.Term
}

// String returns the lease and its term, as in
//
//	"reports" in term 7
func (h Held) String() string { return fmt.Sprintf("%q in term %d", h.Name, h.Term) }

// LockedError is the error of a Renew that left out leases, because their records were locked,
// for example by a transaction that has not ended. The state of these is not known. The
// results for the other leases are valid.
type LockedError struct{ Names []string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the records of %d leases are locked by others, %q among them", len(e.Names), e.Names[:min(3, len(e.Names))])
}
