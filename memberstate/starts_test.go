// Starts of a node's process are counted in its store, beside the records of groups, and it is remembered there whether the node is kept drained.

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

// The count only grows by one, even if the clock, from which a first count is taken, is ahead of it by then.
func TestALaterStartDoesNotBeginAnew(t *testing.T) {
	var s memberstate.MemStore
	for i := range uint64(3) {
		starts, err := memberstate.CountStart(&s, 5+1000*i)
		require.NoError(t, err)
		assert.Equal(t, 5+i, starts)
	}
}

// Only its own words keep a node drained, and they keep what is there of the count.
func TestTheRecordOfANodeHasItsWord(t *testing.T) {
	var s memberstate.MemStore
	require.NoError(t, s.Save([]memberstate.Record{{Term: 8, Vote: "other"}}))
	assert.False(t, keptDrained(t, &s))
	require.NoError(t, memberstate.KeepDrained(&s, true))
	assert.Equal(t, map[string]memberstate.Record{"": {Term: 8, Vote: "drained"}}, s.Durable(), "stores of other versions say so, too")
	require.NoError(t, memberstate.KeepDrained(&s, false))
	assert.Equal(t, map[string]memberstate.Record{"": {Term: 8}}, s.Durable())
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

// keptDrained says what a store remembers.
func keptDrained(t *testing.T, s memberstate.Store) bool {
	t.Helper()
	kept, err := memberstate.IsKeptDrained(s)
	require.NoError(t, err)
	return kept
}

func TestANodeIsKeptDrainedWhileItsStartsAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 7, "drained")}))
	assert.False(t, keptDrained(t, s), "a vote of a group says nothing about the node")
	assert.False(t, load(t, s, "g").KeepsDrained())
	reopen := func() {
		closed(t, s)
		s, err = memberstate.OpenFile(path, "n0")
		require.NoError(t, err)
	}
	require.NoError(t, memberstate.KeepDrained(s, true))
	for _, want := range []uint64{1000, 1001} {
		reopen()
		assert.True(t, keptDrained(t, s))
		starts, err := memberstate.CountStart(s, 1000)
		require.NoError(t, err)
		assert.Equal(t, want, starts, "it begins with the first, although there was a record")
	}
	require.NoError(t, memberstate.KeepDrained(s, false))
	reopen()
	assert.False(t, keptDrained(t, s))
	starts, err := memberstate.CountStart(s, 1000)
	require.NoError(t, err)
	assert.EqualValues(t, 1002, starts)
	closed(t, s)
}

func TestANodeIsKeptDrainedOnceThatIsDurable(t *testing.T) {
	var s brokenStore
	s.save = assert.AnError
	require.NoError(t, memberstate.KeepDrained(&s, false), "there is nothing to save")
	require.ErrorIs(t, memberstate.KeepDrained(&s, true), assert.AnError)
	assert.False(t, keptDrained(t, &s))
	s.save = nil
	require.NoError(t, memberstate.KeepDrained(&s, true))
	s.save = assert.AnError
	require.NoError(t, memberstate.KeepDrained(&s, true), "it is already")
	require.ErrorIs(t, memberstate.KeepDrained(&s, false), assert.AnError)
	assert.True(t, keptDrained(t, &s))
	s.load = assert.AnError
	s.save = nil
	require.ErrorIs(t, memberstate.KeepDrained(&s, false), assert.AnError)
	assert.True(t, s.Durable()[""].KeepsDrained(), "a record that cannot be read is not replaced")
	_, err := memberstate.IsKeptDrained(&s)
	require.ErrorIs(t, err, assert.AnError)
}

// An older version counts a start, and forgets what it does not know.
func TestAnOlderVersionForgetsThatANodeIsKeptDrained(t *testing.T) {
	var s memberstate.MemStore
	require.NoError(t, memberstate.KeepDrained(&s, true))
	require.NoError(t, s.Save([]memberstate.Record{{Term: 8}}))
	assert.False(t, keptDrained(t, &s))
}

// Nobody may rely on it that a node serves again if its store could not be read.
func TestAStoreThatCannotBeReadDoesNotSayThatANodeServes(t *testing.T) {
	s := brokenStore{load: assert.AnError}
	for _, on := range []bool{false, true} {
		assert.ErrorIs(t, memberstate.KeepDrained(&s, on), assert.AnError)
	}
	assert.Empty(t, s.Durable())
}

// Otherwise a process that is started again and again has soon counted as many starts as other nodes have seen.
func TestAnOutdatedStoreIsNotUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, memberstate.KeepDrained(s, true))
	starts, err := memberstate.CountStart(s, 8)
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{memberstate.OutdatedRecord(starts)}))
	require.NoError(t, s.Close())
	s, err = memberstate.OpenFile(path, "n0")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for range 2 {
		_, err = memberstate.CountStart(s, 8)
		require.ErrorIs(t, err, memberstate.ErrOutdated)
		require.ErrorContains(t, err, "started 8 times")
		for _, drained := range []bool{true, false} {
			require.ErrorIs(t, memberstate.KeepDrained(s, drained), memberstate.ErrOutdated)
		}
	}
	own, _, err := s.Load("")
	require.NoError(t, err)
	assert.True(t, own.Outdated())
	assert.False(t, memberstate.Record{Group: "g", Vote: own.Vote}.Outdated(), "a member may have any id")
}
