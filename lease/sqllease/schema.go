// The table.

package sqllease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EnsureSchema makes the table if it is missing. All candidates may call it at once, whenever
// they start. It returns an error if a table of that name has other columns, or if statements
// would not commit by themselves.
func (s *Store) EnsureSchema(ctx context.Context) error {
	if err := s.commits(ctx); err != nil {
		return err
	}
	_, making := s.db.ExecContext(ctx, s.Schema())
	// If that failed, another candidate may have made the table at the same moment, or a
	// user with more rights before.
	missing, err := s.missing(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("sqllease: making table %s: %w", s.table, errors.Join(making, err))
	case len(missing) > 0:
		return fmt.Errorf("sqllease: table %s exists, but is not a table of leases: it has no column %s", s.table, strings.Join(missing, ", "))
	}
	return nil
}

// fields are the columns of the table.
var fields = []string{"name", "term", "holder", "heir", "renewals", "ttl_us", "until_us"}

// missing lists the columns that the table lacks.
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

// commits returns an error if statements do not commit by themselves.
func (s *Store) commits(ctx context.Context) error {
	if s.dialect.commits == "" {
		return nil
	}
	var does bool
	if err := s.db.QueryRowContext(ctx, s.dialect.commits).Scan(&does); err != nil {
		return fmt.Errorf("sqllease: asking whether statements commit: %w", err)
	}
	if !does {
		return errors.New("sqllease: autocommit is 0, so no other client would see the changes; set it to 1")
	}
	return nil
}

// Schema returns the statement that makes the table, for use in a migration tool.
func (s *Store) Schema() string { return s.dialect.compile(s.dialect.schema, s.table).text }
