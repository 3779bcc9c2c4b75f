// MySQL and MariaDB.

package sqllease

// Texts are binary, for every collation takes some text for some other, if only
// with blanks behind it. UTC_TIMESTAMP is the same in every time zone and on every
// day of the year; it is when the statement began, which is after its caller
// looked at its own clock. But a statement may begin, wait for one of its records, and
// write another that was renewed meanwhile: that would run out sooner than its holder
// believes. So a renewal takes its records first, by a statement of its own.
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
	now: `TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))`,
	read: `SELECT {columns} FROM JSON_TABLE(:names, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) AS h
JOIN {table} AS l ON l.name = CAST(h.name AS BINARY)`,
	insert: `INSERT IGNORE INTO {table} (name, term, holder, heir, renewals, ttl_us, until_us) VALUES (:name, 0, '', '', 0, 0, 0)`,
	renew: `UPDATE ` + mysqlHeld + `
SET l.renewals = l.renewals + 1, l.until_us = {now} + l.ttl_us
WHERE l.holder = :holder`,
	lock:   `SELECT l.name FROM ` + mysqlHeld + ` WHERE l.holder = :holder FOR UPDATE`,
	quotes: "`",
}

// mysqlHeld are the records of :held.
const mysqlHeld = `JSON_TABLE(:held, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.name', term BIGINT PATH '$.term')) AS h
JOIN {table} AS l ON l.name = CAST(h.name AS BINARY) AND l.term = h.term`
