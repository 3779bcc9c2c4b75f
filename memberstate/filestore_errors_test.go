// Errors name the file, the operation and the place.

package memberstate_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// failOp makes the n-th operation of this name from now on fail, once.
func failOp(disk *crashdisk.Disk, name string, n int) {
	disk.Before = func(op string) error {
		if op == name {
			if n--; n == 0 {
				return syscall.EIO
			}
		}
		return nil
	}
}

// namesPlace checks what an error of the store "dir/store" says. A negative offset stands for the whole file.
func namesPlace(t *testing.T, err error, op string, offset int64) {
	t.Helper()
	require.ErrorIs(t, err, syscall.EIO)
	var where *memberstate.FileError
	require.ErrorAs(t, err, &where)
	assert.Equal(t, memberstate.FileError{Path: "dir/store", Op: op, Offset: offset, Err: syscall.EIO}, *where)
	says := fmt.Sprintf("memberstate: dir/store: %s at offset %d: %v", op, offset, syscall.EIO)
	if offset < 0 {
		says = fmt.Sprintf("memberstate: dir/store: %s: %v", op, syscall.EIO)
	}
	assert.ErrorContains(t, err, says)
}

const halfOfRoom = room / 2 * memberstate.PageSize

func TestAFailedSaveNamesThePlace(t *testing.T) {
	const third = (memberstate.FirstSave + 2) * memberstate.PageSize // where the third save goes
	for _, c := range []struct {
		saves  int // before
		op     string
		n      int
		says   string
		offset int64
	}{
		{2, "write", 1, "write", third},
		{2, "write", 2, "write", halfOfRoom + third},
		{2, "sync", 1, "sync", third},
		{5, "write", 1, "write dir/store.new", memberstate.PageSize}, // the file is full; the snapshot
		{5, "write", 2, "write dir/store.new", halfOfRoom + memberstate.PageSize},
		{5, "write", 3, "write dir/store.new", 0}, // the header
		{5, "write", 4, "write dir/store.new", halfOfRoom},
		{5, "sync", 1, "sync dir/store.new", -1},
		{5, "rename", 1, "replace", -1},
		{5, "syncdir", 1, "sync the directory", -1},
	} {
		disk := new(crashdisk.Disk)
		s, err := memberstate.CreateSmall(disk, "dir/store", "n0", room)
		require.NoError(t, err)
		next := saves(t, s, 1, c.saves)
		failOp(disk, c.op, c.n)
		err = s.Save([]memberstate.Record{written("g", next, "n1")})
		require.ErrorIs(t, err, memberstate.ErrStoreBroken, "%s %d after %d saves", c.op, c.n, c.saves)
		namesPlace(t, err, c.says, c.offset)
		assert.Equal(t, []memberstate.Record{written("g", next-1, "n1")}, s.Records(), "what may not be durable is not shown")
		disk.Before = nil
		closed(t, s)
	}
}

func TestAnOpenThatFailsNamesThePlace(t *testing.T) {
	text, _ := whole(t)
	for op, says := range map[string]string{"sync": "sync", "syncdir": "sync the directory"} {
		disk := new(crashdisk.Disk)
		disk.Set("dir/store", text)
		failOp(disk, op, 1)
		_, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
		namesPlace(t, err, says, -1)
	}
}

