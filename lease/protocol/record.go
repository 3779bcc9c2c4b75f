// What the store keeps of a lease, and what it is asked. The contract of the store itself
// is lease.Store.

package protocol

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// Record is a lease as a store has it.
type Record struct {
	Name string
	// Term grows by one whenever the lease is acquired, by the same holder too,
	// and when it is forced. It is 0 if neither has happened.
	Term memberstate.Term
	// Holder holds the lease, or did until it ran out. Empty: nobody does.
	Holder string
	// Heir is the candidate, by its readable name, that was named to be next.
	Heir string
	// Renewals counts the renewals in the term.
	Renewals uint64
	// TTL is how long the lease lasts after a renewal.
	TTL time.Duration
	// Left is how long it lasts from now, by the database's clock. It has run
	// out if this is not positive. It is LeftUnknown if it lasts, and the store
	// cannot tell how long.
	Left time.Duration
	// Released: nobody has to wait until it runs out.
	Released bool
}

// String is the record in one line, as in
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

// LeftUnknown is the Left of a lease that has not run out, where no more is known.
const LeftUnknown time.Duration = 1

// Claim is a candidate's attempt at a lease. It succeeds if the record has the
// Term that the claim has, and
//
//   - the candidate is itself the holder; so one that was never told that it
//     won can have the lease at once, in a new term;
//   - or the lease was released, or there is no record of it;
//   - or, if not Watched, it has run out by the database's clock;
//   - or, if Watched, the record has the Renewals that the claim has.
type Claim struct {
	Name string
	// Holder is the candidate's identity.
	Holder string
	TTL    time.Duration
	// Term and Renewals are those of the record as the candidate saw it; zero if
	// it saw none.
	Term     memberstate.Term
	Renewals uint64
	// Watched says that the candidate has itself seen the two stand still for
	// as long as the lease lasts, so that the database's clock is not needed.
	Watched bool
}

// String is the claim in one line, as in
//
//	"reports": "host-1" for 5s, over term 7 with 12 renewals
func (c Claim) String() string {
	text := fmt.Sprintf("%q: %q for %v, over term %d with %d renewals", c.Name, c.Holder, c.TTL, c.Term, c.Renewals)
	if c.Watched {
		text += ", watched"
	}
	return text
}

// Held is a lease that somebody holds in a term.
type Held struct {
	Name string
	Term memberstate.Term
}

// String is the lease and its term, as in
//
//	"reports" in term 7
func (h Held) String() string { return fmt.Sprintf("%q in term %d", h.Name, h.Term) }

// LockedError is the error of a Renew that left out leases whose records somebody else
// keeps locked: a transaction that has not ended, for example. Of these nothing is
// known. What the rest came to is told as without an error.
type LockedError struct{ Names []string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("somebody else keeps the records of %d leases locked, %q among them", len(e.Names), e.Names[:min(3, len(e.Names))])
}
