// The disk keeps what was synced through every crash, and nothing else for certain.

package crashdisk_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

func drawn() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// syncDir makes the names durable.
func syncDir(t *testing.T, d *crashdisk.Disk) {
	t.Helper()
	dir, err := d.Dir("f")
	require.NoError(t, err)
	require.NoError(t, dir.Sync())
}

// create makes the file "f" and makes its name durable.
func create(t *testing.T, d *crashdisk.Disk) memberstate.File {
	t.Helper()
	f, err := d.Create("f")
	require.NoError(t, err)
	syncDir(t, d)
	return f
}

func write(t *testing.T, f memberstate.File, text []byte) {
	t.Helper()
	n, err := f.WriteAt(text, 0)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

// states are the contents that "f" may have after a crash; nil: the file is gone.
func states(d *crashdisk.Disk) (all [][]byte) {
	for after := range d.States(drawn(), 1) {
		all = append(all, after.Get("f"))
	}
	return all
}

func TestSyncedContentSurvives(t *testing.T) {
	var d crashdisk.Disk
	f := create(t, &d)
	write(t, f, []byte("kept"))
	require.NoError(t, f.Sync())
	for _, text := range states(&d) {
		assert.Equal(t, "kept", string(text))
	}
}

func TestAnyPartOfUnsyncedContentMaySurvive(t *testing.T) {
	var d crashdisk.Disk
	f := create(t, &d)
	write(t, f, bytes.Repeat([]byte("-"), 3*crashdisk.SectorSize))
	require.NoError(t, f.Sync())
	write(t, f, bytes.Repeat([]byte("+"), 3*crashdisk.SectorSize))
	seen := map[string]bool{}
	torn := false
	for _, text := range states(&d) {
		pattern := ""
		for sector := range 3 {
			part := text[sector*crashdisk.SectorSize:][:crashdisk.SectorSize]
			n := bytes.Count(part, []byte("+"))
			torn = torn || n > 0 && n < len(part)
			pattern += string("-+"[n/len(part)])
		}
		seen[pattern] = true
	}
	for _, pattern := range []string{"---", "+--", "-+-", "--+", "++-", "+-+", "-++", "+++"} {
		assert.True(t, seen[pattern], pattern)
	}
	assert.True(t, torn, "a sector may be torn")
}

func TestNamesAreDurableOnceTheDirectoryIsSynced(t *testing.T) {
	var d crashdisk.Disk
	old := create(t, &d)
	write(t, old, []byte("old"))
	require.NoError(t, old.Sync())
	aside, err := d.Create("aside")
	require.NoError(t, err)
	write(t, aside, []byte("new"))
	require.NoError(t, aside.Sync())
	require.NoError(t, d.Rename("aside", "f"))
	texts := map[string]bool{}
	for _, text := range states(&d) {
		texts[string(text)] = true
	}
	assert.Equal(t, map[string]bool{"old": true, "new": true}, texts)
	syncDir(t, &d)
	for _, text := range states(&d) {
		assert.Equal(t, "new", string(text))
	}
}

// A file with two names is one file, even after a crash.
func TestAFileMayHaveTwoNames(t *testing.T) {
	var d crashdisk.Disk
	f := create(t, &d)
	require.NoError(t, d.Link("f", "also"))
	assert.ErrorIs(t, d.Link("f", "also"), fs.ErrExist)
	syncDir(t, &d)
	write(t, f, bytes.Repeat([]byte("+"), 2*crashdisk.SectorSize))
	n := 0
	for after := range d.States(drawn(), 1) {
		n++
		require.Equal(t, after.Get("f"), after.Get("also"))
	}
	assert.Greater(t, n, 4)
	aside, err := d.Create("aside")
	require.NoError(t, err)
	write(t, aside, []byte("other"))
	require.NoError(t, d.Rename("aside", "f"))
	assert.Equal(t, "other", string(d.Get("f")))
	assert.Len(t, d.Get("also"), 2*crashdisk.SectorSize, "the file is kept without its first name")
	require.NoError(t, d.Link("f", "g"))
	require.NoError(t, d.Rename("g", "f"))
	assert.NotNil(t, d.Get("g"), "renaming a file to itself does nothing")
}

func TestAFileIsOpenedOnce(t *testing.T) {
	var d crashdisk.Disk
	f := create(t, &d)
	require.NoError(t, d.Link("f", "also"))
	for _, name := range []string{"f", "also"} {
		_, err := d.Open(name)
		assert.ErrorIs(t, err, memberstate.ErrStoreLocked, name)
	}
	_, err := d.Create("f")
	assert.ErrorIs(t, err, fs.ErrExist)
	require.NoError(t, f.Close())
	_, err = d.Open("also")
	require.NoError(t, err)
	d.Unlock()
	_, err = d.Open("f")
	assert.NoError(t, err, "its process has died")
}

func TestBackgroundWorkCanBePostponed(t *testing.T) {
	var d crashdisk.Disk
	done := 0
	work := func() { done++ }
	d.Background(work)
	assert.Equal(t, 1, done)
	var later []func()
	d.Later = func(work func()) { later = append(later, work) }
	d.Background(work)
	assert.Equal(t, 1, done)
	assert.Len(t, later, 1)
}

func TestAFailedSyncLosesItsWrites(t *testing.T) {
	var d crashdisk.Disk
	f := create(t, &d)
	write(t, f, []byte("lost"))
	failure := errors.New("no")
	d.Before = func(op string) error {
		if op == "sync" {
			return failure
		}
		return nil
	}
	assert.ErrorIs(t, f.Sync(), failure)
	d.Before = nil
	assert.NoError(t, f.Sync(), "the next sync has nothing to write")
	assert.Equal(t, "lost", string(d.Get("f")), "it is in the cache")
	for _, text := range states(&d) {
		assert.Empty(t, text)
	}
}

func TestALockIsHeldOnce(t *testing.T) {
	var d crashdisk.Disk
	l, err := d.Lock("l")
	require.NoError(t, err)
	_, err = d.Lock("l")
	assert.ErrorIs(t, err, memberstate.ErrStoreLocked)
	require.NoError(t, l.Close())
	_, err = d.Lock("l")
	assert.NoError(t, err)
}
