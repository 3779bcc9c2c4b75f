package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/leasetest"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/memberstate"
)

// MySQL's driver counts changed rows or, if configured so, found rows.
func TestRowsMayBeCountedEitherWay(t *testing.T) {
	d := databases["MariaDB"]
	leasetest.Run(t, leasetest.Subject{Store: d.store(t, d.open(t, "?clientFoundRows=true"))})
}

// A session's time zone makes no difference, not even in the hours that daylight saving repeats
// or skips.
func TestTimeZonesMakeNoDifference(t *testing.T) {
	for name, zones := range map[string][2]string{
		"MariaDB":    {"?time_zone=%27%2B12%3A00%27", "?time_zone=%27-12%3A00%27"},
		"PostgreSQL": {"&TimeZone=Pacific/Kiritimati", "&TimeZone=America/New_York"},
	} {
		t.Run(name, func(t *testing.T) {
			d := databases[name]
			east, west := d.store(t, d.open(t, zones[0])), d.store(t, d.open(t, zones[1]))
			lease1 := "zone " + rand.Text()
			won, err := east.Acquire(t.Context(), lease.Claim{Name: lease1, Holder: "e#1", TTL: time.Minute})
			require.NoError(t, err)
			require.True(t, won)
			found, err := west.Read(t.Context(), []string{lease1})
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Positive(t, found[0].Left)
			assert.LessOrEqual(t, found[0].Left, time.Minute)
		})
	}
}

// Only the database's clock counts, at any time: in the second before daylight saving begins in
// New York, and in the hour that is repeated in autumn.
func TestDaylightSavingMakesNoDifference(t *testing.T) {
	const ttl = time.Minute // longer than a slow machine takes
	for name, zone := range map[string]string{"MariaDB": "?time_zone=%27America%2FNew_York%27", "PostgreSQL": "&TimeZone=America/New_York"} {
		for season, hour := range map[string]time.Time{
			"spring": time.Date(2027, 3, 14, 6, 59, 59, 500_000_000, time.UTC),
			"autumn": time.Date(2027, 11, 7, 5, 59, 59, 500_000_000, time.UTC),
		} {
			t.Run(name+"/"+season, func(t *testing.T) {
				d := databases[name]
				s, clock := d.store(t, d.open(t, zone)), newServersClock(t)
				claim := lease.Claim{Name: season + rand.Text(), Holder: "a#1", TTL: ttl}
				clock.set(hour)
				won, err := s.Acquire(t.Context(), claim)
				require.NoError(t, err)
				require.True(t, won)
				claim.Holder, claim.Term = "b#1", 1
				clock.set(hour.Add(time.Second))
				won, err = s.Acquire(t.Context(), claim)
				require.NoError(t, err)
				assert.False(t, won, "it was stolen 1.0 s after its heartbeat")
				clock.set(hour.Add(ttl / 2))
				won, err = s.Acquire(t.Context(), claim)
				require.NoError(t, err)
				assert.False(t, won)
				clock.set(hour.Add(2 * ttl))
				won, err = s.Acquire(t.Context(), claim)
				require.NoError(t, err)
				assert.True(t, won, "a dead leader blocks the takeover")
			})
		}
	}
}

// The clocks may change while a statement waits: by an hour, or by half an hour as on Lord Howe Island. The wait is none the
// longer.
func TestDaylightSavingMayBeginOrEndWhileAStatementWaits(t *testing.T) {
	for name, setting := range map[string]string{"MariaDB": "?time_zone=%%27%s%%27", "PostgreSQL": "&TimeZone=%s"} {
		for zone, changes := range map[string][2]time.Time{
			"America/New_York":    {time.Date(2027, 3, 14, 7, 0, 0, 0, time.UTC), time.Date(2027, 11, 7, 6, 0, 0, 0, time.UTC)},
			"Australia/Lord_Howe": {time.Date(2027, 4, 3, 15, 0, 0, 0, time.UTC), time.Date(2027, 10, 2, 15, 30, 0, 0, time.UTC)},
		} {
			for _, change := range changes {
				t.Run(fmt.Sprint(name, "/", zone, "/", change.Month()), func(t *testing.T) {
					d := databases[name]
					db, clock := d.open(t, fmt.Sprintf(setting, url.QueryEscape(zone))), newServersClock(t)
					s, table := privateTable(t, d, db)
					clock.set(change.Add(-time.Minute))
					held := take(t, s, "h#1", "a")
					renewsLate(t, db, s, name, table, held, func() { clock.set(change) })
					found, err := s.Read(t.Context(), []string{"a"})
					require.NoError(t, err)
					assert.Positive(t, found[0].Left)
					assert.LessOrEqual(t, found[0].Left, found[0].TTL)
				})
			}
		}
	}
}

