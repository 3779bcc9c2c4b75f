// The contract between an elector and the database.

package lease

import (
	"context"

	"github.com/hustings/hustings/lease/protocol"
)

// MaxName is the largest length of a lease's name in bytes; a store must keep and compare
// all of them. The names of candidates are shorter, see [MaxSelf].
const MaxName = 255

// MaxSelf is the largest length of a candidate's readable name in bytes.
const MaxSelf = 128

// Store keeps leases in a database. It is safe for concurrent use; package leasetest is
// the acceptance test for any implementation.
//
// Every lease has one record. It is never deleted, and its term never falls, so a term
// is a fencing token for ever. A method changes a record in one atomic step, and all
// users of the database see these steps in the same order.
//
// Time in a store is the database's: a store compares times in the database, with the
// database's own clock, in UTC and as finely as the database can, and never with a time
// that a caller has sent. Callers send and receive durations. A step reads the clock
// after it has locked the record. If it read the clock first, and then waited while a
// later renewal overtook it, it would make the lease expire sooner than its holder
// believes.
//
// Names and holders are UTF-8 texts that are compared byte by byte: case, accents and
// trailing blanks are significant, and nothing is truncated.
//
// After an error it is not known whether the step was taken, or will be: a statement may
// be executed late, or twice. Every step is safe then, because it takes effect only in
// the term that it names. A method returns soon after its context has ended.
type Store interface {
	// Read returns the records of the named leases that have one, in any order,
	// for up to 10,000 names. It changes nothing.
	Read(ctx context.Context, names []string) ([]Record, error)
	// Acquire makes the claim's candidate the holder of the lease in the term
	// claim.Term+1, with no renewals and no heir, and returns true, if the record
	// still is as the candidate saw it; see Claim. Otherwise it changes nothing
	// and returns false. The lease expires claim.TTL later.
	Acquire(ctx context.Context, claim Claim) (won bool, err error)
	// Renew extends the leases that the holder still holds in the given terms,
	// even if they have expired meanwhile: each expires its TTL from now, and
	// counts at least one more renewal. It returns their names, in any order; the
	// others are lost. The cost to the database should hardly grow with their
	// number, up to 10,000: one statement is best. If records can be locked by
	// others, Renew waits for none of them: it renews the rest, and returns a
	// LockedError.
	Renew(ctx context.Context, holder string, held []Held) (kept []string, err error)
	// Release frees the lease, if the holder still holds it in the term, or if
	// Force has taken it from this holder and no candidate has acquired it since.
	// The term and the heir stay.
	Release(ctx context.Context, holder string, held Held) error
	// Force ends the holder's term: the term grows by one, and the lease has no
	// holder. Others wait until the lease expires or its old holder, which learns
	// of this by its next renewal, has released it. The heir is the name of the
	// candidate that may take it first; it may be empty.
	Force(ctx context.Context, name, heir string) error
}

// The records of a store, and its arguments. The fields are explained in package protocol.
type (
	// Record is a lease in a store.
	Record = protocol.Record
	// Claim is a candidate's attempt at a lease.
	Claim = protocol.Claim
	// Held is a lease and the term in which a candidate holds it.
	Held = protocol.Held
	// LockedError is the error of a Renew that left out leases, because their records
	// were locked by others.
	LockedError = protocol.LockedError
)

// LeftUnknown is the Left of a lease that has not expired, if the store knows no more.
const LeftUnknown = protocol.LeftUnknown

// Lister is a store that can list its leases. Elections do not need that, but operators
// do, because they may not know all names.
type Lister interface {
	// Names returns the names of all leases that have a record, in any order.
	Names(ctx context.Context) ([]string, error)
}

// Waker wakes candidates when a lease is released, so that they need not wait for their
// next poll. A store may be a Waker; otherwise KeeperConfig can name one. A wake-up is a
// hint: it may be wrong, late, or missing.
type Waker interface {
	// Wake tells all listeners that the lease was released.
	Wake(ctx context.Context, name string) error
	// Listen calls woken with the names of released leases, until its context
	// ends or it fails; its caller tries again after an error. The function woken
	// returns at once and is safe for concurrent use.
	Listen(ctx context.Context, woken func(name string)) error
}
