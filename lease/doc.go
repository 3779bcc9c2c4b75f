// Package lease elects a leader through a lease in a database, for services that have
// a database but not three nodes that could vote.
//
// A [Keeper] is one candidate with its leases in one [Store]; an [Elector] is one
// of these leases. [New] makes both, for the common case:
//
//	candidate := lease.KeeperConfig{Self: hostname, Store: store, Timing: lease.DefaultTiming()}
//	el, err := lease.New(candidate, lease.GroupConfig{
//		Name: "reports",
//		// Lead serves until ctx ends; term fences every write.
//		Lead: func(ctx context.Context, term memberstate.Term) error { ... },
//	})
//	err = el.Run(ctx)
//
// An Elector is an elector.Election, like an elector that votes, so code for that
// interface runs on both. Package protocol makes all decisions. It has neither clock
// nor database, so that package simulation/leases can run it in a hostile world.
// Stores are in packages mem, sqllease (PostgreSQL, MySQL, MariaDB, SQLite) and kv
// (etcd, Redis); package leasetest is the acceptance test for other stores.
//
// # Guarantees
//
// The term is a fencing token. It grows by one with every acquisition, even by the
// same candidate, and never falls; at most one candidate leads in a term, and only
// once. A candidate learns its term from the statement that won it.
//
// A candidate leads no longer than its lease lasts. It measures this on its own
// monotonic clock, from before the statement was sent, and subtracts
// Timing.DriftMargin. A timer then ends the context of Lead, even if the driver
// hangs. A renewal that finds the lease gone ends it at once. A renewal that fails,
// or is not answered in time, changes nothing and is repeated.
//
// So no two candidates hold a lease at one time, as long as the store keeps its
// contract, no two clocks differ by more than the margin in one TTL, and the
// database's clock does not step. With KeeperConfig.Strict the database's clock does
// not matter.
//
// Lead has returned before the lease is released, and before this candidate's next
// Lead is called. A Lead that does not return when its context ends cannot keep others
// from the lease, because the lease expires. A Lead that ends its goroutine by
// runtime.Goexit, as FailNow does in a test, counts as returned. A Lead that panics
// ends the process, and its lease expires.
//
// A release that fails is repeated until the lease has expired. Others have to wait
// until then, and [Elector.Resign] returns the error. A candidate that could not
// release its lease treats it afterwards as if another held it.
//
// A crashed leader is replaced within a TTL and one poll of its last renewal, or two
// polls if candidates are strict. Add the statements on the way (the read that came
// just too early, the next one, and the claim; one more read if strict) and the
// difference between the clocks' rates. A leader that resigns or leaves is replaced
// at once if candidates can be woken (see [Waker]), and at the next poll otherwise.
//
// # A service that cannot work
//
// Renewals need neither the service nor its disk, so a holder whose service hangs would
// renew its lease for ever, and every client would wait. With [GroupConfig.Vouch] the
// service vouches for itself: it calls [Elector.Alive] whenever it has done useful work,
// or answers [GroupConfig.Healthy]. If its last word is older than Vouch, or Healthy
// fails, Lead's context ends, and the lease is released when Lead has returned. A process
// that knows in one place which of its services cannot work sets [KeeperConfig.Stalled]
// instead: one function for all its leases.
//
// The database does not say which candidates are able. So one that is not leaves a free
// lease to others for four polls, and claims it if nobody else has. Then it keeps the
// lease for four TTLs before it gives it up once more, and twice as long each time, up
// to 128 TTLs. A group in which nobody is able has a leader all the same, and changes it
// ever more rarely. A candidate is able again when nothing has been wrong for a TTL;
// that, too, doubles whenever it fails again.
//
//   - Vouch for what clients wait for: a write that has reached the disk, a finished
//     piece of work. An idle service must vouch, too.
//   - Never vouch by a request that needs a leader: all candidates would be taken for
//     not able at the one moment when one has to take the lease.
//   - The database needs no word. If it hangs, leases expire.
//
// A Lead that has not returned a TTL after its context ended makes its candidate not
// able, even without Vouch. [Elector.Electable] does so by order. Status says why a
// candidate is not able.
//
// # Limits, and remedies
//
//   - A process that pauses between checking its lease and acting on it (garbage
//     collection, a stopped container, a sleeping machine, whose monotonic clock
//     sleeps too) may act while another leads. Fence every write with the term: the
//     receiver remembers the largest term that it has seen and refuses a smaller
//     one. Package sqllease has a condition for writes in the same database.
//   - A database that loses acknowledged writes gives out a term twice: for example
//     a replica promoted without the last commits, or a restored backup. Use
//     synchronous replication, and raise all terms after a restore. A candidate that
//     sees a term fall leaves the lease alone and logs that once.
//   - Reading from a replica that lags only delays takeovers; but all writes must go
//     to the primary.
//   - Without the database there is no leader. Leases that cannot be renewed expire,
//     and are taken again when the database is back.
//   - A process that is cloned with its memory shares its identity with the clone.
//
// # Costs
//
// All leases of a keeper are renewed together and polled together, up to 10,000 by one
// call of the store, and a poll only reads. Over SQL a call is one statement; a renewal
// that does not keep all leases takes some more, to find out which are lost. Over a
// key-value store a renewal takes three or more round trips (see package kv). If a
// renewal was not answered, or a lease's record is locked by another, it is repeated
// sooner, and the other leases wait for none of these calls. A candidate writes only to
// claim a lease, after it has seen it free. Candidates poll at random times, so that
// they do not all come at once when a lease expires.
package lease
