package sqllease_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease"
)

func TestAConfigWithoutADatabaseAndADialectSaysBoth(t *testing.T) {
	_, err := sqllease.New(sqllease.Config{})
	assert.ErrorContains(t, err, "DB is nil")
	assert.ErrorContains(t, err, "Dialect is unknown")
	store, err := sqllease.New(sqllease.Config{Dialect: sqllease.SQLite})
	require.ErrorContains(t, err, "DB is nil")
	assert.Nil(t, store)
}

// Every placeholder has its argument: an unnumbered one has one of its own, and numbered ones share that of their number.
func TestEveryPlaceholderHasItsArgument(t *testing.T) {
	claim := lease.Claim{Name: "g", Holder: "a#1", TTL: time.Second, Term: 7, Renewals: 8, Watched: true}
	for dialect, want := range map[sqllease.Dialect]struct {
		placeholders []string
		given        []driver.Value
		guard        string
	}{
		sqllease.MySQL: {
			[]string{"?", "?", "?", "?", "?", "?", "?", "?", "?"},
			[]driver.Value{"a#1", int64(1e6), int64(1e6), "g", int64(7), "a#1", int64(1), int64(8), int64(1)},
			"EXISTS (SELECT 1 FROM `hustings_lease` WHERE name = ? AND term = ?)",
		},
		sqllease.PostgreSQL: {
			[]string{"$1", "$2", "$2", "$3", "$4", "$1", "$5", "$6", "$5"},
			[]driver.Value{"a#1", int64(1e6), "g", int64(7), int64(1), int64(8)},
			`EXISTS (SELECT 1 FROM "hustings_lease" WHERE name = $3 AND term = $4)`,
		},
		sqllease.SQLite: {
			[]string{"?1", "?2", "?2", "?3", "?4", "?1", "?5", "?6", "?5"},
			[]driver.Value{"a#1", int64(1e6), "g", int64(7), int64(1), int64(8)},
			`EXISTS (SELECT 1 FROM "hustings_lease" WHERE name = ?3 AND term = ?4)`,
		},
	} {
		s := &server{answer: func(_ context.Context, sent string, given []driver.NamedValue) reply {
			assert.Equal(t, want.placeholders, regexp.MustCompile(`[?$]\d*`).FindAllString(sent, -1))
			var values []driver.Value
			for _, g := range given {
				values = append(values, g.Value)
			}
			assert.Equal(t, want.given, values)
			return reply{changed: 1}
		}}
		store := open(t, dialect, s)
		won, err := store.Acquire(t.Context(), claim)
		require.NoError(t, err)
		assert.True(t, won)
		assert.Equal(t, want.guard, store.Guard(3))
		unwatched := claim
		unwatched.Watched = false
		want.given = slices.Clone(want.given)
		for i := range want.given {
			if want.given[i] == int64(1) {
				want.given[i] = int64(0)
			}
		}
		_, err = store.Acquire(t.Context(), unwatched)
		require.NoError(t, err)
	}
}

// A released lease has no time left, although its record has no end from which that would follow.
func TestARowBecomesARecord(t *testing.T) {
	s := &server{answer: func(context.Context, string, []driver.NamedValue) reply {
		return reply{columns: recordColumns, rows: [][]driver.Value{{"g", 1, "a#1", "b", 2, 3, 4, 5}, {"h", 1, "", "b", 2, 3, 0, -6}}}
	}}
	found, err := open(t, sqllease.SQLite, s).Read(t.Context(), []string{"g", "h"})
	require.NoError(t, err)
	assert.Equal(t, []lease.Record{
		{Name: "g", Term: 1, Holder: "a#1", Heir: "b", Renewals: 2, TTL: 3 * time.Microsecond, Left: 5 * time.Microsecond},
		{Name: "h", Term: 1, Heir: "b", Renewals: 2, TTL: 3 * time.Microsecond, Released: true},
	}, found)
}

