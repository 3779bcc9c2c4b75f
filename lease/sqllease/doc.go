// Package sqllease keeps leases in a table of a database: PostgreSQL (11 or
// later), MariaDB (10.6 or later), MySQL (8.0.4 or later, untested) or SQLite (3.42 or
// later), through database/sql and a driver of your choice.
//
//	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: sqllease.PostgreSQL})
//	...
//	err = store.EnsureSchema(ctx)
//
// Every step is one statement that commits by itself. All time is the database's:
// microseconds since 1970 in UTC, as integers, so that time zones, daylight saving and
// rounding to seconds play no part (SQLite's clock has milliseconds). The primary key is
// the lease's name; there are no generated ids. A renewal that does not keep all leases takes some more statements, to
// tell lost leases from locked ones. Every update changes the row that it finds, so it does
// not matter whether a driver counts found or changed rows (clientFoundRows in MySQL's).
//
// Package pgxwake, a module of its own, is a [lease.Waker] for PostgreSQL.
//
// # Guarded writes
//
// The term is a fencing token: a write under a lease must fail once a later term has
// begun. There are two ways.
//
// If the written data can keep the token, store it there, and refuse a lower one. This is
// always right, in this database or in any other:
//
//	UPDATE orders SET state = $1, term = $2 WHERE id = $3 AND term <= $2
//
// If it cannot, but is in the same database as the leases, check the lease in the same
// statement; see [Store.Guard]:
//
//	UPDATE orders SET state = $1 WHERE id = $2 AND EXISTS (...)
//
// In both, if no row has changed, the term is over. The second way leaves a gap as long as
// the statement, because it sees the lease as it was when the statement began. To close
// the gap, read the lease's row FOR SHARE in a transaction with the write, and commit soon,
// because until then this lease cannot be renewed. (Other leases can, because a renewal
// leaves out locked rows.)
//
// # Requirements of the database
//
// Use the primary. A replica that lags shows old leases, which does no harm. But a replica
// that is promoted without the last commits has forgotten the last terms: use synchronous
// replication, or guard only writes in the database that is promoted with it. The same
// applies, after a crash of the machine, to PostgreSQL's synchronous_commit = off and to
// InnoDB's innodb_flush_log_at_trx_commit other than 1.
//
// Statements must commit by themselves. With autocommit=0 in the data source name of
// MySQL's driver a candidate's changes would be invisible to others, and its locks would
// block them; EnsureSchema refuses that.
//
// With SQLite, set a busy timeout, because otherwise concurrent writers fail instead of
// waiting.
package sqllease
