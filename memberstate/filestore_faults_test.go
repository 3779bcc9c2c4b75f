// A disk that fails: it is full, broken, or not writable.

package memberstate_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// failNth makes the n-th operation from now on fail, once.
func failNth(disk *crashdisk.Disk, n int, failure error) (failed *string) {
	failed = new(string)
	disk.Before = func(op string) error {
		if n--; n == 0 {
			*failed = op
			return failure
		}
		return nil
	}
	return failed
}

// putOff postpones a store's background work until run is called.
func putOff(disk *crashdisk.Disk) (run func()) {
	var works []func()
	disk.Later = func(work func()) { works = append(works, work) }
	return func() {
		for len(works) > 0 {
			work := works[0]
			works = works[1:]
			work()
		}
	}
}

func never(func()) {}

// Each operation fails in turn. If it is part of a save, the save returns the error and the store is
// unusable; opened again, it has all acknowledged records. If it is background work, no save fails, not even one that
// does it because the background is behind; that is reported.
func TestAFailedSaveMakesTheStoreUnusable(t *testing.T) {
	for _, failure := range []error{syscall.ENOSPC, syscall.EIO, syscall.EMFILE} {
		inSaves, background := map[string]int{}, map[string]int{}
		for n := 1; ; n++ {
			op, inSave := failsAt(t, n, failure)
			if op == "" {
				break
			}
			if inSave {
				inSaves[op]++
			} else {
				background[op]++
			}
		}
		for _, op := range []string{"write", "sync", "rename", "syncdir"} {
			assert.Positive(t, inSaves[op], "%s never failed in a save: %v", op, inSaves)
		}
		for _, op := range []string{"create", "write", "sync", "link", "rename"} {
			assert.Positive(t, background[op], "%s never failed in the background: %v", op, background)
		}
		assert.Zero(t, inSaves["create"], "no save needs a new file")
	}
}

// failsAt plays the script, in which the n-th operation fails. It returns that operation, and
// whether it was part of a save.
func failsAt(t *testing.T, n int, failure error) (op string, inSave bool) {
	t.Helper()
	disk := new(crashdisk.Disk)
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	hears := new(listener)
	s, err = memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", room)
	require.NoError(t, err)
	m := &model{created: true, acked: map[string]memberstate.Record{}}
	failed := failNth(disk, n, failure)
	run()
	for _, batch := range script() {
		m.underway = batch
		before := *failed
		if err = s.Save(batch); err != nil {
			require.Empty(t, before, "a failed %s in the background is harmless", before)
			break
		}
		if before != *failed {
			require.NotEmpty(t, hears.outcomes, "the save hides a failed %s", *failed)
			require.ErrorIs(t, hears.outcomes[len(hears.outcomes)-1], failure, "the save hides a failed %s", *failed)
		}
		m.acked, m.underway = m.with(), nil
		run()
	}
	if *failed == "" {
		return "", false
	}
	disk.Before = nil
	if err == nil {
		require.NoError(t, s.Close())
	} else {
		inSave = true
		require.ErrorIs(t, err, memberstate.ErrStoreBroken, *failed)
		require.ErrorIs(t, err, failure, *failed)
		require.ErrorContains(t, err, "n0", "it names the file")
		require.ErrorIs(t, s.Save([]memberstate.Record{{Group: "later"}}), memberstate.ErrStoreBroken)
		_, _, err = s.Load("g0")
		require.ErrorIs(t, err, memberstate.ErrStoreBroken)
		require.NoError(t, s.Close())
	}
	again, err := memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	require.Empty(t, m.allows(again.Records()), "after a failed %s", *failed)
	require.NoError(t, again.Close())
	return *failed, inSave
}

func TestACreateThatFailsCanBeTriedAgain(t *testing.T) {
	for n := 1; ; n++ {
		disk := new(crashdisk.Disk)
		disk.Later = never
		failed := failNth(disk, n, syscall.ENOSPC)
		s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
		if *failed == "" {
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, syscall.ENOSPC, *failed)
		require.NotErrorIs(t, err, fs.ErrNotExist, *failed)
		require.Nil(t, s)
		require.Nil(t, disk.Get("n0.new"), "a part of a store is left after a failed %s", *failed)
		s, err = memberstate.CreateSmall(disk, "n0", "n0", room)
		if errors.Is(err, memberstate.ErrStoreExists) { // it was complete, but the caller could not know
			s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
		}
		require.NoError(t, err, "after a failed %s", *failed)
		require.NoError(t, s.Close())
	}
}

func TestAnOpenThatFailsCanBeTriedAgain(t *testing.T) {
	clean, holds := whole(t)
	damaged := bytes.Clone(clean)
	damaged[memberstate.FirstSave*memberstate.PageSize] ^= 1 // opening it has to write a new file
	for name, c := range map[string]struct {
		text   []byte
		needed int // operations; what fails later belongs to the preparation of the next file, and is tried again
	}{"clean": {clean, 2}, "damaged": {damaged, 14}} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				disk := new(crashdisk.Disk)
				disk.Set("n0", c.text)
				disk.Later = never
				failed := failNth(disk, n, syscall.EIO)
				s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
				if n > c.needed {
					require.NoError(t, err, *failed)
					require.Equal(t, holds, s.Records())
					if *failed == "" {
						break
					}
					continue
				}
				require.ErrorIs(t, err, syscall.EIO, *failed)
				disk.Before = nil
				s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
				require.NoError(t, err, "after a failed %s", *failed)
				require.Equal(t, holds, s.Records())
			}
		})
	}
}

func TestADirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	notOne := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(notOne, nil, 0o600))
	_, err := memberstate.CreateFile(filepath.Join(notOne, "store"), "n0")
	assert.ErrorIs(t, err, syscall.ENOTDIR)
	assert.ErrorContains(t, err, notOne)

	locked := t.TempDir()
	require.NoError(t, os.Chmod(locked, 0o500))
	if os.WriteFile(filepath.Join(locked, "probe"), nil, 0o600) == nil {
		t.Skip("this user may write anywhere")
	}
	_, err = memberstate.CreateFile(filepath.Join(locked, "store"), "n0")
	assert.ErrorIs(t, err, os.ErrPermission)
	assert.ErrorContains(t, err, locked)
}

// The first error may be lost among many later ones, so each of these says as much.
func TestABrokenStoreSaysWhatHasFailed(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err)
	failNth(disk, 1, syscall.EIO)
	first := s.Save([]memberstate.Record{written("g", 1, "n1")})
	require.ErrorIs(t, first, syscall.EIO)
	disk.Before = nil
	later := s.Save([]memberstate.Record{written("g", 2, "n1")})
	_, _, load := s.Load("g")
	for _, err := range []error{later, load} {
		require.ErrorIs(t, err, memberstate.ErrStoreBroken)
		require.ErrorIs(t, err, syscall.EIO)
		assert.ErrorContains(t, err, "dir/store")
	}
	closed(t, s)
}
