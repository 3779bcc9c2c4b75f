package storetest

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/hustings/hustings/lease/sqllease"
)

// database is a real database.
type database struct {
	driver  string
	dialect sqllease.Dialect
	source  func(t testing.TB) string
}

var databases = map[string]database{
	"SQLite": {"sqlite", sqllease.SQLite, func(t testing.TB) string {
		t.Helper()
		return "file:" + filepath.Join(t.TempDir(), "leases.db") + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)"
	}},
	"PostgreSQL": {"pgx", sqllease.PostgreSQL, given("HUSTINGS_TEST_POSTGRES")},
	"MariaDB":    {"mysql", sqllease.MySQL, given("HUSTINGS_TEST_MYSQL")},
}

// given returns the data source of a database that the environment names.
func given(variable string) func(testing.TB) string {
	return func(t testing.TB) string {
		t.Helper()
		source := os.Getenv(variable)
		if source == "" {
			if os.Getenv("HUSTINGS_TEST_ALL") != "" {
				t.Fatalf("%s is not set, and HUSTINGS_TEST_ALL=yes allows no test to be left out", variable)
			}
			t.Skipf("%s is not set: see the script run", variable)
		}
		return source
	}
}

// open connects to a database, with settings of the connection.
func (d database) open(t testing.TB, settings string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.source(t)+settings)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() }) // MySQL's driver says so if a connection was broken
	return db
}

// store makes a store in a database, with its table.
func (d database) store(t testing.TB, db *sql.DB) *sqllease.Store {
	t.Helper()
	s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect})
	require.NoError(t, err)
	require.NoError(t, s.EnsureSchema(t.Context()))
	return s
}

// each runs a test against every available database.
func each(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for name, d := range databases {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}
