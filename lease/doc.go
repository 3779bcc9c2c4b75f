// Package lease elects a leader by a lease in a database. Use it if you have a
// database, and no three nodes that could vote.
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
// An Elector is an elector.Election, like the one that votes, so code written
// for that interface runs on both. Stores are in packages mem, sqllease (PostgreSQL, MySQL,
// MariaDB, SQLite) and kv (etcd, Redis); package leasetest is the acceptance test for others.
// Package protocol decides everything, without clock or database, so that package
// simulation/leases can run it in a hostile world.
//
// # What is guaranteed
//
// The term is a fencing token. It grows by one with every acquisition, also by the
// same candidate, and never falls; a term is led at most once. A candidate
// learns its term from the statement that won it.
//
// A candidate leads no longer than its lease lasts. It counts that on
// its own monotonic clock, from before the statement was sent, less
// Timing.DriftMargin. A timer then ends the context of Lead, even if the driver
// hangs. A renewal that finds the lease gone ends it at once; one that fails or
// is not answered in time changes nothing, and is tried again.
//
// So no two candidates hold a lease at the same time, as long as the store keeps its
// contract, no clock runs faster or slower than another by more than the margin
// in one TTL, and the clock of the database does not step. With KeeperConfig.Strict
// the clock of the database need not be right.
//
// Lead has returned before the lease is released, and before this candidate's
// next Lead is called. A Lead that does not return when its context ends cannot
// keep the lease from others, because it runs out. A Lead that ends its goroutine by
// runtime.Goexit, as the FailNow of a test does, counts as returned. A Lead that panics
// ends the process, and its lease runs out.
//
// A release that fails is tried again until the lease has run out. Until then others
// wait, and [Elector.Resign] returns the error. A candidate that could not release its
// lease stands back from it as from another candidate's.
//
// A crashed leader is replaced within a TTL and one poll of its last
// renewal, or two polls if candidates are strict, plus the difference in clock rates and the
// time of the statements: the look that came just too early, the next one, and the claim; one
// more look if strict. A leader that resigns or leaves is replaced at once where
// candidates can be woken (see [Waker]), and at the next poll elsewhere.
//
// # What is not guaranteed, and what to do
//
//   - A process that stands still between looking at its lease and acting on it
//     (a pause of the garbage collector, a stopped container, a machine that sleeps, whose
//     monotonic clock sleeps too) may act when another leads. Fence every write
//     with the term: let the target of the write remember the largest term that it has
//     seen and refuse smaller ones. Package sqllease has a condition for writes in
//     the same database.
//   - A database that loses what it has acknowledged gives a term out twice: a
//     replica promoted without the last commits, or a restored backup.
//     Use synchronous replication, and raise all terms after a restore.
//     A candidate that sees a term fall leaves the lease alone and says so, once.
//   - Reads from a replica that is behind only delay a takeover, but only the primary may
//     be written.
//   - Without the database there is no leader. Leases that cannot be renewed run
//     out, and are taken again when the database is back.
//   - A process that was cloned with its memory has a twin with the same identity.
//
// # What it costs
//
// A keeper renews all its leases together and looks at them together, up to 10,000
// in one call of the store. A look only reads. A candidate writes only to claim a lease that
// it has seen free. Candidates look at random moments, so that they do not all
// come at once when a lease runs out.
//
// Over SQL a call is one statement;
// a renewal that does not find all leases as they were takes a few more, to learn which
// are lost. Over a key-value store a renewal takes three round trips or more (see
// package kv). Leases whose renewal was not answered, or whose records somebody else keeps
// locked, are renewed again sooner, and the others do not wait for these calls.
package lease
