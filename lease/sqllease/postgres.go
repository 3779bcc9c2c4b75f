// PostgreSQL.

package sqllease

// Collation "C" compares texts by their bytes, whatever the database's collation. The pages
// of the table keep room for new versions of their rows, so that renewals do not touch the
// index.
var postgres = dialect{
	schema: `CREATE TABLE IF NOT EXISTS {table} (
	name     text COLLATE "C" PRIMARY KEY,
	term     bigint NOT NULL,
	holder   text COLLATE "C" NOT NULL,
	heir     text COLLATE "C" NOT NULL,
	renewals bigint NOT NULL,
	ttl_us   bigint NOT NULL,
	until_us bigint NOT NULL
) WITH (fillfactor = 50)`,
	now: `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)`,
	read: `SELECT {columns} FROM {table} AS l
WHERE l.name IN (SELECT json_array_elements_text(CAST(:names AS json)))`,
	insert: `INSERT INTO {table} (name, term, holder, heir, renewals, ttl_us, until_us) VALUES (:name, 0, '', '', 0, 0, 0)
ON CONFLICT (name) DO NOTHING`,
	renew: `WITH free AS (SELECT l.name FROM ` + postgresHeld + ` FOR UPDATE OF l SKIP LOCKED)
UPDATE {table} AS l SET renewals = l.renewals + 1, until_us = {now} + l.ttl_us
FROM free WHERE l.name = free.name
RETURNING l.name`,
	returning: true,
	still:     `SELECT l.name FROM ` + postgresHeld,
	numbered:  "$",
	quotes:    `"`,
}

// postgresHeld selects the records of :held that :holder holds.
const postgresHeld = `json_to_recordset(CAST(:held AS json)) AS h(name text, term bigint)
JOIN {table} AS l ON l.name = h.name AND l.term = h.term WHERE l.holder = :holder`
