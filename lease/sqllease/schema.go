// The table.

package sqllease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EnsureSchema makes the table if it is missing. It may be called by all
// candidates at once, whenever they start. A table of that name that has not the columns
// of leases is an error, and so is a database that would not commit what is done.
func (s *Store) EnsureSchema(ctx context.Context) error {
	if err := s.commits(ctx); err != nil {
		return err
	}
	_, making := s.db.ExecContext(ctx, s.Schema())
	// If that failed another may have made it at the same moment, or somebody with more
	// rights long ago.
	missing, err := s.missing(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("sqllease: making table %s: %w", s.table, errors.Join(making, err))
	case len(missing) > 0:
		return fmt.Errorf("sqllease: table %s is there, and is no table of leases: it has no column %s", s.table, strings.Join(missing, ", "))
	}
	return nil
}

// fields are the columns of the table.
var fields = []string{"name", "term", "holder", "heir", "renewals", "ttl_us", "until_us"}

// missing lists those that the table has not.
func (s *Store) missing(ctx context.Context) (missing []string, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT * FROM "+s.table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	there, err := rows.Columns()
	for _, field := range fields {
		if !slices.ContainsFunc(there, func(column string) bool { return strings.EqualFold(column, field) }) {
			missing = append(missing, field)
		}
	}
	return missing, errors.Join(err, rows.Err(), rows.Close())
}

// commits makes sure that a statement commits by itself.
func (s *Store) commits(ctx context.Context) error {
	if s.dialect.commits == "" {
		return nil
	}
	var does bool
	if err := s.db.QueryRowContext(ctx, s.dialect.commits).Scan(&does); err != nil {
		return fmt.Errorf("sqllease: asking whether statements commit: %w", err)
	}
	if !does {
		return errors.New("sqllease: autocommit is 0: nobody would see what is done, set it to 1")
	}
	return nil
}

// Schema is the statement that makes the table, for those who have a tool for
// this.
func (s *Store) Schema() string { return s.dialect.compile(s.dialect.schema, s.table).text }
