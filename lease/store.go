// The contract between an elector and the database.

package lease

import (
	"context"

	"github.com/hustings/hustings/lease/protocol"
)

// MaxName is how many bytes the name of a lease may have; a store must compare
// and keep all of them. The names of candidates are shorter, see [MaxSelf].
const MaxName = 255

// MaxSelf is how many bytes the readable name of a candidate may have.
const MaxSelf = 128

// Store keeps leases in a database. It is safe for concurrent use; package
// leasetest is the acceptance test for any implementation.
//
// For every lease there is one record. It is never deleted, and its term never
// falls, so a term is a fencing token for ever. What a method does to a record it
// does in one atomic step, in an order that all users of the database agree on.
//
// Time in a store is the database's: whatever it compares, it compares with the
// database's own clock, in the database, in UTC and as finely as the database
// can, and never with a time that a caller has sent. Callers send durations and
// are told durations. A step looks at the clock when it has the record, not before:
// one that has looked, and then waits while a later renewal overtakes it, would have
// the lease run out sooner than its holder was told.
//
// Names and holders are text in UTF-8 that is compared byte by byte: upper and
// lower case, accents and trailing blanks make a difference, and nothing is cut
// off.
//
// An error means that it is not known whether the step was taken, or will be: a
// statement may be carried out late, or twice. Every step is safe then, for it
// takes place only in the term that it names. A method returns soon after its
// context has ended.
type Store interface {
	// Read returns the records of those of the named leases that have one, in
	// any order, for up to 10,000 names. It changes nothing.
	Read(ctx context.Context, names []string) ([]Record, error)
	// Acquire makes the claim's candidate the holder of the lease in the term
	// claim.Term+1, with no renewals and no heir, and returns true, if the record
	// still is as the claim says that it was seen; see Claim. Otherwise it
	// changes nothing and returns false. The lease runs out claim.TTL later.
	Acquire(ctx context.Context, claim Claim) (won bool, err error)
	// Renew has those of the leases run out anew, each its TTL from now, and
	// counts a renewal, or some, that the holder still holds in the term; also if they
	// have run out meanwhile. It returns their names, in any order: what is
	// missing is lost. What it costs the database should hardly grow with their
	// number, up to 10,000: one statement is best. Where somebody else can keep records
	// locked it waits for none of them: it renews the others, and returns a LockedError.
	Renew(ctx context.Context, holder string, held []Held) (kept []string, err error)
	// Release sets the lease free, if the holder still holds it in the term, or
	// if it was taken from this holder by Force and nobody has it yet. The term
	// and the heir stay.
	Release(ctx context.Context, holder string, held Held) error
	// Force ends the term of whoever holds the lease: the term grows by one, and
	// nobody holds it. Others wait until the lease runs out or its old holder,
	// who learns of it by its next renewal, has released it. The heir is the
	// name of the candidate that goes first then; it may be empty.
	Force(ctx context.Context, name, heir string) error
}

// What a store keeps and is asked. The fields are explained in package protocol.
type (
	// Record is a lease as a store has it.
	Record = protocol.Record
	// Claim is a candidate's attempt at a lease.
	Claim = protocol.Claim
	// Held is a lease that somebody holds in a term.
	Held = protocol.Held
	// LockedError is the error of a Renew that left out leases whose records somebody else
	// keeps locked.
	LockedError = protocol.LockedError
)

// LeftUnknown is the Left of a lease that has not run out, where no more is known.
const LeftUnknown = protocol.LeftUnknown

// Lister is a store that can say which leases there are. An election does not need
// that; an operator does, who has not all their names.
type Lister interface {
	// Names returns the names of all leases that have a record, in any order.
	Names(ctx context.Context) ([]string, error)
}

// Waker tells candidates of leases that were set free, so that they need not wait
// for their next look. A store may be one; for others a keeper can be given one.
// What it tells is a hint: it may tell too much, too little, or late.
type Waker interface {
	// Wake tells whoever listens that the lease was released.
	Wake(ctx context.Context, name string) error
	// Listen calls woken with the names of released leases, until its context
	// ends or it cannot go on; its caller tries again after an error. The
	// function returns at once and is safe for concurrent use.
	Listen(ctx context.Context, woken func(name string)) error
}