// Only the report tells of it, because no save fails.
func TestAFailedPreparationNamesThePlace(t *testing.T) {
	const twoParts, part = 128, 256 << 10
	for _, c := range []struct {
		put    func(disk *crashdisk.Disk) // before it begins
		op     string
		n      int
		says   string
		offset int64
	}{
		{nil, "create", 1, "create dir/store.new", -1},
		{nil, "write", 1, "fill dir/store.new", 0},
		{nil, "write", 2, "fill dir/store.new", part},
		{nil, "sync", 1, "sync dir/store.new", 0},
		{nil, "sync", 2, "sync dir/store.new", part},
		{func(disk *crashdisk.Disk) { disk.Set("dir/store.old", nil) }, "remove", 1, "remove dir/store.old", -1},
		{func(disk *crashdisk.Disk) { _ = disk.Link("dir/store", "dir/store.new") }, "remove", 1, "remove dir/store.new", -1},
	} {
		disk, hears := new(crashdisk.Disk), new(listener)
		run := putOff(disk)
		s, err := memberstate.CreateSmall(disk, "dir/store", "n0", twoParts)
		require.NoError(t, err)
		closed(t, s)
		s, err = memberstate.OpenSmallWith(hears.options(disk), "dir/store", "n0", twoParts)
		require.NoError(t, err)
		if c.put != nil {
			c.put(disk)
		}
		failOp(disk, c.op, c.n)
		run()
		require.Len(t, hears.outcomes, 1, "%s %d", c.op, c.n)
		namesPlace(t, hears.outcomes[0], c.says, c.offset)
		disk.Before = nil
		saves(t, s, 1, 1)
		run()
		assert.True(t, s.Ready(), "the next attempt succeeds")
		closed(t, s)
	}
}

// The full file becomes the next one by a rename, which may fail.
func TestAFailedRenameOfTheFullFileNamesThePlace(t *testing.T) {
	disk, hears := new(crashdisk.Disk), new(listener)
	s, err := memberstate.CreateSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	s, err = memberstate.OpenSmallWith(hears.options(disk), "dir/store", "n0", room)
	require.NoError(t, err)
	saves(t, s, 1, 5)
	hears.outcomes = nil
	failOp(disk, "rename", 2)
	saves(t, s, 6, 1)
	require.Len(t, hears.outcomes, 1)
	namesPlace(t, hears.outcomes[0], "rename dir/store.old", -1)
	disk.Before = nil
	saves(t, s, 7, 1)
	assert.True(t, s.Ready())
	closed(t, s)
}

// oddDisk changes what its files and directories do, where a function is not nil.
type oddDisk struct {
	*crashdisk.Disk
	read    func(f memberstate.File, b []byte, at int64) (int, error)
	size    func(f memberstate.File) (int64, error)
	closing error
	dir     error
}

type oddFile struct {
	memberstate.File
	disk *oddDisk
}

func (d *oddDisk) Open(name string) (memberstate.File, error) {
	f, err := d.Disk.Open(name)
	if err != nil {
		return nil, err
	}
	return oddFile{f, d}, nil
}

func (d *oddDisk) Dir(name string) (memberstate.Dir, error) {
	if d.dir != nil {
		return nil, d.dir
	}
	return d.Disk.Dir(name)
}

func (f oddFile) ReadAt(b []byte, at int64) (int, error) {
	if f.disk.read != nil {
		return f.disk.read(f.File, b, at)
	}
	return f.File.ReadAt(b, at)
}

func (f oddFile) Size() (int64, error) {
	if f.disk.size != nil {
		return f.disk.size(f.File)
	}
	return f.File.Size()
}

func (f oddFile) Close() error { return errors.Join(f.File.Close(), f.disk.closing) }

// onOddDisk is a disk with the file of a store, "dir/store".
func onOddDisk(t *testing.T) *oddDisk {
	t.Helper()
	text, _ := whole(t)
	disk := &oddDisk{Disk: new(crashdisk.Disk)}
	disk.Set("dir/store", text)
	return disk
}

// What cannot be read is not damaged for that, and what could be read is no store.
func TestAFileThatCannotBeReadIsNotOpened(t *testing.T) {
	disk := onOddDisk(t)
	disk.read = func(memberstate.File, []byte, int64) (int, error) { return 5000, syscall.EIO }
	_, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
	namesPlace(t, err, "read", 5000)
	assert.NotErrorIs(t, err, memberstate.ErrDamaged)

	disk = onOddDisk(t)
	disk.size = func(memberstate.File) (int64, error) { return 0, syscall.EIO }
	_, err = memberstate.OpenSmall(disk, "dir/store", "n0", room)
	namesPlace(t, err, "read", -1)
	assert.NotErrorIs(t, err, memberstate.ErrDamaged)
}

func TestAFileThatEndsBeforeItsSizeIsDamaged(t *testing.T) {
	for _, end := range []error{io.EOF, nil} {
		disk := onOddDisk(t)
		disk.read = func(memberstate.File, []byte, int64) (int, error) { return 5000, end }
		_, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.ErrorContains(t, err, "memberstate: dir/store: read at offset 5000: the store is damaged: the file ends after 5000 bytes")
	}
}

