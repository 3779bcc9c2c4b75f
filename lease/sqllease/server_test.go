// A database whose answers a test gives.

package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease/sqllease"
)

// server replaces a database: it answers every statement as the test says.
type server struct {
	answer func(ctx context.Context, sent string, given []driver.NamedValue) reply
	sent   []string
}

// reply is the answer to a statement: rows of a query, or the number of rows that were changed.
type reply struct {
	columns []string
	rows    [][]driver.Value
	changed int64
	err     error
	last    error // of the row after the last one; nil: there is none
	closing error // of the end of a query
}

func (s *server) Connect(context.Context) (driver.Conn, error) { return &session{server: s}, nil }
func (s *server) Driver() driver.Driver                        { return nil }

func (s *server) reply(ctx context.Context, sent string, given []driver.NamedValue) reply {
	s.sent = append(s.sent, sent)
	return s.answer(ctx, sent, given)
}

// session is a connection to it.
type session struct {
	driver.Conn
	server *server
}

func (s *session) Close() error { return nil }

func (s *session) ExecContext(ctx context.Context, sent string, given []driver.NamedValue) (driver.Result, error) {
	r := s.server.reply(ctx, sent, given)
	return driver.RowsAffected(r.changed), r.err
}

func (s *session) QueryContext(ctx context.Context, sent string, given []driver.NamedValue) (driver.Rows, error) {
	r := s.server.reply(ctx, sent, given)
	return &r, r.err
}

func (r *reply) Columns() []string { return r.columns }
func (r *reply) Close() error      { return r.closing }

func (r *reply) Next(row []driver.Value) error {
	switch {
	case len(r.rows) > 0:
		copy(row, r.rows[0])
		r.rows = r.rows[1:]
		return nil
	case r.last != nil:
		return r.last
	default:
		return io.EOF
	}
}

// open makes a store over a server, whose connections are all free again when the test is over.
func open(t *testing.T, d sqllease.Dialect, s *server) *sqllease.Store {
	t.Helper()
	db := sql.OpenDB(s)
	t.Cleanup(func() {
		assert.Zero(t, db.Stats().InUse, "a query was not closed")
		require.NoError(t, db.Close())
	})
	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: d})
	require.NoError(t, err)
	return store
}

var (
	recordColumns = []string{"name", "term", "holder", "heir", "renewals", "ttl_us", "until_us", "left"}
	tableColumns  = []string{"NAME", "TERM", "HOLDER", "HEIR", "RENEWALS", "TTL_US", "UNTIL_US", "MORE"}
)
