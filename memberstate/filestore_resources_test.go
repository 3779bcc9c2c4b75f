// The resources of an open store: descriptors, locks and the next file.

package memberstate_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// lendingDisk counts its open files.
type lendingDisk struct {
	memberstate.Disk
	open   atomic.Int32
	denied string // a name of another user's file; empty: none
}

type lentFile struct {
	memberstate.File
	disk *lendingDisk
}

func (f lentFile) Close() error {
	f.disk.open.Add(-1)
	return f.File.Close()
}

func (d *lendingDisk) lend(f memberstate.File, err error) (memberstate.File, error) {
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return lentFile{f, d}, nil
}

func (d *lendingDisk) Open(name string) (memberstate.File, error) {
	if name == d.denied {
		return nil, fs.ErrPermission
	}
	return d.lend(d.Disk.Open(name))
}

func (d *lendingDisk) Create(name string) (memberstate.File, error) {
	return d.lend(d.Disk.Create(name))
}

func (d *lendingDisk) Remove(name string) error {
	if name == d.denied {
		d.denied = ""
		_ = d.Disk.Remove(name) // it may not be there
		return nil
	}
	return d.Disk.Remove(name)
}

// Background works at once.
func (d *lendingDisk) Background(work func()) { work() }

// That includes files that have lost their names, files that were replaced on a disk without hard
// links, and the file of a store that could not be opened.
func TestEveryFileIsClosed(t *testing.T) {
	for _, linkable := range []bool{true, false} {
		crash := new(crashdisk.Disk)
		disk := &lendingDisk{Disk: &poorDisk{Disk: crash, unlinkable: !linkable}}
		s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
		require.NoError(t, err)
		next := memberstate.Term(1)
		for i := range 12 {
			next = saves(t, s, next, 3)
			assert.LessOrEqual(t, disk.open.Load(), int32(2), "more than the present and the next file")
			if i%3 == 2 {
				_ = crash.Remove("n0.new")
			}
		}
		closed(t, s)
		assert.Zero(t, disk.open.Load())

		_, err = memberstate.CreateSmall(disk, "n0", "n0", room)
		require.ErrorIs(t, err, memberstate.ErrStoreExists)
		_, err = memberstate.OpenSmall(disk, "n0", "n1", room)
		require.ErrorIs(t, err, memberstate.ErrOtherNode)
		assert.Zero(t, disk.open.Load())
		crash.Set("n0", []byte("no store"))
		_, err = memberstate.OpenSmall(disk, "n0", "n0", room)
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.Zero(t, disk.open.Load())
	}
}

// The next file has lost its name, and no other can be made.
func TestAFileThatCannotBeReplacedIsClosedOnce(t *testing.T) {
	crash := new(crashdisk.Disk)
	poor := &poorDisk{Disk: crash}
	disk := &lendingDisk{Disk: poor}
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	next := saves(t, s, 1, s.Left())
	require.NoError(t, crash.Remove("n0.new"))
	poor.exhausted = true
	require.ErrorIs(t, s.Save([]memberstate.Record{written("g", next, "n1")}), syscall.EMFILE)
	closed(t, s)
	assert.Zero(t, disk.open.Load())
}

// The same on a real disk, whose files are locked as they are opened.
func TestEveryDescriptorIsGivenBack(t *testing.T) {
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list descriptors")
		}
		return len(all)
	}
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.Eventually(t, s.Ready, 20*time.Second, time.Millisecond)
	require.NoError(t, os.Remove(path+".lock"))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector would close files that leak
	before := descriptors()
	for range 3 {
		_, err = memberstate.OpenFile(path, "n0")
		require.ErrorIs(t, err, memberstate.ErrStoreLocked)
		_, err = memberstate.InspectFile(path)
		require.NoError(t, err)
	}
	assert.Equal(t, before, descriptors())
	for _, name := range []string{path, path + ".new", path + ".lock"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "other users may neither read nor lock %s", name)
	}
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.EqualValues(t, 4<<20, info.Next)
	closed(t, s)
}

func TestANextFileOfAnotherUserIsReplaced(t *testing.T) {
	disk := &lendingDisk{Disk: new(crashdisk.Disk)}
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	disk.denied = "n0.new"
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	assert.True(t, s.Ready())
	assert.Empty(t, disk.denied)
	closed(t, s)
}

// Nobody knows whether a store that cannot be opened is this node's, with its votes.
func TestAStoreThatCannotBeOpenedIsNotReplaced(t *testing.T) {
	text, _ := whole(t)
	crash := new(crashdisk.Disk)
	crash.Set("n0", text)
	_, err := memberstate.CreateSmall(&lendingDisk{Disk: crash, denied: "n0"}, "n0", "n0", room)
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.Equal(t, text, crash.Get("n0"))
}

// While one goroutine prepares the next file, saves start no other.
func TestTheNextFileIsPreparedOnce(t *testing.T) {
	disk, begun := new(crashdisk.Disk), 0
	disk.Later = func(func()) { begun++ }
	s, err := memberstate.CreateSmall(disk, "n0", "n0", smallRoom)
	require.NoError(t, err)
	saves(t, s, 1, 5)
	assert.Equal(t, 1, begun)
	closed(t, s)
}

