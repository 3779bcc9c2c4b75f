package sqllease_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/memberstate"
)

// Renew takes a lease for lost only if its record says so. A lease whose record is locked is reported. It takes as few
// statements as that needs: databases that do not return the names of renewed records are asked about ever smaller parts.
func TestRenewTellsLockedLeasesFromLostOnes(t *testing.T) {
	for of, c := range map[string]struct {
		dialect      sqllease.Dialect
		locked, lost []string
		statements   int
	}{
		"PostgreSQL":                     {sqllease.PostgreSQL, nil, nil, 1},
		"PostgreSQL, one lost":           {sqllease.PostgreSQL, nil, []string{"b"}, 2},
		"PostgreSQL, one locked":         {sqllease.PostgreSQL, []string{"b"}, nil, 2},
		"PostgreSQL, two locked":         {sqllease.PostgreSQL, []string{"a", "d"}, []string{"b"}, 2},
		"PostgreSQL, all lost":           {sqllease.PostgreSQL, nil, []string{"a", "b", "c", "d"}, 2},
		"PostgreSQL, all locked":         {sqllease.PostgreSQL, []string{"a", "b", "c", "d"}, nil, 2},
		"SQLite":                         {sqllease.SQLite, nil, nil, 1},
		"SQLite, two lost":               {sqllease.SQLite, nil, []string{"b", "c"}, 1},
		"MySQL":                          {sqllease.MySQL, nil, nil, 1},
		"MySQL, all lost":                {sqllease.MySQL, nil, []string{"a", "b", "c", "d"}, 2},
		"MySQL, all but one lost":        {sqllease.MySQL, nil, []string{"a", "b", "c"}, 3},
		"MySQL, all locked":              {sqllease.MySQL, []string{"a", "b", "c", "d"}, nil, 2},
		"MySQL, one lost":                {sqllease.MySQL, nil, []string{"b"}, 3},
		"MySQL, all locked but one lost": {sqllease.MySQL, []string{"a", "b", "c"}, []string{"d"}, 2},
		"MySQL, the first two locked":    {sqllease.MySQL, []string{"a", "b"}, nil, 5},
		"MySQL, the last locked":         {sqllease.MySQL, []string{"d"}, nil, 7},
		"MySQL, the first locked":        {sqllease.MySQL, []string{"a"}, nil, 7},
		"MySQL, all but one locked":      {sqllease.MySQL, []string{"b", "c", "d"}, nil, 7},
	} {
		s := new(server)
		s.answer = func(_ context.Context, sent string, given []driver.NamedValue) (r reply) {
			r.columns = []string{"name"}
			for _, name := range heldNames(t, given) {
				if slices.Contains(c.lost, name) || slices.Contains(c.locked, name) && strings.Contains(sent, "UPDATE") {
					continue
				}
				r.rows = append(r.rows, []driver.Value{name})
				r.changed++
			}
			return r
		}
		var held []lease.Held
		var kept []string
		for i, name := range []string{"a", "b", "c", "d"} {
			held = append(held, lease.Held{Name: name, Term: memberstate.Term(i + 1)})
			if !slices.Contains(c.lost, name) && !slices.Contains(c.locked, name) {
				kept = append(kept, name)
			}
		}
		got, err := open(t, c.dialect, s).Renew(t.Context(), "a#1", held)
		if c.locked == nil {
			require.NoError(t, err, of)
		} else {
			var locked *lease.LockedError
			require.ErrorAs(t, err, &locked, of)
			assert.Equal(t, c.locked, locked.Names, of)
		}
		assert.Equal(t, kept, got, of)
		assert.Len(t, s.sent, c.statements, of)
	}
}

// heldNames returns the names of the leases that a statement is about.
func heldNames(t *testing.T, given []driver.NamedValue) (names []string) {
	t.Helper()
	for _, g := range given {
		var held []struct {
			Name string           `json:"name"`
			Term memberstate.Term `json:"term"`
		}
		if text, _ := g.Value.(string); strings.HasPrefix(text, "[") {
			require.NoError(t, json.Unmarshal([]byte(text), &held))
		} else {
			require.Equal(t, "a#1", text)
		}
		for _, h := range held {
			require.Equal(t, h.Name, string(rune('a'+h.Term-1)))
			names = append(names, h.Name)
		}
	}
	return names
}
