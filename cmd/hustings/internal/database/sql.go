// SQL databases.

package database

import (
	"database/sql"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/lease/sqllease/pgxwake"
)

func openPostgres(a address, use Use) (*Database, error) {
	config, err := pgx.ParseConfig(a.text)
	if err != nil {
		return nil, errors.New("PostgreSQL's driver does not understand the URL") // its own error may contain the password
	}
	waker, err := pgxwake.New(config, "")
	if err != nil {
		return nil, err
	}
	return inTable(stdlib.OpenDB(*config), sqllease.PostgreSQL, waker, use)
}

func openMySQL(a address, use Use) (*Database, error) {
	config, err := mysql.ParseDSN("/?" + a.query)
	if err != nil {
		return nil, err
	}
	if _, given := config.Params["autocommit"]; given {
		return nil, errors.New("the URL has the parameter \"autocommit\", which cannot be set: here every statement commits by itself")
	}
	config.Addr, config.DBName = a.hosts, a.path
	if _, _, err := net.SplitHostPort(a.hosts); err != nil { // it names no port
		config.Addr += ":3306"
	}
	config.User, config.Passwd = a.user, a.password
	config.Logger = new(mysql.NopLogger) // because errors are returned as well
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return inTable(sql.OpenDB(connector), sqllease.MySQL, nil, use)
}

// openSQLite sets a busy timeout, so that concurrent writers wait for each other.
func openSQLite(a address, use Use) (*Database, error) {
	if err := a.parameterless(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(a.path)
	if err != nil {
		return nil, err
	}
	mode := "rwc"
	if use == ForOperators {
		mode = "rw"
	}
	source := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=" + mode + "&_pragma=busy_timeout(2000)"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, err
	}
	return inTable(db, sqllease.SQLite, nil, use)
}

// missing reports whether an error says that there is no table of leases.
func missing(err error) bool {
	var ofPostgres *pgconn.PgError
	var ofMySQL *mysql.MySQLError
	switch {
	case errors.As(err, &ofPostgres):
		return ofPostgres.Code == "42P01"
	case errors.As(err, &ofMySQL):
		return ofMySQL.Number == 1146
	}
	return strings.Contains(err.Error(), "no such table") // SQLite has no code of its own for this
}

func inTable(db *sql.DB, dialect sqllease.Dialect, waker lease.Waker, use Use) (*Database, error) {
	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: dialect})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d := &Database{Store: store, Waker: waker, close: db.Close}
	if use == ForCandidates {
		d.prepare = store.EnsureSchema
	}
	return d, nil
}
