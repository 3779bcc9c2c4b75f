// MySQL and MariaDB.

package sqllease

// Texts are binary, because every collation takes some texts for equal, at least those that
// differ in trailing blanks.
//
// UTC_TIMESTAMP does not depend on time zones or daylight saving, but it is the time at
// which the statement began, and the statement may have waited since. SYSDATE is the present
// time, but in the session's time zone; its difference to NOW is the wait. A change of
// daylight saving during the statement would look like a wait, so whole half hours are
// subtracted, because time zones differ by multiples of these.
//
// A server with --sysdate-is-now has only the first clock. A claim that has waited then only
// expires sooner, and its candidate counts from before it was sent anyway. A renewal waits
// for no record; but a renewal that waited for the table, because of LOCK TABLES or a change
// of the schema, could shorten the lease after a later one that has overtaken it. So that
// option must be off, or the table must not be locked or altered while it is in use.
//
// A renewal first locks the records that it can lock at once, in the derived table: DISTINCT
// keeps that from being merged, and STRAIGHT_JOIN with the primary key looks records up one
// by one, because a scan of the table would also lock the records of others.
var mysql = dialect{
	schema: `CREATE TABLE IF NOT EXISTS {table} (
	name     VARBINARY(255) NOT NULL PRIMARY KEY,
	term     BIGINT NOT NULL,
	holder   VARBINARY(255) NOT NULL,
	heir     VARBINARY(255) NOT NULL,
	renewals BIGINT NOT NULL,
	ttl_us   BIGINT NOT NULL,
	until_us BIGINT NOT NULL
) ENGINE = InnoDB`,
	now: `(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))
+ TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) - 1800000000 * ROUND(TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) / 1800000000))`,
	commits: `SELECT @@autocommit`,
	read: `SELECT {columns} FROM JSON_TABLE(:names, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) AS h
JOIN {table} AS l ON l.name = CAST(h.name AS BINARY)`,
	insert: `INSERT IGNORE INTO {table} (name, term, holder, heir, renewals, ttl_us, until_us) VALUES (:name, 0, '', '', 0, 0, 0)`,
	renew: `UPDATE (SELECT DISTINCT l.name FROM ` + mysqlHeld + ` FOR UPDATE SKIP LOCKED) AS free
STRAIGHT_JOIN {table} AS l FORCE INDEX (PRIMARY) ON l.name = free.name
SET l.renewals = l.renewals + 1, l.until_us = {now} + l.ttl_us`,
	still:  `SELECT l.name FROM ` + mysqlHeld,
	quotes: "`",
}

// mysqlHeld selects the records of :held that :holder holds.
const mysqlHeld = `JSON_TABLE(:held, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.name', term BIGINT PATH '$.term')) AS h
STRAIGHT_JOIN {table} AS l FORCE INDEX (PRIMARY) ON l.name = CAST(h.name AS BINARY) AND l.term = h.term WHERE l.holder = :holder`
