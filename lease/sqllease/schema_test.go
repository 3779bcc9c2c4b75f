package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease/sqllease"
)

func TestATableWithAnotherFormOfNameIsRefused(t *testing.T) {
	for _, table := range []string{"a b", "a;b", "a.b.c"} {
		s, err := sqllease.New(sqllease.Config{DB: sql.OpenDB(new(server)), Dialect: sqllease.SQLite, Table: table})
		assert.ErrorContains(t, err, "Table is "+strconv.Quote(table)+", want a name")
		assert.Nil(t, s)
	}
}

// The table may be in a schema: each of the two names is quoted.
func TestATableMayBeInASchema(t *testing.T) {
	for dialect, want := range map[sqllease.Dialect]string{
		sqllease.PostgreSQL: `"app"."leases"`, sqllease.MySQL: "`app`.`leases`", sqllease.SQLite: `"app"."leases"`,
	} {
		s, err := sqllease.New(sqllease.Config{DB: sql.OpenDB(new(server)), Dialect: dialect, Table: "app.leases"})
		require.NoError(t, err)
		assert.Contains(t, s.Schema(), "TABLE IF NOT EXISTS "+want+" (")
		assert.Contains(t, s.Guard(1), " FROM "+want+" WHERE")
	}
}

// The table may be there although this candidate could not make it: another candidate made it at the same moment, or a
// user with more rights before.
func TestTheTableCountsAndNotWhoMadeIt(t *testing.T) {
	broken, refused := errors.New("broken"), errors.New("refused")
	commits := reply{columns: []string{"commits"}, rows: [][]driver.Value{{true}}}
	table := reply{columns: tableColumns}
	for of, c := range map[string]struct {
		dialect sqllease.Dialect
		replies []reply
		errs    []error
		says    string
	}{
		"made":                       {sqllease.MySQL, []reply{commits, {}, table}, nil, ""},
		"made without a question":    {sqllease.PostgreSQL, []reply{{}, table}, nil, ""},
		"there":                      {sqllease.MySQL, []reply{commits, {err: refused}, table}, nil, ""},
		"not there":                  {sqllease.MySQL, []reply{commits, {err: refused}, {err: broken}}, []error{refused, broken}, "making table `hustings_lease`"},
		"lost while it is looked at": {sqllease.MySQL, []reply{commits, {}, {columns: tableColumns, closing: broken}}, []error{broken}, "making table"},
		"another":                    {sqllease.MySQL, []reply{commits, {}, {columns: tableColumns[:6]}}, nil, "it has no column until_us"},
		"no answer":                  {sqllease.MySQL, []reply{{err: broken}}, []error{broken}, "asking whether statements commit"},
		"no commits":                 {sqllease.MySQL, []reply{{columns: commits.columns, rows: [][]driver.Value{{false}}}}, nil, "autocommit is 0"},
	} {
		for ends := range len(c.replies) + 1 {
			ctx, end := context.WithCancel(t.Context())
			s := new(server)
			s.answer = func(ctx context.Context, _ string, _ []driver.NamedValue) reply {
				if len(s.sent) > ends {
					end()
					assert.Error(t, ctx.Err(), "%s: statement %d does not end with its context", of, ends)
					return reply{err: ctx.Err()}
				}
				return c.replies[len(s.sent)-1]
			}
			err := open(t, c.dialect, s).EnsureSchema(ctx)
			end()
			if ends < len(c.replies) {
				require.ErrorIs(t, err, context.Canceled, of)
				continue
			}
			assert.Len(t, s.sent, len(c.replies), of)
			for _, is := range c.errs {
				require.ErrorIs(t, err, is, of)
			}
			if c.says == "" {
				require.NoError(t, err, of)
			} else {
				require.ErrorContains(t, err, c.says, of)
			}
		}
	}
}
