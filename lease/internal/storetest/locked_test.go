// Records that are locked by another client, and statements that have to wait.

package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease"
)

// lockable are the databases that can lock a record; SQLite only locks the whole file.
var lockable = map[string]struct{ share, lockTable, unlock, waiting string }{
	"MariaDB":    {"LOCK IN SHARE MODE", "LOCK TABLES %s READ", "UNLOCK TABLES", "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table%%' AND info LIKE '%%%s%%' AND id <> CONNECTION_ID()"},
	"PostgreSQL": {"FOR SHARE", "BEGIN; LOCK TABLE %s IN EXCLUSIVE MODE", "ROLLBACK", "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = '%s'::regclass"},
}

// privateTable makes a store in a table of its own.
func privateTable(t *testing.T, d database, db *sql.DB) (s *sqllease.Store, table string) {
	t.Helper()
	table = "t_" + strings.ToLower(rand.Text())
	s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: table})
	require.NoError(t, err)
	require.NoError(t, s.EnsureSchema(t.Context()))
	return s, table
}

func take(t *testing.T, s lease.Store, holder string, names ...string) (held []lease.Held) {
	t.Helper()
	for _, name := range names {
		won, err := s.Acquire(t.Context(), lease.Claim{Name: name, Holder: holder, TTL: time.Minute})
		require.NoError(t, err)
		require.True(t, won)
		held = append(held, lease.Held{Name: name, Term: 1})
	}
	return held
}

// A transaction that locks one record, as a guarded write may, does not delay the renewal of other
// leases, and the locked lease is not taken for lost.
func TestALockedRecordHoldsUpNoOther(t *testing.T) {
	for name, its := range lockable {
		for _, how := range []string{"FOR UPDATE", its.share} {
			t.Run(name+"/"+how, func(t *testing.T) {
				d := databases[name]
				db := d.open(t, "")
				s, table := privateTable(t, d, db)
				held := take(t, s, "h#1", "a", "b", "c", "d", "e", "f", "g")
				take(t, s, "other#1", "x", "y")
				require.NoError(t, s.Force(t.Context(), "d", ""))
				require.NoError(t, s.Force(t.Context(), "g", ""))
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				defer tx.Rollback()                                 //nolint:errcheck // it is already done unless the test has failed
				for _, name := range []string{"b", "f", "g", "x"} { // one by one, because a scan would lock the others
					var locked string
					require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT name FROM "+table+" WHERE name = '"+name+"' "+how).Scan(&locked))
				}
				kept, err := s.Renew(t.Context(), "h#1", held)
				var locked *lease.LockedError
				require.ErrorAs(t, err, &locked)
				assert.ElementsMatch(t, []string{"b", "f"}, locked.Names)
				assert.ElementsMatch(t, []string{"a", "c", "e"}, kept)
				kept, err = s.Renew(t.Context(), "h#1", held[1:2])
				require.ErrorAs(t, err, &locked)
				assert.Empty(t, kept)
				kept, err = s.Renew(t.Context(), "other#1", []lease.Held{{Name: "y", Term: 1}})
				assert.NoError(t, err)
				assert.Equal(t, []string{"y"}, kept)

				require.NoError(t, tx.Rollback())
				kept, err = s.Renew(t.Context(), "h#1", held)
				assert.NoError(t, err)
				assert.ElementsMatch(t, []string{"a", "b", "c", "e", "f"}, kept)
			})
		}
	}
}

// Two candidates that renew at the same time do not block each other, however few records there
// are, because neither locks the other's.
func TestRenewalsOfOthersAreNotLocked(t *testing.T) {
	for name := range lockable {
		t.Run(name, func(t *testing.T) {
			d := databases[name]
			db := d.open(t, "")
			s, _ := privateTable(t, d, db)
			candidates := map[string][]lease.Held{"a#1": take(t, s, "a#1", "1", "3", "5"), "b#1": take(t, s, "b#1", "2", "4", "6")}
			ended := make(chan error, len(candidates))
			for holder, held := range candidates {
				go func() {
					var err error
					for i := 0; i < 200 && err == nil; i++ {
						_, err = s.Renew(context.WithoutCancel(t.Context()), holder, held)
					}
					ended <- err
				}()
			}
			for range candidates {
				assert.NoError(t, <-ended)
			}
		})
	}
}

// A renewal that had to wait reads the clock when it has the record. If it read the clock before,
// it would shorten the lease after a later renewal that has overtaken it.
func TestARenewalThatWaitedCountsFromThen(t *testing.T) {
	for name := range lockable {
		t.Run(name, func(t *testing.T) {
			d := databases[name]
			db := d.open(t, "")
			s, table := privateTable(t, d, db)
			held := take(t, s, "h#1", "a", "b")
			late := int64(0)
			renewsLate(t, db, s, name, table, held, func() {
				other := "z " + rand.Text()
				public := d.store(t, db)
				take(t, public, "h#1", other)
				late = number(t, db, "SELECT until_us FROM "+sqllease.DefaultTable+" WHERE name = '"+other+"'")
			})
			assert.Greater(t, number(t, db, "SELECT MIN(until_us) FROM "+table), late)
		})
	}
}

// renewsLate renews leases of h#1. The renewal has to wait for the table, and meanwhile something happens.
func renewsLate(t *testing.T, db *sql.DB, s *sqllease.Store, name, table string, held []lease.Held, meanwhile func()) {
	t.Helper()
	how := lockable[name]
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = conn.ExecContext(t.Context(), fmt.Sprintf(how.lockTable, table))
	require.NoError(t, err)
	renewed := make(chan error, 1)
	go func() {
		_, err := s.Renew(context.WithoutCancel(t.Context()), "h#1", held)
		renewed <- err
	}()
	for number(t, db, fmt.Sprintf(how.waiting, table)) == 0 {
		<-time.After(10 * time.Millisecond)
	}
	meanwhile()
	_, err = conn.ExecContext(t.Context(), how.unlock)
	require.NoError(t, err)
	require.NoError(t, <-renewed)
}

func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}
