// Package database opens the databases that keep leases, by their URLs.
package database

import (
	"context"
	"fmt"

	"github.com/hustings/hustings/lease"
)

// Store is a store of leases that can list them.
type Store interface {
	lease.Store
	lease.Lister
}

// Database is a client of a database, which may be unreachable: Open does not connect.
// Call Prepare before anything else.
type Database struct {
	// Name is its URL without password and options, for messages.
	Name  string
	Store Store
	// Waker wakes candidates when a lease is released; nil: they find out by polling.
	Waker lease.Waker

	prepare func(context.Context) error
	close   func() error
}

// Use says for whom a database is opened.
type Use uint8

const (
	// ForCandidates makes the table of leases if it is missing.
	ForCandidates Use = iota + 1
	// ForOperators makes nothing.
	ForOperators
)

// Forms are the URLs that Open knows.
const Forms = "postgres://, mysql://, sqlite:PATH, etcd:// or redis://"

// Open makes the client of a database. Its errors do not contain the password.
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
		return nil, fmt.Errorf("no database for leases is called %q: want %s", a.scheme, Forms)
	}
	db, err := open(a, use)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name(), err)
	}
	db.Name = a.name()
	return db, nil
}

// UnfitError says that a database must not keep leases with its present configuration.
type UnfitError struct{ Err error }

func (e UnfitError) Error() string { return e.Err.Error() }
func (e UnfitError) Unwrap() error { return e.Err }

// Prepare connects, and makes the table if it is missing. After an error it can be called
// again, unless the error is an UnfitError, which only a change of the database can remove.
func (d *Database) Prepare(ctx context.Context) error {
	if d.prepare == nil {
		return nil
	}
	return d.prepare(ctx)
}

// Close closes the client.
func (d *Database) Close() error { return d.close() }
