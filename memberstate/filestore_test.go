// The interface of a store on disk.

package memberstate_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

func written(group string, term memberstate.Term, vote string) memberstate.Record {
	return memberstate.Record{Group: group, Term: term, Vote: vote, Promise: time.Duration(term) * time.Second, Voters: uint64(term) << 40}
}

// load returns the record of a group, which must exist.
func load(t *testing.T, s memberstate.Store, group string) memberstate.Record {
	t.Helper()
	r, known, err := s.Load(group)
	require.NoError(t, err)
	require.True(t, known, "group %q is not known", group)
	return r
}

func closed(t *testing.T, s *memberstate.FileStore) {
	t.Helper()
	require.NoError(t, s.Close())
}

func TestAStoreThatIsOpenedAgainHasAllSaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	long := strings.Repeat("g", 10_000) // several pages
	require.NoError(t, s.Save([]memberstate.Record{written("a", 1, "n1"), written(long, 2, "")}))
	require.NoError(t, s.Save([]memberstate.Record{written("a", 3, "")}))
	_, known, err := s.Load("b")
	require.NoError(t, err)
	assert.False(t, known)
	for range 2 {
		assert.Equal(t, written("a", 3, ""), load(t, s, "a"))
		assert.Equal(t, written(long, 2, ""), load(t, s, long))
		assert.Len(t, s.Records(), 2)
		closed(t, s)
		s, err = memberstate.OpenFile(path, "n0")
		require.NoError(t, err)
	}
	assert.Equal(t, "n0", s.Node())
	closed(t, s)
}

// The saves fill the file many times.
func TestAFullFileIsReplaced(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 16)
	require.NoError(t, err)
	for i := range memberstate.Term(500) {
		require.NoError(t, s.Save([]memberstate.Record{written(fmt.Sprint("g", i%20), i, "n1")}))
	}
	closed(t, s)
	assert.Len(t, disk.Get("n0"), 16*memberstate.PageSize)
	s, err = memberstate.OpenSmall(disk, "n0", "n0", 16)
	require.NoError(t, err)
	for i := range memberstate.Term(20) {
		assert.Equal(t, 480+i, load(t, s, fmt.Sprint("g", i)).Term)
	}
	closed(t, s)
}

// almostFull is a store that has room for one save.
func almostFull(t *testing.T) (*memberstate.FileStore, *crashdisk.Disk) {
	t.Helper()
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	saves(t, s, 1, s.Left()-1)
	require.Equal(t, 1, s.Left())
	return s, disk
}

// opensAgain closes a store, and checks that it has the same records when it is opened again.
func opensAgain(t *testing.T, s *memberstate.FileStore, disk *crashdisk.Disk) {
	t.Helper()
	holds := s.Records()
	closed(t, s)
	s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	assert.Equal(t, holds, s.Records())
	closed(t, s)
}

// A batch begins on the last page of a half only if it ends there, because what follows is the other half.
func TestABatchThatDoesNotFitMakesANewFile(t *testing.T) {
	s, disk := almostFull(t)
	require.NoError(t, s.Save([]memberstate.Record{written(strings.Repeat("long", 1500), 1, "n1")}), "two pages")
	assert.Equal(t, 8-4, s.Left(), "of the eight pages of a half the header has one, the records before it have one, and it has two")
	assert.True(t, memberstate.Clean(disk.Get("n0")))
	require.Len(t, s.Records(), 2)
	opensAgain(t, s, disk)
}

// Its last sector may be the last one of the half.
func TestABatchMayEndWithItsHalf(t *testing.T) {
	s, disk := almostFull(t)
	require.NoError(t, s.Save([]memberstate.Record{written(strings.Repeat("g", 3500), 1, "n1")}), "eight sectors")
	require.Zero(t, s.Left())
	text := disk.Get("n0")
	require.NotEqual(t, make([]byte, memberstate.SectorSize), text[len(text)-memberstate.SectorSize:])
	opensAgain(t, s, disk)
}

// A batch that is larger than the file makes a larger file.
func TestABatchOfAnySizeIsSaved(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 8)
	require.NoError(t, err)
	var batch []memberstate.Record
	for i := range 5000 {
		batch = append(batch, written(fmt.Sprint("group ", i), 7, "n2"))
	}
	require.NoError(t, s.Save(batch))
	require.NoError(t, s.Save([]memberstate.Record{written("group 17", 8, "")}))
	closed(t, s)
	s, err = memberstate.OpenSmall(disk, "n0", "n0", 8)
	require.NoError(t, err)
	assert.Len(t, s.Records(), 5000)
	assert.Equal(t, written("group 17", 8, ""), load(t, s, "group 17"))
	assert.Equal(t, written("group 18", 7, "n2"), load(t, s, "group 18"))
	closed(t, s)
}