// A reader may say at once that there is no more.
func TestTheEndOfTheFileMayComeWithItsLastByte(t *testing.T) {
	disk := onOddDisk(t)
	disk.read = func(f memberstate.File, b []byte, at int64) (int, error) {
		n, err := f.ReadAt(b, at)
		return n, errors.Join(err, io.EOF)
	}
	s, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err)
	closed(t, s)
}

// The next file has a size, too, which is needed to fill it.
func TestANextFileWithoutASizeIsNamed(t *testing.T) {
	disk, hears := onOddDisk(t), new(listener)
	disk.size = func(f memberstate.File) (int64, error) {
		if f.HasName("dir/store.new") {
			return 0, syscall.EIO
		}
		return f.Size()
	}
	disk.Set("dir/store.new", nil)
	s, err := memberstate.OpenSmallWith(hears.options(disk), "dir/store", "n0", room)
	require.NoError(t, err)
	require.Len(t, hears.outcomes, 2, "of Open, because the file is almost full, and in the background")
	for _, err := range hears.outcomes {
		namesPlace(t, err, "look at dir/store.new", -1)
	}
	closed(t, s)
}

// Without its directory a store could not make a rename durable.
func TestAStoreIsNotOpenedWithoutItsDirectory(t *testing.T) {
	disk := onOddDisk(t)
	disk.dir = syscall.EIO
	_, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
	namesPlace(t, err, "open the directory", -1)
	_, err = memberstate.CreateSmall(disk, "dir/other", "n0", room)
	require.ErrorIs(t, err, syscall.EIO)
	assert.Nil(t, disk.Get("dir/other"))
	disk.dir = nil
	s, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err, "a failed attempt has left a lock")
	closed(t, s)
}

// A file system may tell only then that it has lost a write.
func TestCloseReturnsTheErrorsOfItsFiles(t *testing.T) {
	disk := onOddDisk(t)
	s, err := memberstate.OpenSmall(disk, "dir/store", "n0", room)
	require.NoError(t, err)
	disk.closing = syscall.EIO
	require.ErrorIs(t, s.Close(), syscall.EIO)
	require.NoError(t, s.Close(), "each file is closed once")
	_, err = memberstate.OpenSmall(disk, "dir/store", "n1", room)
	require.ErrorIs(t, err, memberstate.ErrOtherNode)
	require.ErrorIs(t, err, syscall.EIO)
}

// Errors of calls name the file, as its path was given.
func TestARefusedCallNamesTheFile(t *testing.T) {
	const path = "dir/store"
	disk := new(crashdisk.Disk)
	for _, node := range []string{"", strings.Repeat("n", memberstate.MaxIDLength+1)} {
		_, err := memberstate.CreateSmall(disk, path, node, room)
		assert.ErrorContains(t, err, "memberstate: dir/store: the node's id ")
	}
	_, err := memberstate.OpenSmall(disk, path, "n0", room)
	assert.ErrorContains(t, err, "memberstate: dir/store: open: there is no store;")
	s, err := memberstate.CreateSmall(disk, path, "n0", room)
	require.NoError(t, err)
	_, err = memberstate.OpenSmall(disk, path, "n0", room)
	assert.ErrorContains(t, err, "memberstate: dir/store: lock: another process has the store open")
	assert.ErrorContains(t, s.Save([]memberstate.Record{{Group: "good"}, {Group: "bad", Promise: -1}}), `memberstate: dir/store: record 1 (group "bad"): Promise is negative`)
	closed(t, s)
	assert.ErrorContains(t, s.Save(nil), "memberstate: dir/store: file already closed")
	_, err = memberstate.CreateSmall(disk, path, "n0", room)
	assert.ErrorContains(t, err, "memberstate: dir/store: create: there is a store already")
}

// The path is there once: that of the system's error would be a second time.
func TestAnErrorNamesItsFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "store")
	_, err := memberstate.CreateFile(path, "n0")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, 1, strings.Count(err.Error(), path), err.Error())
}
