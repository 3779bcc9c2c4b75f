// MySQL and MariaDB.

package sqllease

// Texts are binary, for every collation takes some text for some other, if only
// with blanks behind it. UTC_TIMESTAMP is the same in every time zone and on every
// day of the year, but it is when the statement began, which may have waited since.
// SYSDATE is now, but in the session's time zone; so it tells how long ago that was. An
// hour that comes twice, or never, would be taken for a wait, so whole half hours, of
// which time zones are made, do not count.
//
// A server with --sysdate-is-now has only the first of these clocks. A claim that waited
// then just runs out sooner, and its candidate counts from before it was sent anyway. A
// renewal waits for no record; but one that waited for the table, because of LOCK TABLES
// or a change of the schema, could take time back from a later one that has overtaken it.
// So that option must be off, or tables be left alone while they are in use.
//
// A renewal first locks what it can have at once. The derived table is for that: DISTINCT
// keeps it from being merged, and STRAIGHT_JOIN with the primary key has records looked up one by
// one, for a scan of the table would lock those of others, too.
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

// mysqlHeld are the records of :held that :holder holds.
const mysqlHeld = `JSON_TABLE(:held, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.name', term BIGINT PATH '$.term')) AS h
STRAIGHT_JOIN {table} AS l FORCE INDEX (PRIMARY) ON l.name = CAST(h.name AS BINARY) AND l.term = h.term WHERE l.holder = :holder`
