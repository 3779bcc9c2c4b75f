// MemStore after crashes: acknowledged records stay, others may be lost.

package memberstate_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func record(group string, term memberstate.Term) []memberstate.Record {
	return []memberstate.Record{{Group: group, Term: term}}
}

func none(memberstate.Record) bool { return false }
func all(memberstate.Record) bool  { return true }

// assertTerm checks the term that the store has for a group; zero: no record.
func assertTerm(t *testing.T, s *memberstate.MemStore, group string, term memberstate.Term) {
	t.Helper()
	r, known, err := s.Load(group)
	require.NoError(t, err)
	assert.Equal(t, term > 0, known)
	assert.Equal(t, term, r.Term)
}

func TestASavedRecordSurvivesACrash(t *testing.T) {
	var s memberstate.MemStore
	require.NoError(t, s.Save(record("g", 7)))
	s.Crash(none)
	assertTerm(t, &s, "g", 7)
	assertTerm(t, &s, "other", 0)
}

func TestARecordThatIsNotSyncedMaySurviveACrash(t *testing.T) {
	for _, survives := range []bool{true, false} {
		var s memberstate.MemStore
		require.NoError(t, s.Save(record("g", 1)))
		require.NoError(t, s.Write(record("g", 2)))
		assertTerm(t, &s, "g", 1)
		s.Crash(func(memberstate.Record) bool { return survives })
		if survives {
			assertTerm(t, &s, "g", 2)
		} else {
			assertTerm(t, &s, "g", 1)
		}
		require.NoError(t, s.Sync())
		assert.Len(t, s.Durable(), 1)
	}
}

// A crash decides what becomes of each record; no later one does so again.
func TestACrashForgetsWhatItHasLost(t *testing.T) {
	var s memberstate.MemStore
	require.NoError(t, s.Write(record("g", 1)))
	s.Crash(none)
	s.Crash(all)
	assertTerm(t, &s, "g", 0)
	require.NoError(t, s.Write(record("g", 2)))
	require.NoError(t, s.Write(record("h", 3)))
	s.Break(errors.New("broken"))
	_, _, err := s.Load("g")
	require.NoError(t, err, "a broken store can be read")
	s.Crash(func(r memberstate.Record) bool { return r.Group == "h" })
	assertTerm(t, &s, "g", 0)
	assertTerm(t, &s, "h", 3)
}

// The caller may use its slice again, and what Durable returns is the caller's.
func TestAMemStoreKeepsNoSliceAndGivesNoMap(t *testing.T) {
	var s memberstate.MemStore
	batch := append(record("g", 1), record("mine", 1)...)
	require.NoError(t, s.Write(batch[:1]))
	require.NoError(t, s.Write(record("h", 2)))
	assert.Equal(t, record("mine", 1), batch[1:])
	batch[0].Term = 9
	require.NoError(t, s.Sync())
	durable := s.Durable()
	assert.Equal(t, map[string]memberstate.Record{"g": record("g", 1)[0], "h": record("h", 2)[0]}, durable)
	clear(durable)
	assertTerm(t, &s, "g", 1)
}

func TestTheLaterRecordWins(t *testing.T) {
	var s memberstate.MemStore
	require.NoError(t, s.Write(record("g", 1)))
	require.NoError(t, s.Write(record("g", 2)))
	s.Crash(func(r memberstate.Record) bool { return r.Term == 1 })
	assertTerm(t, &s, "g", 1)
	require.NoError(t, s.Write(record("g", 3)))
	require.NoError(t, s.Write(record("g", 4)))
	s.Crash(all)
	assertTerm(t, &s, "g", 4)
}

func TestABrokenStoreFailsUntilTheNextCrash(t *testing.T) {
	var s memberstate.MemStore
	broken := errors.New("broken")
	require.NoError(t, s.Write(record("g", 1)))
	s.Break(broken)
	require.ErrorIs(t, s.Sync(), broken)
	require.ErrorIs(t, s.Write(record("g", 2)), broken)
	require.ErrorIs(t, s.Save(record("g", 2)), broken)
	s.Crash(none)
	assertTerm(t, &s, "g", 0)
	require.NoError(t, s.Save(record("g", 3)))
	assertTerm(t, &s, "g", 3)
}

func TestSavesMayBeConcurrent(t *testing.T) {
	var s memberstate.MemStore
	saveTogether(t, &s, func() {
		_, _, err := s.Load("0")
		assert.NoError(t, err)
		assert.NotEmpty(t, s.Durable())
	})
	s.Crash(none)
	assertAllSaved(t, &s)
}

// A crash in which the disk cache survives loses nothing, whatever goes on meanwhile.
func TestACrashMayComeDuringSaves(t *testing.T) {
	var s memberstate.MemStore
	saveTogether(t, &s, func() { s.Crash(func(memberstate.Record) bool { return true }) })
	assertAllSaved(t, &s)
}

const savers, lastTerm = 10, 100

// saveTogether has several goroutines save a group each, many times, and do something after each save.
func saveTogether(t *testing.T, s *memberstate.MemStore, then func()) {
	t.Helper()
	var all sync.WaitGroup
	for i := range savers {
		all.Go(func() {
			for term := range memberstate.Term(lastTerm) {
				assert.NoError(t, s.Save(record(fmt.Sprint(i), term+1)))
				then()
			}
		})
	}
	all.Wait()
}

func assertAllSaved(t *testing.T, s *memberstate.MemStore) {
	t.Helper()
	for i := range savers {
		assertTerm(t, s, fmt.Sprint(i), lastTerm)
	}
}