// Records must be locked one by one, and outlast a crash, whatever engine a server takes for a new table.
func TestTheTableHasAnEngineWithTransactions(t *testing.T) {
	d := databases["MariaDB"]
	db := d.open(t, "?default_storage_engine=%27MyISAM%27")
	_, table := privateTable(t, d, db)
	var engine string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT engine FROM information_schema.tables WHERE table_name = ?", table).Scan(&engine))
	assert.Equal(t, "InnoDB", engine)
}

// The first candidate makes the schema, once.
func TestManyMakeTheSchemaAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.open(t, "")
		s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: "t_" + strings.ToLower(rand.Text())})
		require.NoError(t, err)
		require.NoError(t, db.PingContext(t.Context())) // SQLite waits for nobody while a new file is switched to WAL
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { assert.NoError(t, s.EnsureSchema(t.Context())) })
		}
		all.Wait()
		_, err = s.Read(t.Context(), []string{"x"})
		assert.NoError(t, err)
	})
}

// A table of that name with other columns is refused.
func TestAnothersTableIsRefused(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.open(t, "")
		table := "t_" + strings.ToLower(rand.Text())
		_, err := db.ExecContext(t.Context(), "CREATE TABLE "+table+" (id INTEGER, name VARCHAR(255), holder VARCHAR(255), heir VARCHAR(255), renewals INTEGER, ttl_us INTEGER)")
		require.NoError(t, err)
		s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: table})
		require.NoError(t, err)
		err = s.EnsureSchema(t.Context())
		assert.ErrorContains(t, err, table)
		assert.ErrorContains(t, err, "no column term, until_us")
	})
}

// Uncommitted changes of a candidate would be invisible to others.
func TestStatementsThatDoNotCommitAreRefused(t *testing.T) {
	d := databases["MariaDB"]
	s, err := sqllease.New(sqllease.Config{DB: d.open(t, "?autocommit=0"), Dialect: d.dialect})
	require.NoError(t, err)
	assert.ErrorContains(t, s.EnsureSchema(t.Context()), "autocommit")
}

// A guarded write succeeds in its term and not after it.
func TestAGuardedWriteFailsAfterItsTerm(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.open(t, "")
		s := d.store(t, db)
		table := "d_" + strings.ToLower(rand.Text())
		_, err := db.ExecContext(t.Context(), "CREATE TABLE "+table+" (n BIGINT NOT NULL)")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "INSERT INTO "+table+" VALUES (0)")
		require.NoError(t, err)
		name := "guard " + rand.Text()
		write := func(term memberstate.Term) int64 {
			result, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET n = n + 1 WHERE "+s.Guard(1), name, int64(term))
			require.NoError(t, err)
			n, err := result.RowsAffected()
			require.NoError(t, err)
			return n
		}
		assert.Zero(t, write(1))
		claim := lease.Claim{Name: name, Holder: "a#1", TTL: time.Minute}
		_, err = s.Acquire(t.Context(), claim)
		require.NoError(t, err)
		assert.EqualValues(t, 1, write(1))
		claim.Term = 1
		_, err = s.Acquire(t.Context(), claim)
		require.NoError(t, err)
		assert.Zero(t, write(1))
		assert.EqualValues(t, 1, write(2))
	})
}

