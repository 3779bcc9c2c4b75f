// The next file: it is ready before it is needed, and the store goes on if it cannot be prepared.

package memberstate_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// poorDisk is a disk that may lack room, descriptors, or hard links.
type poorDisk struct {
	*crashdisk.Disk
	full, exhausted, unlinkable bool
}

func (d *poorDisk) opened(f memberstate.File, err error) (memberstate.File, error) {
	if err != nil {
		return nil, err
	}
	return poorFile{f, d}, nil
}

func (d *poorDisk) Open(name string) (memberstate.File, error) {
	if d.exhausted {
		return nil, syscall.EMFILE
	}
	return d.opened(d.Disk.Open(name))
}

func (d *poorDisk) Create(name string) (memberstate.File, error) {
	if d.exhausted {
		return nil, syscall.EMFILE
	}
	return d.opened(d.Disk.Create(name))
}

func (d *poorDisk) Dir(name string) (memberstate.Dir, error) {
	if d.exhausted {
		return nil, syscall.EMFILE
	}
	return d.Disk.Dir(name)
}

func (d *poorDisk) Link(name, second string) error {
	if d.unlinkable {
		return syscall.EPERM
	}
	return d.Disk.Link(name, second)
}

type poorFile struct {
	memberstate.File
	disk *poorDisk
}