// slowDisk blocks every sync of a file until the gate is closed, if there is one.
type slowDisk struct {
	*crashdisk.Disk
	gate    chan struct{}
	entered chan struct{} // receives one element for each sync
}

func (d *slowDisk) Create(name string) (memberstate.File, error) {
	f, err := d.Disk.Create(name)
	if err != nil {
		return nil, err
	}
	return slowFile{f, d}, nil
}

type slowFile struct {
	memberstate.File
	disk *slowDisk
}

func (f slowFile) Sync() error {
	if f.disk.gate != nil {
		f.disk.entered <- struct{}{}
		<-f.disk.gate
	}
	return f.File.Sync()
}

// A hundred saves that come while one is being synced share the next sync.
func TestSavesThatWaitAreWrittenTogether(t *testing.T) {
	s, disk, _ := onSlowDisk(t)
	var savers sync.WaitGroup
	save := func(group string) {
		savers.Go(func() { assert.NoError(t, s.Save([]memberstate.Record{written(group, 1, "n1")})) })
	}
	save("first")
	<-disk.entered
	for i := range 100 {
		save(fmt.Sprint("g", i))
	}
	require.Eventually(t, func() bool { return s.Waiting() == 100 }, 20*time.Second, time.Millisecond)
	_, known, err := s.Load("first")
	require.NoError(t, err)
	assert.False(t, known, "Load returned a record that was not durable")
	close(disk.gate)
	savers.Wait()
	assert.Len(t, disk.entered, 1, "one more sync")
	assert.Len(t, s.Records(), 101)
}

func TestAStoreIsCreatedOnceAndOpenedByItsNode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	_, err := memberstate.OpenFile(path, "n0")
	assert.ErrorIs(t, err, memberstate.ErrNoStore)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, path)
	_, err = memberstate.CreateFile(path, "")
	assert.ErrorContains(t, err, "empty")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	for _, open := range []func(string, string) (*memberstate.FileStore, error){memberstate.OpenFile, memberstate.CreateFile} {
		_, err = open(path, "n0")
		assert.ErrorIs(t, err, memberstate.ErrStoreLocked)
		assert.ErrorContains(t, err, path)
	}
	closed(t, s)
	_, err = memberstate.CreateFile(path, "n0")
	assert.ErrorIs(t, err, memberstate.ErrStoreExists)
	_, err = memberstate.OpenFile(path, "n1")
	assert.ErrorIs(t, err, memberstate.ErrOtherNode)
	assert.ErrorContains(t, err, `"n0", not "n1"`)
	s, err = memberstate.OpenFile(path, "n0")
	require.NoError(t, err, "a failed attempt has left a lock")
	closed(t, s)
}

// A store that is gone by mistake has left its second name, and an empty one would not know its votes.
func TestAStoreThatIsMissingIsNotMadeAnew(t *testing.T) {
	disk := new(crashdisk.Disk)
	vote := memberstate.Record{Group: "g", Term: 3, Vote: "n1"}
	s, err := memberstate.CreateFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{vote}))
	closed(t, s)
	_ = disk.Link("n0", "n0.old") // it may have been linked
	require.NoError(t, disk.Remove("n0"))
	disk.Set("n0.new", []byte("zeros"))
	_, err = memberstate.CreateFileOn(disk, "n0", "n0")
	require.ErrorIs(t, err, memberstate.ErrStoreLost)
	assert.ErrorContains(t, err, "there is n0.old. It is the same file: rename it back")
	require.NoError(t, disk.Remove("n0.new"))
	_, err = memberstate.CreateFileOn(disk, "n0", "n0")
	require.ErrorIs(t, err, memberstate.ErrStoreLost)
	assert.ErrorContains(t, err, "It may be older", "it may be the predecessor, whose new name was not yet given")
	require.NoError(t, disk.Rename("n0.old", "n0"))
	s, err = memberstate.OpenFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	r, _, err := s.Load("g")
	require.NoError(t, err)
	assert.Equal(t, vote, r)
	closed(t, s)
}

