// SQLite.

package sqllease

// SQLite compares texts by their bytes by default. Its clock is the machine's, in milliseconds.
var sqlite = dialect{
	schema: `CREATE TABLE IF NOT EXISTS {table} (
	name     TEXT NOT NULL PRIMARY KEY,
	term     INTEGER NOT NULL,
	holder   TEXT NOT NULL,
	heir     TEXT NOT NULL,
	renewals INTEGER NOT NULL,
	ttl_us   INTEGER NOT NULL,
	until_us INTEGER NOT NULL
) WITHOUT ROWID, STRICT`,
	now:  `(CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000)`,
	read: `SELECT {columns} FROM {table} AS l WHERE l.name IN (SELECT value FROM json_each(:names))`,
	insert: `INSERT INTO {table} (name, term, holder, heir, renewals, ttl_us, until_us) VALUES (:name, 0, '', '', 0, 0, 0)
ON CONFLICT (name) DO NOTHING`,
	renew: `UPDATE {table} AS l SET renewals = l.renewals + 1, until_us = {now} + l.ttl_us
FROM json_each(:held) AS h
WHERE l.name = h.value ->> '$.name' AND l.term = h.value ->> '$.term' AND l.holder = :holder
RETURNING name`,
	returning: true,
	numbered:  "?",
	quotes:    `"`,
}