// WriteAt fails, after a part is written, if the disk is full and the file would grow.
func (f poorFile) WriteAt(b []byte, at int64) (int, error) {
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	if f.disk.full && at+int64(len(b)) > size {
		n, err := f.File.WriteAt(b[:min(len(b), 1000)], at)
		if err != nil {
			return n, err
		}
		return n, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

// listener collects the reports about the next file.
type listener struct {
	log      bytes.Buffer
	outcomes []error // of the attempts to prepare it
}

func (l *listener) options(disk memberstate.Disk) memberstate.FileOptions {
	return memberstate.FileOptions{
		Disk: disk, Logger: slog.New(slog.NewTextHandler(&l.log, nil)),
		Metrics: &memberstate.FileMetrics{NextFile: func(err error) { l.outcomes = append(l.outcomes, err) }},
	}
}

const smallRoom = 64 // pages: 30 saves, and 29 in a file that has replaced another, because the save that did not fit is there

// poorStore is a store on a disk that lacks nothing yet. Its next file is ready.
func poorStore(t *testing.T, room uint32) (*memberstate.FileStore, *poorDisk, *listener) {
	t.Helper()
	disk, hears := &poorDisk{Disk: new(crashdisk.Disk)}, new(listener)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	closed(t, s)
	s, err = memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", room)
	require.NoError(t, err)
	require.True(t, s.Ready())
	return s, disk, hears
}

// saves saves n terms, beginning with from.
func saves(t *testing.T, s *memberstate.FileStore, from memberstate.Term, n int) (next memberstate.Term) {
	t.Helper()
	for range n {
		require.NoError(t, s.Save([]memberstate.Record{written("g", from, "n1")}), "term %d", from)
		from++
	}
	return from
}

// The disk may be full, and all descriptors taken, for as long as the store is open.
func TestAnOpenStoreNeedsNeitherRoomNorDescriptors(t *testing.T) {
	s, disk, hears := poorStore(t, smallRoom)
	disk.full, disk.exhausted = true, true
	next := saves(t, s, 1, 1000)
	assert.NotContains(t, hears.outcomes, syscall.ENOSPC)
	assert.Empty(t, hears.log.String())
	closed(t, s)
	disk.exhausted = false
	s, err := memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", smallRoom)
	require.NoError(t, err, "opening it again needs no room")
	assert.Equal(t, next-1, load(t, s, "g").Term)
	saves(t, s, next, 1000)
	assert.Empty(t, hears.log.String())
	closed(t, s)
}

// Without hard links each next file is a new one. If it cannot be made, the store goes on while the
// present file has room, and reports each attempt, more rarely each time.
func TestAStoreGoesOnWhileItsFileHasRoom(t *testing.T) {
	for name, c := range map[string]struct {
		lack func(d *poorDisk, is bool)
		err  error
	}{
		"room":        {func(d *poorDisk, is bool) { d.full = is }, syscall.ENOSPC},
		"descriptors": {func(d *poorDisk, is bool) { d.exhausted = is }, syscall.EMFILE},
	} {
		t.Run(name, func(t *testing.T) {
			disk, hears := &poorDisk{Disk: new(crashdisk.Disk), unlinkable: true}, new(listener)
			s, err := memberstate.CreateSmall(disk, "n0", "n0", smallRoom)
			require.NoError(t, err)
			closed(t, s)
			s, err = memberstate.OpenSmallWith(hears.options(disk), "n0", "n0", smallRoom)
			require.NoError(t, err)
			c.lack(disk, true)
			next := saves(t, s, 1, 30)
			assert.Empty(t, hears.log.String(), "the next file is ready")
			next = saves(t, s, next, 1)
			require.False(t, s.Ready())
			require.ErrorIs(t, hears.outcomes[len(hears.outcomes)-1], c.err)
			assert.Contains(t, hears.log.String(), "saves_left=29")
			next = saves(t, s, next, 20)
			assert.Len(t, hears.outcomes, 1+5, "after 0, 1, 3, 7 and 15 saves")

			c.lack(disk, false)
			next = saves(t, s, next, 9)
			assert.False(t, s.Ready(), "it is tried again sixteen saves later")
			assert.Zero(t, s.Left())
			next = saves(t, s, next, 1)
			require.NoError(t, hears.outcomes[len(hears.outcomes)-1], "the save that needed the next file has made it")
			assert.Contains(t, hears.log.String(), "after all")

			c.lack(disk, true)
			next = saves(t, s, next, s.Left()+30)
			assert.Zero(t, s.Left())
			err = s.Save([]memberstate.Record{written("g", next, "n1")})
			require.ErrorIs(t, err, memberstate.ErrStoreBroken)
			require.ErrorIs(t, err, c.err)
			closed(t, s)
			c.lack(disk, false)
			s, err = memberstate.OpenSmall(disk, "n0", "n0", smallRoom)
			require.NoError(t, err)
			assert.Equal(t, next-1, load(t, s, "g").Term)
			closed(t, s)
		})
	}
}

func TestAFileThatCannotGrowIsUsedAsItIs(t *testing.T) {
	const oddRoom = 60 // not a multiple of a slice
	s, disk, hears := poorStore(t, oddRoom)
	var batch []memberstate.Record
	for i := range 1500 { // a snapshot takes a third of a half
		batch = append(batch, written(fmt.Sprint("group ", i), 7, "n2"))
	}
	disk.full = true
	require.NoError(t, s.Save(batch))
	saves(t, s, 1, 200)
	assert.Contains(t, hears.log.String(), "no space left on device")
	small := len(disk.Get("n0"))
	disk.full = false
	saves(t, s, 201, 200)
	assert.True(t, s.Ready())
	assert.Greater(t, len(disk.Get("n0")), small)
	closed(t, s)
	s, err := memberstate.OpenSmall(disk, "n0", "n0", oddRoom)
	require.NoError(t, err)
	assert.Len(t, s.Records(), 1501)
	closed(t, s)
}

// A half that has no room for the whole snapshot must not be used, because its end would be
// overwritten by the other half.
func TestASnapshotThatTheFileCannotHoldIsRefused(t *testing.T) {
	for pages, length := range map[int]int{30: 55_000, 32: 59_000} { // with the header one page more than a half has, or three
		s, disk, _ := poorStore(t, 60)
		saves(t, s, 1, 1)
		batch := []memberstate.Record{written(strings.Repeat("a", length), 7, "n2"), written(strings.Repeat("b", length), 7, "n2")}
		failNth(disk.Disk, 1, syscall.EIO) // the file does not grow
		err := s.Save(batch)
		require.ErrorIs(t, err, memberstate.ErrStoreBroken, "%d pages", pages)
		require.ErrorIs(t, err, syscall.EIO, "%d pages", pages)
		closed(t, s)
		s, err = memberstate.OpenSmall(disk, "n0", "n0", 60)
		require.NoError(t, err, "%d pages", pages)
		assert.Len(t, s.Records(), 1, "%d pages", pages)
		closed(t, s)
	}
}

// A new file that is full at once would be replaced by the next save.
func TestANewFileHasRoomForAsManySavesAsRecords(t *testing.T) {
	s, _, _ := poorStore(t, 60)
	batch := make([]memberstate.Record, 3750) // 25 of a half's 30 pages
	for i := range batch {
		batch[i] = written(fmt.Sprint("group ", i), 7, "n2")
	}
	require.NoError(t, s.Save(batch))
	require.NoError(t, s.Save(batch[:2500]), "this makes a new file")
	assert.Greater(t, s.Left(), 25)
	closed(t, s)
}

// Writing all records anew stays a small part of the work if the file is several times as large as they are.
func TestTheNextFileIsEightTimesAsLargeAsTheRecords(t *testing.T) {
	disk := new(crashdisk.Disk)
	run := putOff(disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written(strings.Repeat("g", 10_000), 1, "n1")}), "three pages")
	run()
	assert.Len(t, disk.Get("n0.new"), 8*3*memberstate.PageSize)
	closed(t, s)
}