func TestAClosedStoreRefusesCalls(t *testing.T) {
	for _, disk := range []memberstate.Disk{new(crashdisk.Disk), memberstate.OSDisk()} {
		s, err := memberstate.CreateFileOn(disk, filepath.Join(t.TempDir(), "n0"), "n0")
		require.NoError(t, err)
		closed(t, s)
		assert.ErrorIs(t, s.Save([]memberstate.Record{{Group: "g"}}), fs.ErrClosed)
		r, known, err := s.Load("g")
		assert.ErrorIs(t, err, fs.ErrClosed)
		assert.Zero(t, r)
		assert.False(t, known)
		assert.Zero(t, s.Waiting(), "a save that was refused does not wait")
		assert.NoError(t, s.Close(), "again")
	}
}

// The caller may use its slice again, and another save must not write into what the slice has room for.
func TestASaveKeepsNoSlice(t *testing.T) {
	s, disk, _ := onSlowDisk(t)
	var savers sync.WaitGroup
	save := func(waiting int, batch ...memberstate.Record) {
		savers.Go(func() { assert.NoError(t, s.Save(batch)) })
		require.Eventually(t, func() bool { return s.Waiting() == waiting }, 20*time.Second, time.Millisecond)
	}
	save(0, written("first", 1, "n1"))
	<-disk.entered
	batch := []memberstate.Record{written("second", 2, "n1"), written("mine", 2, "n1")}
	save(1, batch[:1]...)
	save(2, written("third", 3, "n1"))
	assert.Equal(t, written("mine", 2, "n1"), batch[1])
	batch[0] = written("changed", 4, "n1")
	close(disk.gate)
	savers.Wait()
	assert.Equal(t, []memberstate.Record{written("first", 1, "n1"), written("second", 2, "n1"), written("third", 3, "n1")}, s.Records())
	closed(t, s)
}

// roomyDisk says how large a file is.
type roomyDisk struct{ *crashdisk.Disk }

func (roomyDisk) Room() uint32 { return 20 }

func TestADiskMaySayHowLargeAFileIs(t *testing.T) {
	disk := roomyDisk{new(crashdisk.Disk)}
	s, err := memberstate.CreateFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	assert.Len(t, disk.Get("n0"), 20*memberstate.PageSize)
	closed(t, s)
	s, err = memberstate.OpenFileOn(disk, "n0", "n0")
	require.NoError(t, err)
	assert.Len(t, disk.Get("n0.new"), 20*memberstate.PageSize)
	closed(t, s)
}

func TestRecordsThatCouldNotBeReadAgainAreRefused(t *testing.T) {
	s, err := memberstate.CreateFileOn(new(crashdisk.Disk), "n0", "n0")
	require.NoError(t, err)
	defer closed(t, s)
	long := strings.Repeat("x", 1<<16+1)
	for says, r := range map[string]memberstate.Record{
		"Group has 65537 bytes": {Group: long}, "Vote has 65537 bytes": {Vote: long}, "Promise is negative": {Promise: -1},
	} {
		assert.ErrorContains(t, s.Save([]memberstate.Record{{Group: "good"}, r}), says)
	}
	assert.Empty(t, s.Records(), "a part of a batch was saved")
	require.NoError(t, s.Save([]memberstate.Record{{Group: long[1:], Vote: long[1:]}}), "the store is unusable")
}

func TestInspectFileChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	_, err := memberstate.InspectFile(path)
	assert.ErrorIs(t, err, memberstate.ErrNoStore)
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 1, "n1")}))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err, "while it is open")
	assert.Equal(t, memberstate.FileInfo{
		Path: path, Version: 2, Node: "n0", Generation: 1, Saves: 1, Next: info.Next,
		Size: 1024 * memberstate.PageSize, Used: 6 * memberstate.PageSize, Records: []memberstate.Record{written("g", 1, "n1")},
	}, info)
	closed(t, s)
	damaged := append([]byte(nil), before...)
	damaged[memberstate.FirstSave*memberstate.PageSize+50] ^= 1
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	info, err = memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.Equal(t, []memberstate.Span{{Offset: memberstate.FirstSave * memberstate.PageSize, Bytes: memberstate.SectorSize}}, info.Damaged)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, damaged, after)
}

// Otherwise a store could be created that cannot be opened.
func TestTheNodesIDIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	_, err := memberstate.CreateFile(path, strings.Repeat("n", memberstate.MaxIDLength+1))
	require.ErrorContains(t, err, "has 256 bytes, 255 is the most")
	assert.NoFileExists(t, path)
	_, err = memberstate.CreateFile(path, "")
	require.ErrorContains(t, err, "is empty")
	longest := strings.Repeat("n", memberstate.MaxIDLength)
	s, err := memberstate.CreateFile(path, longest)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = memberstate.OpenFile(path, longest)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
