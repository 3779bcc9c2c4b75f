// The store: the steps of lease.Store in SQL.

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

// DefaultTable is the default table of leases.
const DefaultTable = "hustings_lease"

// Config names the table of leases.
type Config struct {
	DB      *sql.DB
	Dialect Dialect
	// Table is the name of the table, or schema.table: letters, digits and
	// underscores. Empty: DefaultTable.
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

// New makes a store. It does not check whether the table exists; EnsureSchema does.
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

// The statements that all dialects share. If a claim is not Watched, an expired lease is free.
// "until_us" is 0 if the lease was released.
const (
	acquire = `UPDATE {table} SET term = term + 1, holder = :holder, heir = '', renewals = 0, ttl_us = :ttl, until_us = {now} + :ttl
WHERE name = :name AND term = :term AND (until_us = 0 OR holder = :holder OR (:watched = 1 AND renewals = :renewals) OR (:watched = 0 AND until_us <= {now}))`

	release = `UPDATE {table} SET holder = '', until_us = 0
WHERE name = :name AND ((holder = :holder AND term = :term) OR (holder = '' AND term - 1 = :term))`

	force = `UPDATE {table} SET term = term + 1, holder = '', heir = :heir, renewals = 0 WHERE name = :name`

	list = `SELECT name FROM {table}`

	columns = `l.name, l.term, l.holder, l.heir, l.renewals, l.ttl_us, l.until_us, l.until_us - {now}`
)

// Read implements [lease.Store].
func (s *Store) Read(ctx context.Context, names []string) (found []lease.Record, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, _ := json.Marshal(names) // texts cannot fail
	err = query(ctx, s.db, &s.read, arguments{"names": string(list)}, func(rows *sql.Rows) error {
		var name, holder, heir string
		var term, renewals, ttl, until, left int64
		if err := rows.Scan(&name, &term, &holder, &heir, &renewals, &ttl, &until, &left); err != nil {
			return err
		}
		released := until == 0
		if released {
			left = 0
		}
		found = append(found, lease.Record{
			Name: name, Term: memberstate.Term(term), Holder: holder, Heir: heir, Renewals: uint64(renewals),
			TTL: microseconds(ttl), Left: microseconds(left), Released: released,
		})
		return nil
	})
	return found, err
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Acquire implements [lease.Store]. A lease without a record first gets one that is released.
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

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, holder string, held lease.Held) error {
	_, err := s.exec(ctx, &s.release, arguments{"name": held.Name, "holder": holder, "term": int64(held.Term)})
	return err
}

// Force implements [lease.Store].
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

// Names implements [lease.Lister].
func (s *Store) Names(ctx context.Context) ([]string, error) { return names(ctx, s.db, &s.list, nil) }

// Guard returns a condition that holds until a later term begins, for the WHERE of a guarded
// write; see the package documentation. It has two placeholders, for the lease's name and the
// term. If placeholders are numbered, their numbers are first and first+1.
func (s *Store) Guard(first int) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE name = %s AND term = %s)", s.table, s.dialect.placeholder(first), s.dialect.placeholder(first+1))
}

// checkLength refuses texts that do not fit a column, because a database that is not strict
// would truncate them.
func checkLength(texts ...string) error {
	for _, text := range texts {
		if len(text) > lease.MaxName {
			return fmt.Errorf("sqllease: %q has %d bytes, want at most %d", text, len(text), lease.MaxName)
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
