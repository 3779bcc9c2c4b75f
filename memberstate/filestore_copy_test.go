// Copying the records to the next file while saves go on: how much of it a save does, and what a crash leaves.

package memberstate_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// meteredDisk counts the bytes that are written.
type meteredDisk struct {
	*crashdisk.Disk
	written int
}

func (d *meteredDisk) metered(f memberstate.File, err error) (memberstate.File, error) {
	if err != nil {
		return nil, err
	}
	return meteredFile{f, d}, nil
}

func (d *meteredDisk) Open(name string) (memberstate.File, error) {
	return d.metered(d.Disk.Open(name))
}

func (d *meteredDisk) Create(name string) (memberstate.File, error) {
	return d.metered(d.Disk.Create(name))
}

type meteredFile struct {
	memberstate.File
	disk *meteredDisk
}

func (f meteredFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.written += len(b)
	return f.File.WriteAt(b, at)
}

// batches are saves of groups, so many at a time, round and round.
func batches(groups, together int) func() []memberstate.Record {
	next := 0
	return func() []memberstate.Record {
		batch := make([]memberstate.Record, together)
		for i := range batch {
			batch[i] = written(fmt.Sprint("group ", next%groups), memberstate.Term(next/groups+1), "n1")
			next++
		}
		return batch
	}
}

// However many groups there are, and even if the goroutine that prepares the next file gets no time at all: while the groups are
// made, when a file replaces another, and after a store that is almost full was opened.
func TestNoSaveWritesMoreThanAFewPieces(t *testing.T) {
	const together, most = 1024, 6 * 256 << 10
	for _, idle := range []bool{true, false} {
		for _, groups := range []int{5 * together, 100 * together} {
			disk := &meteredDisk{Disk: new(crashdisk.Disk)}
			run := putOff(disk.Disk)
			if idle {
				run = func() {}
			}
			s, err := memberstate.CreateFileOn(disk, "n0", "n0")
			require.NoError(t, err)
			batch := batches(groups, together)
			save := func() (replaced bool) {
				before, left := disk.written, s.Left()
				require.NoError(t, s.Save(batch()))
				writes, replaced := disk.written-before, s.Left() > left
				assert.Less(t, writes, most, "%d groups, %d pages left", groups, left)
				if !idle && !replaced {
					assert.Equal(t, 2*(left-s.Left())*memberstate.PageSize, writes, "the goroutine has done the work")
				}
				run()
				return replaced
			}
			for replaced := 0; replaced < 3 || s.Left() > 20; {
				if save() {
					replaced++
				}
			}
			closed(t, s)
			s, err = memberstate.OpenFileOn(disk, "n0", "n0")
			require.NoError(t, err)
			for !save() {
			}
			closed(t, s)
		}
	}
}

// large are saves of so many groups that their copy has several pieces.
func large() (saves [][]memberstate.Record) {
	batch := batches(450, 150)
	for range 5 {
		saves = append(saves, batch())
	}
	for i := range memberstate.Term(8) {
		saves = append(saves, []memberstate.Record{written(fmt.Sprint("group ", 60*i), i+100, "n2"), written(fmt.Sprint("later ", i), 1, "n2")})
	}
	return saves
}

// Saves come between the pieces, of records that have been copied, that have not, and that are new.
func TestNoCrashDuringACopyLosesAnAcknowledgedSave(t *testing.T) {
	for _, idle := range []bool{true, false} {
		random := rand.New(rand.NewPCG(4, 4))
		disk := new(crashdisk.Disk)
		crashes, pieces, copied := 0, 0, disk.Get("n0.new")
		live(t, disk, large(), idle, func(m *model) {
			if now := disk.Get("n0.new"); slices.ContainsFunc(now, func(b byte) bool { return b != 0 }) && !slices.Equal(copied, now) {
				copied = now
				pieces++
			}
			for after := range disk.States(random, effort.Of(4, 40)) {
				crashes++
				if !recovers(t, after, m) {
					t.FailNow()
				}
			}
		})
		t.Logf("%d crashes", crashes)
		assert.Greater(t, crashes, effort.Of(5000, 500))
		assert.Greater(t, pieces, 10)
	}
}

// What has been copied was acknowledged long ago, and the save that found the old file full follows it. So no damage to it
// looks like a save that a crash has cut short.
func TestADamagedCopyIsARefusal(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", smallRoom)
	require.NoError(t, err)
	batch := batches(2000, 20)
	for left := 0; s.Left() <= left || len(s.Records()) < 2000; {
		left = s.Left()
		require.NoError(t, s.Save(batch()))
	}
	text, holds := disk.Get("n0"), s.Records()
	closed(t, s)
	found, err := memberstate.Read(text)
	require.NoError(t, err)
	require.Equal(t, holds, found)
	last := len(text)/2/memberstate.PageSize - 1
	for !slices.ContainsFunc(text[last*memberstate.PageSize:][:memberstate.PageSize], func(b byte) bool { return b != 0 }) {
		last--
	}
	require.Greater(t, last, 15, "a snapshot, and batches that follow it")
	for page := range last {
		_, err := memberstate.Read(spoil(text, page*perPage))
		require.ErrorIs(t, err, memberstate.ErrDamaged, "page %d of %d", page, last)
	}
	_, err = memberstate.Read(spoil(text, last*perPage))
	require.NoError(t, err, "the last save looks as if a crash had cut it short")
}

// On a real disk, with a goroutine that copies while others save.
func TestManyRecordsAreCopiedDuringSaves(t *testing.T) {
	const savers, each, together, rounds = 3, 5, 1000, 30
	path := filepath.Join(t.TempDir(), "n0")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range savers {
		all.Go(func() {
			for save := range each * rounds {
				batch := make([]memberstate.Record, together)
				for j := range batch {
					batch[j] = written(fmt.Sprint(i, save%each, j), memberstate.Term(save/each+1), "n1")
				}
				assert.NoError(t, s.Save(batch))
			}
		})
	}
	all.Wait()
	holds := s.Records()
	closed(t, s)
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	assert.Greater(t, info.Generation, uint64(2))
	assert.Equal(t, holds, info.Records)
	require.Len(t, holds, savers*each*together)
	for _, r := range holds {
		require.EqualValues(t, rounds, r.Term, r.Group)
	}
}