// A record that is visible is durable, even while a new file is written.
func TestASaveIsInvisibleUntilItIsDurable(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	acked := memberstate.Term(0)
	operations := map[string]int{}
	disk.Before = func(op string) error {
		operations[op]++
		r, _, err := s.Load("g")
		assert.Equal(t, acked, r.Term, op)
		return err
	}
	for term := range memberstate.Term(2 * room) {
		require.NoError(t, s.Save([]memberstate.Record{written("g", term+1, "n1")}))
		acked = term + 1
	}
	assert.Positive(t, operations["rename"])
	disk.Before = nil
	closed(t, s)
}

// The names beside a store may stand for any file, even, by mistake, for the store itself.
func TestFilesBesideAStoreDoNoHarm(t *testing.T) {
	for name, put := range map[string]func(disk *crashdisk.Disk){
		"something":             func(disk *crashdisk.Disk) { disk.Set("n0.new", []byte("something")) },
		"the store as .new":     func(disk *crashdisk.Disk) { _ = disk.Remove("n0.new"); _ = disk.Link("n0", "n0.new") },
		"the store as .old":     func(disk *crashdisk.Disk) { _ = disk.Remove("n0.old"); _ = disk.Link("n0", "n0.old") },
		"something as .old":     func(disk *crashdisk.Disk) { disk.Set("n0.old", []byte("something")) },
		"the next file as .old": func(disk *crashdisk.Disk) { _ = disk.Remove("n0.old"); _ = disk.Rename("n0.new", "n0.old") },
	} {
		disk := new(crashdisk.Disk)
		s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
		require.NoError(t, err)
		next := saves(t, s, 1, 3)
		closed(t, s)
		put(disk)
		for range 3 {
			s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
			require.NoError(t, err, name)
			assert.Equal(t, next-1, load(t, s, "g").Term, name)
			assert.True(t, s.Ready(), name)
			next = saves(t, s, next, 20)
			closed(t, s)
		}
	}
}

