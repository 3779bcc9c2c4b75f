// Package sqllease keeps leases in a table of a database: PostgreSQL (11 or
// later), MariaDB (10.6 or later) or MySQL (8.0.4 or later, untested), or SQLite (3.42
// or later), through database/sql and whatever driver you use.
//
//	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: sqllease.PostgreSQL})
//	...
//	err = store.EnsureSchema(ctx)
//
// Every step is one statement that commits by itself, and all time is the
// database's: microseconds since 1970 in UTC, as integers, so that no time zone,
// daylight saving or rounding to seconds comes in (SQLite's clock has
// milliseconds). The primary key is the lease's name; nothing is counted up but
// terms. A renewal that does not keep all leases takes some statements more, to tell which
// are lost from which are locked. Every update changes the row that it finds, so it makes no difference
// whether a driver counts rows that were found or rows that were changed
// (clientFoundRows of MySQL's).
//
// Package pgxwake, a module of its own, is a [lease.Waker] for PostgreSQL.
//
// # Guarded writes
//
// The term is a fencing token: a write under a lease must not be done when a
// later term has begun. There are two ways.
//
// If what is written can keep the token, have it do so, and refuse a lower one.
// This is always right, in this database or in any other:
//
//	UPDATE orders SET state = $1, term = $2 WHERE id = $3 AND term <= $2
//
// If it cannot, and is in the same database as the leases, ask for the lease in
// the same statement; see [Store.Guard]:
//
//	UPDATE orders SET state = $1 WHERE id = $2 AND EXISTS (...)
//
// In both, no row changed means that the term is over. The second leaves a gap as
// long as the statement: it sees the lease as it was when the statement began.
// Who cannot live with this reads the lease's row FOR SHARE in a transaction
// with the write, and commits at once, for until then the lease cannot be
// renewed. (Other leases can: a renewal leaves out what is locked.)
//
// # What the database must be
//
// The primary. A replica that is behind shows old leases, which does no harm, but
// a replica that is promoted without the last commits has forgotten the last
// terms: use synchronous replication, or guard writes in the database that was
// promoted with it. The same goes for PostgreSQL's synchronous_commit = off and
// InnoDB's innodb_flush_log_at_trx_commit other than 1 after a crash of the
// machine.
//
// It must let statements commit by themselves. With autocommit=0 in the data source name
// of MySQL's driver nobody would see what a candidate does, and all would wait for its
// locks; EnsureSchema refuses that.
//
// With SQLite, set a busy timeout, or writers that meet fail instead of waiting.
package sqllease
