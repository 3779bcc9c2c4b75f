//go:build unix

// Calls of the system that are interrupted, or fail.

package memberstate

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func emptyFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "n0"))
	require.NoError(t, err)
	return f
}

// Some file systems let a signal interrupt a sync, and then nothing has failed.
func TestACallThatASignalInterruptsIsMadeAgain(t *testing.T) {
	f := emptyFile(t)
	results := []error{syscall.EINTR, syscall.EINTR, syscall.EIO}
	require.ErrorIs(t, control(f, func(int) (err error) {
		err, results = results[0], results[1:]
		return err
	}), syscall.EIO)
	assert.Empty(t, results)
	require.NoError(t, f.Close())
}

// Otherwise its operator would search for another process in vain.
func TestAFileThatCannotBeLockedIsNotCalledLocked(t *testing.T) {
	f := emptyFile(t)
	require.NoError(t, f.Close())
	err := lockOpened(f)
	require.ErrorContains(t, err, "closed file")
	assert.NotErrorIs(t, err, ErrStoreLocked)
}

// What a link points to would stay as it is when the store replaces its file, and could be opened beside it.
func TestAStoreIsNotOpenedThroughASymbolicLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "n0"), filepath.Join(dir, "link")
	s, err := CreateFile(file, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Symlink(file, link))
	_, err = OpenFile(link, "n0")
	require.EqualError(t, err, "memberstate: "+link+": open: "+errSymbolicLink.Error())
	_, err = CreateFile(link, "n0")
	require.ErrorIs(t, err, errSymbolicLink)

	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "below")))
	s, err = OpenFile(filepath.Join(dir, "below", "n0"), "n0")
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// A node that waits for a store that is locked opens it again and again. Every descriptor is the least free one.
func TestAFileThatIsLockedIsClosedAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n0.lock")
	held, err := lockFile(name)
	require.NoError(t, err)
	free := func() uintptr {
		f := emptyFile(t)
		fd := f.Fd()
		require.NoError(t, f.Close())
		return fd
	}
	before := free()
	for range 3 {
		_, err = lockFile(name)
		require.ErrorIs(t, err, ErrStoreLocked)
	}
	assert.Equal(t, before, free())
	require.NoError(t, held.Close())
}
