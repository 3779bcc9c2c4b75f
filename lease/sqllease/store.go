// The store: what a step of lease.Store is in SQL.

package sqllease

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

// DefaultTable is the table that holds the leases unless another is named.
const DefaultTable = "hustings_lease"

// Config says where leases are.
type Config struct {
	DB      *sql.DB
	Dialect Dialect
	// Table is the name of the table, with that of its schema before it if
	// need be: letters, digits and underscores. Empty: DefaultTable.
	Table string
}

// Store is a [lease.Store] in a table.
type Store struct {
	db      *sql.DB
	dialect *dialect
	table   string // quoted

	read, insert, acquire, renew, still, release, force, list statement
}

var (
	_ lease.Store  = (*Store)(nil)
	_ lease.Lister = (*Store)(nil)
)

// New is a store in a table. It does not look whether there is one; EnsureSchema
// does.
func New(config Config) (*Store, error) {
	var bad []error
	if config.DB == nil {
		bad = append(bad, &elector.ConfigError{Field: "DB", Problem: "is nil"})
	}
	d := config.Dialect.dialect()
	if d == nil {
		return nil, errors.Join(append(bad, &elector.ConfigError{Field: "Dialect", Problem: fmt.Sprintf("is unknown: %d", config.Dialect)})...)
	}
	if config.Table == "" {
		config.Table = DefaultTable
	}
	table, err := d.quote(config.Table)
	if err = errors.Join(append(bad, err)...); err != nil {
		return nil, err
	}
	s := &Store{db: config.DB, dialect: d, table: table}
	for to, text := range map[*statement]string{
		&s.read: d.read, &s.insert: d.insert, &s.acquire: acquire, &s.renew: d.renew, &s.still: d.still, &s.release: release, &s.force: force, &s.list: list,
	} {
		*to = d.compile(text, table)
	}
	return s, nil
}

// What is the same in all dialects. A lease that is not Watched is free when it
// has run out; "until_us" is 0 if it was released.
const (
	acquire = `UPDATE {table} SET term = term + 1, holder = :holder, heir = '', renewals = 0, ttl_us = :ttl, until_us = {now} + :ttl
WHERE name = :name AND term = :term AND (until_us = 0 OR holder = :holder OR (:watched = 1 AND renewals = :renewals) OR (:watched = 0 AND until_us <= {now}))`

	release = `UPDATE {table} SET holder = '', until_us = 0
WHERE name = :name AND ((holder = :holder AND term = :term) OR (holder = '' AND term - 1 = :term))`

	force = `UPDATE {table} SET term = term + 1, holder = '', heir = :heir, renewals = 0 WHERE name = :name`

	list = `SELECT name FROM {table}`

	columns = `l.name, l.term, l.holder, l.heir, l.renewals, l.ttl_us, l.until_us, l.until_us - {now}`
)

// Read is as the contract says.
func (s *Store) Read(ctx context.Context, names []string) (found []lease.Record, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	err = query(ctx, s.db, &s.read, arguments{"names": string(list)}, func(rows *sql.Rows) error {
		var r lease.Record
		var term, renewals, ttl, until, left int64
		if err := rows.Scan(&r.Name, &term, &r.Holder, &r.Heir, &renewals, &ttl, &until, &left); err != nil {
			return err
		}
		r.Term, r.Renewals = memberstate.Term(term), uint64(renewals)
		r.TTL, r.Left, r.Released = microseconds(ttl), microseconds(left), until == 0
		if r.Released {
			r.Left = 0
		}
		found = append(found, r)
		return nil
	})
	return found, err
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Acquire is as the contract says. A lease without a record is first given one
// that says that it was released.
func (s *Store) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	if err := checkLength(c.Name, c.Holder); err != nil {
		return false, err
	}
	if c.Term == 0 {
		if _, err := s.exec(ctx, &s.insert, arguments{"name": c.Name}); err != nil {
			return false, err
		}
	}
	watched := 0
	if c.Watched {
		watched = 1
	}
	n, err := s.exec(ctx, &s.acquire, arguments{
		"name": c.Name, "holder": c.Holder, "ttl": c.TTL.Microseconds(), "term": int64(c.Term), "renewals": int64(c.Renewals), "watched": watched,
	})
	return n == 1, err
}

// Release is as the contract says.
func (s *Store) Release(ctx context.Context, holder string, held lease.Held) error {
	_, err := s.exec(ctx, &s.release, arguments{"name": held.Name, "holder": holder, "term": int64(held.Term)})
	return err
}

// Force is as the contract says.
func (s *Store) Force(ctx context.Context, name, heir string) error {
	if err := checkLength(name, heir); err != nil {
		return err
	}
	given := arguments{"name": name, "heir": heir}
	n, err := s.exec(ctx, &s.force, given)
	if err != nil || n == 1 {
		return err
	}
	if _, err = s.exec(ctx, &s.insert, given); err != nil {
		return err
	}
	_, err = s.exec(ctx, &s.force, given)
	return err
}

// Names is as [lease.Lister] says.
func (s *Store) Names(ctx context.Context) ([]string, error) { return names(ctx, s.db, &s.list, nil) }

// Guard is a condition that holds while nobody has acquired the lease in a later
// term: for the WHERE of a guarded write, see the package documentation. It has
// two placeholders, for the lease's name and the term. Where placeholders are
// numbered they are the first-th of the statement and the one after it.
func (s *Store) Guard(first int) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE name = %s AND term = %s)", s.table, s.dialect.placeholder(first), s.dialect.placeholder(first+1))
}

// checkLength refuses what a column cannot hold: a database that is not strict
// would cut it off.
func checkLength(texts ...string) error {
	for _, text := range texts {
		if len(text) > lease.MaxName {
			return fmt.Errorf("sqllease: %q has %d bytes, %d is the most", text, len(text), lease.MaxName)
		}
	}
	return nil
}

func (s *Store) exec(ctx context.Context, st *statement, given arguments) (int64, error) {
	result, err := s.db.ExecContext(ctx, st.text, st.args(given)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// querier is a database, or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func query(ctx context.Context, db querier, st *statement, given arguments, scan func(*sql.Rows) error) (err error) {
	rows, err := db.QueryContext(ctx, st.text, st.args(given)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func names(ctx context.Context, db querier, st *statement, given arguments) (all []string, err error) {
	err = query(ctx, db, st, given, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		all = append(all, name)
		return nil
	})
	return all, err
}