// If any statement of a step fails, the step returns its error, sends no other statement, and has won and kept nothing.
// Every statement ends with the context of its step.
func TestTheFailureOfAnyStatementIsTheErrorOfTheStep(t *testing.T) {
	broken := errors.New("broken")
	claim := lease.Claim{Name: "g", Holder: "a#1", TTL: time.Second}
	held := []lease.Held{{Name: "g", Term: 1}, {Name: "h", Term: 2}}
	name := reply{columns: []string{"name"}, rows: [][]driver.Value{{"g"}}}
	names := reply{columns: []string{"name"}, rows: [][]driver.Value{{"g"}, {"h"}}}
	renew := func(ctx context.Context, s *sqllease.Store) (int, error) {
		kept, err := s.Renew(ctx, "a#1", held)
		return len(kept), err
	}
	force := func(ctx context.Context, s *sqllease.Store) (int, error) { return 0, s.Force(ctx, "g", "b") }
	for of, c := range map[string]struct {
		dialect sqllease.Dialect
		replies []reply // without a failure
		step    func(ctx context.Context, s *sqllease.Store) (results int, err error)
		results int
	}{
		"read": {sqllease.SQLite, []reply{{columns: recordColumns, rows: [][]driver.Value{{"g", 1, "a#1", "b", 2, 3, 4, 5}}}}, func(ctx context.Context, s *sqllease.Store) (int, error) {
			found, err := s.Read(ctx, []string{"g"})
			return len(found), err
		}, 1},
		"acquire": {sqllease.SQLite, []reply{{}, {changed: 1}}, func(ctx context.Context, s *sqllease.Store) (int, error) {
			won, err := s.Acquire(ctx, claim)
			return map[bool]int{true: 1}[won], err
		}, 1},
		"acquire again": {sqllease.SQLite, []reply{{changed: 1}}, func(ctx context.Context, s *sqllease.Store) (int, error) {
			again := claim
			again.Term = 1
			won, err := s.Acquire(ctx, again)
			return map[bool]int{true: 1}[won], err
		}, 1},
		"renew in PostgreSQL": {sqllease.PostgreSQL, []reply{name, name}, renew, 1},
		"renew in MySQL":      {sqllease.MySQL, []reply{{changed: 1}, names, {changed: 1}, {changed: 1}, {changed: 1}}, renew, 2},
		"renew in SQLite":     {sqllease.SQLite, []reply{name}, renew, 1},
		"release":             {sqllease.SQLite, []reply{{}}, func(ctx context.Context, s *sqllease.Store) (int, error) { return 0, s.Release(ctx, "a#1", held[0]) }, 0},
		"force":               {sqllease.SQLite, []reply{{changed: 1}}, force, 0},
		"force a new one":     {sqllease.SQLite, []reply{{}, {changed: 1}, {changed: 1}}, force, 0},
		"names": {sqllease.SQLite, []reply{names}, func(ctx context.Context, s *sqllease.Store) (int, error) {
			all, err := s.Names(ctx)
			return len(all), err
		}, 2},
	} {
		for answered := range len(c.replies) + 1 {
			ctx, end := context.WithCancel(t.Context())
			s := new(server)
			s.answer = func(ctx context.Context, _ string, _ []driver.NamedValue) reply {
				if len(s.sent) <= answered {
					return c.replies[len(s.sent)-1]
				}
				end()
				assert.Error(t, ctx.Err(), "%s: statement %d does not end with its context", of, answered)
				return reply{err: broken}
			}
			results, err := c.step(ctx, open(t, c.dialect, s))
			if answered == len(c.replies) {
				require.NoError(t, err, of)
				assert.Equal(t, c.results, results, of)
			} else {
				require.ErrorIs(t, err, broken, "%s: statement %d", of, answered)
				assert.Zero(t, results, "%s: statement %d", of, answered)
			}
			assert.Len(t, s.sent, min(answered+1, len(c.replies)), of)
			end()
		}
	}
}

// A query that breaks off between two rows, and a row that cannot be read, are errors, and the connection is free again.
func TestARowThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for of, c := range map[string]struct {
		row  []driver.Value
		last error
		says string
	}{
		"breaks off": {[]driver.Value{"g", 1, "a#1", "b", 2, 3, 4, 5}, broken, "broken"},
		"no number":  {[]driver.Value{"g", "one", "a#1", "b", 2, 3, 4, 5}, nil, "Scan error"},
	} {
		s := &server{answer: func(context.Context, string, []driver.NamedValue) reply {
			return reply{columns: recordColumns, rows: [][]driver.Value{c.row, c.row}, last: c.last}
		}}
		_, err := open(t, sqllease.SQLite, s).Read(t.Context(), []string{"g"})
		assert.ErrorContains(t, err, c.says, of)
	}
	s := &server{answer: func(context.Context, string, []driver.NamedValue) reply {
		return reply{columns: []string{"name"}, rows: [][]driver.Value{{nil}, {"g"}}}
	}}
	_, err := open(t, sqllease.SQLite, s).Names(t.Context())
	assert.ErrorContains(t, err, "Scan error")
}

// No statement is sent for an empty list.
func TestNoStatementIsSentForNoLeases(t *testing.T) {
	s := &server{}
	store := open(t, sqllease.MySQL, s)
	found, err := store.Read(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, found)
	kept, err := store.Renew(t.Context(), "a#1", nil)
	require.NoError(t, err)
	assert.Empty(t, kept)
	assert.Empty(t, s.sent)
}

// A text that does not fit its column is refused before any statement, because some databases would truncate it.
func TestTextsThatDoNotFitAreRefused(t *testing.T) {
	fits := strings.Repeat("é", lease.MaxName/2) + "a" // columns count bytes
	s := &server{answer: func(context.Context, string, []driver.NamedValue) reply { return reply{changed: 1} }}
	store := open(t, sqllease.SQLite, s)
	for of, names := range map[string][2]string{"both fit": {fits, fits}, "name": {fits + "a", "b"}, "holder": {"g", fits + "a"}} {
		s.sent = nil
		won, err := store.Acquire(t.Context(), lease.Claim{Name: names[0], Holder: names[1], TTL: time.Second, Term: 1})
		forced := store.Force(t.Context(), names[0], names[1])
		if of == "both fit" {
			require.NoError(t, err)
			require.NoError(t, forced)
			assert.True(t, won)
			continue
		}
		require.ErrorContains(t, err, "256 bytes, want at most 255", of)
		require.ErrorContains(t, forced, "256 bytes, want at most 255", of)
		assert.False(t, won, of)
		assert.Empty(t, s.sent, of)
	}
}