// Three candidates in a real database resign one after another: only one is in office at a time,
// in a term of its own.
func TestOneIsInOfficeAtATime(t *testing.T) {
	timing := lease.Timing{TTL: 600 * time.Millisecond, Renew: 150 * time.Millisecond, Poll: 50 * time.Millisecond, Timeout: 200 * time.Millisecond, DriftMargin: 10 * time.Millisecond}
	each(t, func(t *testing.T, d database) {
		t.Helper()
		s := d.store(t, d.open(t, ""))
		name := "election " + rand.Text()
		var mu sync.Mutex
		inside, last := 0, memberstate.Term(0)
		began := make(chan *lease.Elector, 100)
		var stops []context.CancelFunc
		var running sync.WaitGroup
		for i := range 3 {
			var el *lease.Elector
			el, err := lease.New(lease.KeeperConfig{Self: fmt.Sprintf("n%d", i), Store: s, Timing: timing}, lease.GroupConfig{Name: name, Lead: func(ctx context.Context, term memberstate.Term) error {
				mu.Lock()
				inside++
				assert.Equal(t, 1, inside)
				assert.Greater(t, term, last)
				last = term
				mu.Unlock()
				began <- el
				<-ctx.Done()
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			}})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			stops = append(stops, cancel)
			running.Go(func() { assert.NoError(t, el.Run(ctx)) })
		}
		for range 5 {
			el := <-began
			require.NoError(t, el.Resign(t.Context()))
		}
		for _, stop := range stops {
			stop()
		}
		running.Wait()
	})
}

// Reserved words are quoted, a table may be named with its schema, and invalid names are refused.
func TestReservedWordsAreQuoted(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		t.Helper()
		db := d.open(t, "")
		s, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: "select"})
		require.NoError(t, err)
		require.NoError(t, s.EnsureSchema(t.Context()))
		schema := map[sqllease.Dialect]string{sqllease.SQLite: "main", sqllease.PostgreSQL: "public", sqllease.MySQL: "test"}[d.dialect]
		same, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: schema + ".select"})
		require.NoError(t, err)
		require.NoError(t, same.EnsureSchema(t.Context()))
		name, guarded := rand.Text(), false
		take(t, same, "a#1", name)
		assert.NoError(t, db.QueryRowContext(t.Context(), "SELECT "+s.Guard(1), name, 1).Scan(&guarded))
		assert.True(t, guarded)
		for _, table := range []string{"a b", "a;b", `a"b`, "a`b", "a.b.c", "é", "1a", strings.Repeat("a", 64)} {
			_, err := sqllease.New(sqllease.Config{DB: db, Dialect: d.dialect, Table: table})
			assert.Error(t, err, table)
		}
	})
}

// In some elections every poll is an insert that fails, and burns an id. Here the table gets such
// ids, and none is burned between two new leases. In SQLite a failing insert takes no id.
func TestPollsBurnNoIds(t *testing.T) {
	for name, column := range map[string]string{"MariaDB": "BIGINT NOT NULL AUTO_INCREMENT UNIQUE", "PostgreSQL": "bigserial"} {
		t.Run(name, func(t *testing.T) {
			d := databases[name]
			db := d.open(t, "")
			s, table := privateTable(t, d, db)
			_, err := db.ExecContext(t.Context(), "ALTER TABLE "+table+" ADD COLUMN id "+column)
			require.NoError(t, err)
			take(t, s, "a#1", "first")
			for range 10 {
				found, err := s.Read(t.Context(), []string{"first"})
				require.NoError(t, err)
				won, err := s.Acquire(t.Context(), lease.Claim{Name: "first", Holder: "b#1", TTL: time.Minute, Term: found[0].Term})
				require.NoError(t, err)
				require.False(t, won)
			}
			take(t, s, "a#1", "second")
			assert.EqualValues(t, 1, number(t, db, "SELECT id FROM "+table+" WHERE name = 'first'"))
			assert.EqualValues(t, 2, number(t, db, "SELECT id FROM "+table+" WHERE name = 'second'"))
		})
	}
}
