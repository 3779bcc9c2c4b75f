// Two nodes that write to one file at the same time.

package database_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/lease"
)

// A node that would fail because another one is just writing could lose its lease for it.
func TestAWriterWaitsForAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	db, err := database.Open("sqlite:"+path, database.ForCandidates)
	require.NoError(t, err)
	require.NoError(t, db.Prepare(t.Context()))
	file, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	other, err := file.Conn(t.Context())
	require.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	written := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		_, err := other.ExecContext(t.Context(), "COMMIT")
		written <- err
	})
	won, err := db.Store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: time.Hour})
	require.NoError(t, <-written)
	require.NoError(t, err)
	assert.True(t, won)
	assert.NoError(t, other.Close())
	assert.NoError(t, file.Close())
	assert.NoError(t, db.Close())
}
