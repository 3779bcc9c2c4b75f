// The file system of the operating system, as far as a store relies on it.

package memberstate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// A store must not write into a file that somebody else has made under that name.
func TestAFileIsMadeOnce(t *testing.T) {
	disk, name := memberstate.OSDisk(), filepath.Join(t.TempDir(), "n0")
	_, err := disk.Open(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	f, err := disk.Create(name)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = disk.Create(name)
	require.ErrorIs(t, err, fs.ErrExist)
}

// Each is for one holder, whatever its name.
func TestALockedFileIsNamed(t *testing.T) {
	disk, name := memberstate.OSDisk(), filepath.Join(t.TempDir(), "n0")
	f, err := disk.Create(name)
	require.NoError(t, err)
	second := name + ".second"
	require.NoError(t, disk.Link(name, second))
	for _, name := range []string{name, second} {
		_, err = disk.Open(name)
		require.ErrorIs(t, err, memberstate.ErrStoreLocked)
		assert.ErrorContains(t, err, "it holds "+name)
	}
	require.NoError(t, f.Close())
	f, err = disk.Open(second)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	l, err := disk.Lock(name + ".lock")
	require.NoError(t, err)
	_, err = disk.Lock(name + ".lock")
	require.ErrorIs(t, err, memberstate.ErrStoreLocked)
	assert.ErrorContains(t, err, "it holds "+name+".lock")
	require.NoError(t, l.Close())
	l, err = disk.Lock(name + ".lock")
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// A name that points to the file's own name is another one: a rename would move the pointer, and not
// the file.
func TestANameIsNotThatOfAFileItPointsTo(t *testing.T) {
	disk, dir := memberstate.OSDisk(), t.TempDir()
	name, pointer, other := filepath.Join(dir, "n0"), filepath.Join(dir, "pointer"), filepath.Join(dir, "other")
	f, err := disk.Create(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	if os.Symlink(name, pointer) != nil {
		pointer = other // this system or this user has no such names
	}
	assert.True(t, f.HasName(name))
	assert.False(t, f.HasName(pointer))
	assert.False(t, f.HasName(other))
	assert.False(t, f.HasName(filepath.Join(dir, "missing")))
	require.NoError(t, disk.Rename(other, name))
	assert.False(t, f.HasName(name), "it is another file's")
	require.NoError(t, f.Close())
	assert.False(t, f.HasName(other))
	_, err = f.Size()
	assert.ErrorIs(t, err, fs.ErrClosed)
	assert.Error(t, f.Sync())
}
