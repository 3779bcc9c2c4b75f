// Package sqllease keeps leases in a table of a database: PostgreSQL (11 or
// later), MariaDB (10.6 or later) or MySQL (8.0.4 or later, untested), or SQLite (3.42
// or later), through database/sql and whatever driver you use.
//
//	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: sqllease.PostgreSQL})
//	...
//	err = store.EnsureSchema(ctx)
//
// Every step is one statement that commits by itself. All time is the
// database's: microseconds since 1970 in UTC, as integers, so that time zones,
// daylight saving and rounding to seconds do not matter (SQLite's clock has
// milliseconds). The primary key is the lease's name; there is no counter except
// terms. A renewal that does not keep all leases takes a few more statements, to distinguish
// lost leases from locked ones. Every update changes the row that it finds, so it makes no difference
// whether a driver counts rows that were found or rows that were changed
// (clientFoundRows of MySQL's driver).
//
// Package pgxwake, a module of its own, is a [lease.Waker] for PostgreSQL.
//
// # Guarded writes
//
// The term is a fencing token: a write under a lease must not be done when a
// later term has begun. There are two ways to ensure that.
//
// If the target of the write can keep the token, let it do so, and refuse lower ones.
// This is always right, in this database or in any other:
//
//	UPDATE orders SET state = $1, term = $2 WHERE id = $3 AND term <= $2
//
// If it cannot, and is in the same database as the leases, check the lease in
// the same statement; see [Store.Guard]:
//
//	UPDATE orders SET state = $1 WHERE id = $2 AND EXISTS (...)
//
// In both, the term is over if no row changed. The second leaves a gap as
// long as the statement, because it sees the lease as it was when the statement began.
// To close the gap, read the lease's row FOR SHARE in a transaction
// with the write, and commit at once, because until then the lease cannot be
// renewed. (Other leases can: a renewal leaves out what is locked.)
//
// # What the database must be
//
// The primary. A replica that is behind shows old leases, which does no harm, but
// a replica that is promoted without the last commits has forgotten the last
// terms: use synchronous replication, or guard writes in the database that was
// promoted with it. A crash of the machine may do the same with PostgreSQL's
// synchronous_commit = off, and with InnoDB's innodb_flush_log_at_trx_commit other than 1.
//
// It must let statements commit by themselves. With autocommit=0 in the data source name
// of MySQL's driver other candidates would not see what one does, and would wait for its
// locks; EnsureSchema refuses that.
//
// With SQLite, set a busy timeout, or simultaneous writers fail instead of waiting.
package sqllease
