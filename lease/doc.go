// Package lease elects a leader by a lease in a database, for services that have
// a database and no second and third node to vote.
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
// An Elector is an elector.Election, as the one that votes is: what is written
// against that runs on both. All that is decided package protocol decides, which has
// neither clock nor database, so that package simulation/leases can run it in a hostile
// world. Stores are in packages mem, sqllease (PostgreSQL, MySQL, MariaDB, SQLite)
// and kv (etcd, Redis); package leasetest is the acceptance test for others.
//
// # What is guaranteed
//
// The term is a fencing token. It grows by one with every acquisition, by the
// same candidate too, and never falls; a term is led at most once. A candidate
// knows its term from the statement that won it.
//
// A candidate leads no longer than its lease lasts. How long that is it counts on
// its own monotonic clock, from before the statement was sent, less
// Timing.DriftMargin. A timer ends the context of Lead then, even if the driver
// hangs. A renewal that finds the lease gone ends it at once; one that fails or
// does not come back in time changes nothing, and is tried again.
//
// So no two candidates hold a lease at one time, as long as the store keeps its
// contract, no clock runs faster or slower than another by more than the margin
// in one TTL, and the clock of the database does not step. With KeeperConfig.Strict
// the clock of the database may do what it likes.
//
// Lead has returned before the lease is released, and before this candidate's
// next Lead is called. A Lead that does not return when its context ends cannot
// keep others from the lease: it runs out. One that ends its goroutine by
// runtime.Goexit, as the FailNow of a test does, counts as returned. One that panics
// ends the process, and its lease runs out.
//
// A release that fails is tried again until the lease has run out; so long others
// wait, and [Elector.Resign] returns the error. Whoever could not release its lease
// stands back from it as from another's.
//
// A leader that has crashed is replaced within a TTL and one poll of its last
// renewal, two polls if candidates are strict. To that come the statements on the
// way (the look that came just too early, the next one, and the claim; one look
// more for the strict), and what the rates of clocks differ by. One that resigns
// or leaves is replaced at once where candidates can be woken (see [Waker]), and at
// the next poll elsewhere.
//
// # What is not, and what to do
//
//   - A process that stands still between looking at its lease and acting on it
//     (a pause of the collector, a stopped container, a machine that sleeps, whose
//     monotonic clock sleeps too) may act when another leads. Fence every write
//     with the term: have what is written remember the largest term that it has
//     seen and refuse a smaller one. Package sqllease has a condition for writes in
//     the same database.
//   - A database that loses what it has acknowledged gives a term out twice: a
//     replica that was promoted without the last commits, a backup that was
//     restored. Use synchronous replication, and raise all terms after a restore.
//     A candidate that sees a term fall leaves the lease alone and says so, once.
//   - A replica that is behind is read at the price of a takeover that is late,
//     no more; but only the primary may be written.
//   - Without the database there is no leader. Leases that cannot be renewed run
//     out, and are taken again when the database is back.
//   - A process that was cloned with its memory has a twin with its identity.
//
// # What it costs
//
// All leases of a keeper are renewed together and looked at together, up to 10,000
// by one call of the store, and a look only reads. Over SQL a call is one statement;
// a renewal that does not find all leases as they were takes some more, to tell which
// are lost. Over a key-value store a renewal takes three round trips or more (see
// package kv). Leases whose renewal was not answered, or whose records somebody keeps
// locked, are asked for again sooner, and the others wait for none of these calls. A candidate writes when it claims a lease, and
// that only after it has seen it free. Candidates look at random moments, so that a
// crowd does not come all at once when a lease runs out.
package lease
