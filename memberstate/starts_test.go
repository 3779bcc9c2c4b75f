// Starts of a node's process are counted in its store, beside the records of groups.

package memberstate_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// brokenStore fails in every call for which it has an error.
type brokenStore struct {
	memberstate.MemStore
	load, save error
}

func (s *brokenStore) Load(group string) (memberstate.Record, bool, error) {
	r, known, err := s.MemStore.Load(group)
	if s.load != nil {
		err = s.load
	}
	return r, known, err
}

func (s *brokenStore) Save(batch []memberstate.Record) error {
	if s.save != nil {
		return s.save
	}
	return s.MemStore.Save(batch)
}

func TestStartsAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 7, "n1")}))
	for _, want := range []uint64{1000, 1001, 1002} {
		starts, err := memberstate.CountStart(s, 1000)
		require.NoError(t, err)
		assert.Equal(t, want, starts)
		assert.Equal(t, written("g", 7, "n1"), load(t, s, "g"), "groups keep theirs")
		closed(t, s)
		s, err = memberstate.OpenFile(path, "n0")
		require.NoError(t, err)
	}
	closed(t, s)
}

func TestAStartIsCountedOnceItIsDurable(t *testing.T) {
	var s brokenStore
	s.save = assert.AnError
	_, err := memberstate.CountStart(&s, 5)
	require.ErrorIs(t, err, assert.AnError)
	s.save, s.load = nil, assert.AnError
	_, err = memberstate.CountStart(&s, 5)
	require.ErrorIs(t, err, assert.AnError)
	assert.Empty(t, s.Durable(), "a count that cannot be read is not begun anew")
	s.load = nil
	starts, err := memberstate.CountStart(&s, 5)
	require.NoError(t, err)
	assert.EqualValues(t, 5, starts)
}
