// Package database opens the databases that keep leases, by their URLs.
package database

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/lease"
)

// Store is one that can list its leases.
type Store interface {
	lease.Store
	lease.Lister
}

// Database is an open one. Nothing has been asked of it yet, for it may be
// unreachable; Prepare comes before anything else.
type Database struct {
	// Name names it in messages: its URL without password and options.
	Name  string
	Store Store
	// Waker tells candidates of released leases; nil: they find out by themselves.
	Waker lease.Waker

	prepare func(context.Context) error
	close   func() error
}

// Use is what a database is opened for.
type Use uint8

const (
	// ForCandidates: the table of the leases is made if it is missing.
	ForCandidates Use = iota + 1
	// ForOperators: nothing is made that is not there.
	ForOperators
)

// Forms are the URLs that Open knows.
const Forms = "postgres://, mysql://, sqlite:PATH, etcd:// or redis://"

// Open makes the client of a database. Its errors do not tell the password.
func Open(text string, use Use) (*Database, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	open, known := map[string]func(address, Use) (*Database, error){
		"postgres": openPostgres, "postgresql": openPostgres, "mysql": openMySQL, "mariadb": openMySQL,
		"sqlite": openSQLite, "etcd": openEtcd, "redis": openRedis, "rediss": openRedis,
	}[a.scheme]
	if !known {
		return nil, fmt.Errorf("leases are kept in no %q: want %s", a.scheme, Forms)
	}
	db, err := open(a, use)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name(), err)
	}
	db.Name = a.name()
	return db, nil
}

// UnfitError is that of a database that must not keep leases in the way it is set up.
type UnfitError struct{ Err error }

func (e UnfitError) Error() string { return e.Err.Error() }
func (e UnfitError) Unwrap() error { return e.Err }

// Prepare makes what is missing. If it fails it can be called again, unless the error is an
// UnfitError: then somebody has to change the database first.
func (d *Database) Prepare(ctx context.Context) error {
	if d.prepare == nil {
		return nil
	}
	return d.prepare(ctx)
}

// Close closes the client.
func (d *Database) Close() error { return d.close() }
