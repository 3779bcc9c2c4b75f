// The table.

package sqllease

import (
	"context"
	"fmt"
)

// EnsureSchema makes the table if it is missing. It may be called by all
// candidates at once, whenever they start.
func (s *Store) EnsureSchema(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, s.Schema())
	if err == nil {
		return nil
	}
	// Another may have made it at the same moment, or somebody with more rights
	// long ago.
	if _, unusable := s.Read(ctx, []string{""}); unusable == nil {
		return nil
	}
	return fmt.Errorf("sqllease: making table %s: %w", s.table, err)
}

// Schema is the statement that makes the table, for those who have a tool for
// this.
func (s *Store) Schema() string { return s.dialect.compile(s.dialect.schema, s.table).text }