// A preparation that Close ends has neither succeeded nor failed.
func TestAPreparationThatCloseEndsIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, hears := new(crashdisk.Disk), new(listener)
		run := putOff(disk)
		s, err := memberstate.CreateSmall(disk, "n0", "n0", 1024)
		require.NoError(t, err)
		closed(t, s)
		s, err = memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", 1024)
		require.NoError(t, err)
		gate := make(chan struct{})
		disk.After = func(string) { <-gate }
		worked, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			defer close(worked)
			run()
		}()
		synctest.Wait() // a part is done
		go func() { ended <- s.Close() }()
		synctest.Wait()
		assert.Empty(t, ended, "Close waits for it")
		close(gate)
		require.NoError(t, <-ended)
		<-worked
		assert.Empty(t, hears.outcomes)
	})
}

// After a failed replacement the next file may be the store. It must not be filled with zeros, even
// before the failure is recorded.
func TestAFileThatMayBeTheStoreIsNotFilled(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	next := memberstate.Term(1)
	disk.Before = func(op string) error {
		if op == "syncdir" {
			return syscall.EIO
		}
		return nil
	}
	for err == nil {
		err = s.Save([]memberstate.Record{written("g", next, "n1")})
		next++
	}
	require.ErrorIs(t, err, memberstate.ErrStoreBroken)
	disk.Before = nil
	before := disk.Get("n0")
	s.Forget()
	s.PrepareNext()
	assert.Equal(t, before, disk.Get("n0"))
	closed(t, s)
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	closed(t, s)
}

// The same if the rename itself fails: a crash may show that it was done. The next file has its header by
// then, although only a part of it could be filled.
func TestAFileThatMayBecomeTheStoreIsNotFilled(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	next := saves(t, s, 1, s.Left())
	const part = 64
	disk.Set("n0.new", make([]byte, 3*part*memberstate.PageSize))
	writes := 0
	disk.Before = func(op string) error {
		if op == "write" {
			writes++
		}
		if op == "rename" || op == "write" && writes == 2 {
			return syscall.EIO
		}
		return nil
	}
	err = s.Save([]memberstate.Record{written("g", next, "n1")})
	require.ErrorIs(t, err, memberstate.ErrStoreBroken)
	require.ErrorContains(t, err, "replace")
	operations := map[string]int{}
	disk.Before = func(op string) error {
		operations[op]++
		return nil
	}
	s.Forget()
	disk.Later = nil
	s.PrepareNext()
	assert.Empty(t, operations)
	disk.Before = nil
	closed(t, s)
}

// The number of saves between two attempts doubles up to 64. After a success it begins anew.
func TestAttemptsToPrepareTheNextFileBackOff(t *testing.T) {
	disk, hears := &poorDisk{Disk: new(crashdisk.Disk), unlinkable: true}, new(listener)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 1024)
	require.NoError(t, err)
	closed(t, s)
	s, err = memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", 1024)
	require.NoError(t, err)
	next := saves(t, s, 1, 510)
	for range 2 {
		disk.full, hears.outcomes = true, nil
		next = saves(t, s, next, 1+383)
		assert.Len(t, hears.outcomes, 12, "after 0, 1, 3, 7, 15, 31, 63, 127, 191, 255, 319 and 383 saves")
		disk.full = false
		next = saves(t, s, next, 64)
		require.True(t, s.Ready())
		next = saves(t, s, next, s.Left())
	}
	closed(t, s)
}

// A file that cannot grow is used as it is while the records of all groups fit into half of it.
func TestAFileThatIsHalfFullGoesOn(t *testing.T) {
	const oddRoom = 60
	s, disk, _ := poorStore(t, oddRoom)
	var batch []memberstate.Record
	for i := range 2500 { // more than fit into a quarter of the file
		batch = append(batch, written(fmt.Sprint("group ", i), 7, "n2"))
	}
	disk.full = true
	require.NoError(t, s.Save(batch))
	saves(t, s, 1, 100)
	closed(t, s)
	s, err := memberstate.OpenSmall(disk, "n0", "n0", oddRoom)
	require.NoError(t, err)
	assert.Len(t, s.Records(), 2501)
	closed(t, s)
}

func TestAdjacentDamagedSectorsAreOneSpan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	long := make([]memberstate.Record, 200) // several sectors
	for i := range long {
		long[i] = written(fmt.Sprint("group ", i), 7, "n2")
	}
	require.NoError(t, s.Save(long))
	closed(t, s)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const sector = int64(memberstate.SectorSize)
	first := int64(memberstate.FirstSave * memberstate.PageSize)
	for _, damaged := range []int64{0, 1, 2, 4, 6, 7} {
		text[first+damaged*sector+50] ^= 1
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.Equal(t, []memberstate.Span{{Offset: first, Bytes: 3 * sector}, {Offset: first + 4*sector, Bytes: sector}, {Offset: first + 6*sector, Bytes: 2 * sector}}, info.Damaged)
}
