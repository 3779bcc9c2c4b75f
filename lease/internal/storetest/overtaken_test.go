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

// waiting counts the statements that wait for a record, by database.
var waiting = map[string]string{
	"MariaDB":    "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
	"PostgreSQL": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
}

// A renewal that waits for one record, and is overtaken at another by a renewal that
// came later, does not have that one run out sooner.
func TestARenewalThatIsOvertakenShortensNothing(t *testing.T) {
	for name, count := range waiting {
		t.Run(name, func(t *testing.T) {
			d := databases[name]
			db := d.open(t, "")
			table := "overtaken_" + strings.ToLower(rand.Text())
			s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: table})
			require.NoError(t, err)
			require.NoError(t, s.EnsureSchema(t.Context()))
			fill(t, db, table)
			a, b := lease.Held{Name: "a", Term: 1}, lease.Held{Name: "b", Term: 1}
			for _, h := range []lease.Held{a, b} {
				won, err := s.Acquire(t.Context(), lease.Claim{Name: h.Name, Holder: "h#1", TTL: time.Minute})
				require.NoError(t, err)
				require.True(t, won)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // it has been, unless the test has failed
			_, err = tx.ExecContext(t.Context(), "UPDATE "+table+" SET heir = 'x' WHERE name = 'a'")
			require.NoError(t, err)
			first := make(chan error, 1)
			go func() {
				_, err := s.Renew(context.WithoutCancel(t.Context()), "h#1", []lease.Held{a, b})
				first <- err
			}()
			for number(t, db, count) == 0 {
				<-time.After(200 * time.Millisecond) // asked more often, MariaDB tells what it told before
			}
			_, err = s.Renew(t.Context(), "h#1", []lease.Held{b})
			require.NoError(t, err)
			until := "SELECT until_us FROM " + table + " WHERE name = 'b'"
			before := number(t, db, until)
			require.NoError(t, tx.Rollback())
			require.NoError(t, <-first)
			assert.GreaterOrEqual(t, number(t, db, until), before)
		})
	}
}

// fill makes a table so large that the database looks for records one by one.
func fill(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	rows := make([]string, 5000)
	for i := range rows {
		rows[i] = fmt.Sprintf("('x%d', 0, '', '', 0, 0, 0)", i)
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" (name, term, holder, heir, renewals, ttl_us, until_us) VALUES "+strings.Join(rows, ", "))
	require.NoError(t, err)
}

func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}