func TestNamesBesideAnOpenStoreMayBeRemovedOrReplaced(t *testing.T) {
	for name, take := range map[string]func(disk *crashdisk.Disk){
		".new is removed":  func(disk *crashdisk.Disk) { _ = disk.Remove("n0.new") },
		".old is removed":  func(disk *crashdisk.Disk) { _ = disk.Remove("n0.old") },
		"both are removed": func(disk *crashdisk.Disk) { _ = disk.Remove("n0.old"); _ = disk.Remove("n0.new") },
		".new is replaced": func(disk *crashdisk.Disk) { disk.Set("n0.new", []byte("something")) },
		".old is replaced": func(disk *crashdisk.Disk) { disk.Set("n0.old", []byte("something")) },
		"they are swapped": func(disk *crashdisk.Disk) { _ = disk.Rename("n0.old", "n0.new") },
	} {
		disk := new(crashdisk.Disk)
		s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
		require.NoError(t, err)
		next := memberstate.Term(1)
		for range 12 {
			next = saves(t, s, next, 2)
			take(disk)
		}
		closed(t, s)
		s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
		require.NoError(t, err, name)
		assert.Equal(t, next-1, load(t, s, "g").Term, name)
		closed(t, s)
	}
}

// The store's own file is locked, too, even after it was renamed. So removing the lock file lets no
// second process open the store.
func TestAStoreIsLockedWithoutItsLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, os.Remove(path+".lock"))
		_, err = memberstate.OpenFile(path, "n0")
		require.ErrorIs(t, err, memberstate.ErrStoreLocked)
		require.ErrorContains(t, err, "it holds "+path)
		_, err = memberstate.CreateFile(path, "n0")
		require.ErrorIs(t, err, memberstate.ErrStoreLocked)
		saves(t, s, 1, 520)
	}
	closed(t, s)
	s, err = memberstate.OpenFile(path, "n0")
	require.NoError(t, err)
	closed(t, s)
}

// On a real disk, with a goroutine that prepares files during many saves.
func TestFilesReplaceEachOtherDuringSaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	var savers sync.WaitGroup
	for i := range 4 {
		savers.Go(func() {
			for term := range memberstate.Term(600) {
				assert.NoError(t, s.Save([]memberstate.Record{written(fmt.Sprint("g", i), term+1, "n1")}))
			}
		})
	}
	savers.Wait()
	require.Eventually(t, s.Ready, 20*time.Second, time.Millisecond)
	closed(t, s)
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.EqualValues(t, 4<<20, info.Next)
	assert.Equal(t, info.Size, info.Next)
	s, err = memberstate.OpenFile(path, "n0")
	require.NoError(t, err)
	for i := range 4 {
		assert.EqualValues(t, 600, load(t, s, fmt.Sprint("g", i)).Term)
	}
	closed(t, s)
}

// Whoever opens a file waits for nobody's lock, and may find the name removed, or given to another
// file, meanwhile. What it gets locked is the file that has the name then: nobody takes the name
// away without that lock.
func TestTheFileThatIsLockedHasTheName(t *testing.T) {
	disk, name := memberstate.OSDisk(), filepath.Join(t.TempDir(), "n0")
	f, err := disk.Create(name)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var replacing sync.WaitGroup
	ended := make(chan struct{})
	replacing.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				replaceFile(t, disk, name, false)
				replaceFile(t, disk, name, true)
			}
		}
	})
	for opened := 0; opened < 1000; {
		f, err := disk.Open(name)
		if err != nil {
			require.True(t, errors.Is(err, memberstate.ErrStoreLocked) || errors.Is(err, fs.ErrNotExist), err)
			continue
		}
		opened++
		assert.True(t, f.HasName(name))
		assert.NoError(t, f.Close())
	}
	close(ended)
	replacing.Wait()
}

// replaceFile puts another file in the place of one, if it can lock that. With a gap the name is
// missing for a moment.
func replaceFile(t *testing.T, disk memberstate.Disk, name string, gap bool) {
	t.Helper()
	f, err := disk.Open(name)
	if err != nil {
		assert.ErrorIs(t, err, memberstate.ErrStoreLocked)
		return
	}
	if gap {
		assert.NoError(t, disk.Remove(name))
		assert.NoError(t, f.Close())
	}
	next, err := disk.Create(name + ".new")
	assert.NoError(t, err)
	assert.NoError(t, disk.Rename(name+".new", name))
	assert.NoError(t, next.Close())
	if !gap {
		assert.NoError(t, f.Close())
	}
}
