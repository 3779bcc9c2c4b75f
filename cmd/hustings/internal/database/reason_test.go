package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// A reason is on one line, and in plain words if people can do something about it.
func TestReasonsArePlainAndOnOneLine(t *testing.T) {
	const noTable = "there is no table of leases; the first node that serves makes it"
	for want, errs := range map[string][]error{
		noTable: {
			fmt.Errorf("read: %w", &pgconn.PgError{Code: "42P01", Message: "relation does not exist"}),
			fmt.Errorf("read: %w", &mysql.MySQLError{Number: 1146, Message: "doesn't exist"}),
			errors.New("SQL logic error: no such table: leases (1)"),
		},
		": no such table (SQLSTATE 42601)":                             {&pgconn.PgError{Code: "42601", Message: "no such table"}},
		"Error 1064: no such table":                                    {&mysql.MySQLError{Number: 1064, Message: "no such table"}},
		"no answer in time: read: " + context.DeadlineExceeded.Error(): {fmt.Errorf("read: %w", context.DeadlineExceeded)},
		"failed to connect: refused; timed out": {
			errors.New("failed to connect:\n\trefused\n\n\ttimed   out\n\trefused\n"),
		},
	} {
		for _, err := range errs {
			assert.Equal(t, want, database.Reason(err))
		}
	}
}

// Unknown parameters of a URL are refused by name, without their values.
func TestParametersThatAreNotKnownAreRefused(t *testing.T) {
	for url, says := range map[string]string{
		"sqlite:x.db?mode=s3cret&cache=s3cret": `parameters that are not known: "mode", "cache"; sqlite: takes none`,
		"etcd://h?timeout=s3cret":              `parameters that are not known: "timeout"; etcd: takes none`,
		"etcd://h/leases":                      `the path "leases"; etcd: takes none`,
		"mysql://h/app?autocommit=0":           `"autocommit", which cannot be set: here every statement commits by itself`,
	} {
		_, err := database.Open(url, database.ForOperators)
		require.ErrorContains(t, err, says, url)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}

// A database that was never used can be closed, and operators' Prepare makes nothing.
func TestADatabaseThatWasNeverPreparedIsClosed(t *testing.T) {
	for _, url := range []string{"etcd://127.0.0.1:1", "redis://127.0.0.1:1", "postgres://127.0.0.1:1/app", "mysql://127.0.0.1:1/app"} {
		db, err := database.Open(url, database.ForOperators)
		require.NoError(t, err, url)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if url[:4] != "etcd" { // which has no client before it was prepared
			require.NoError(t, db.Prepare(ended), "operators make nothing")
			_, err = db.Store.Names(ended)
			require.Error(t, err)
		}
		assert.NoError(t, db.Close())
	}
}

// What makes a database unfit can be found out.
func TestTheCauseOfAnUnfitDatabaseIsKept(t *testing.T) {
	err := fmt.Errorf("redis://h/: %w", database.UnfitError{Err: &rediskv.EvictionError{Policy: "allkeys-lru"}})
	cause, is := errors.AsType[*rediskv.EvictionError](err)
	require.True(t, is)
	assert.Equal(t, "allkeys-lru", cause.Policy)
	assert.Equal(t, "redis://h/: "+cause.Error(), err.Error())
}

// Candidates learn at the start that a database is not there. That is no defect of its configuration, so they try again.
func TestADatabaseThatIsAwayIsNotUnfit(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "postgres://127.0.0.1:1/app", "mysql://127.0.0.1:1/app"} {
		db, err := database.Open(url, database.ForCandidates)
		require.NoError(t, err, url)
		err = db.Prepare(t.Context())
		require.Error(t, err, url)
		_, unfit := errors.AsType[database.UnfitError](err)
		assert.False(t, unfit, url)
		assert.NoError(t, db.Close(), url)
	}
}
