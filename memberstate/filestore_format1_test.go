// Stores of format 1. testdata/format1.store was written by a program of that version, with the
// saves of whole, on 14 pages.

package memberstate_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

func format1(t *testing.T) (text []byte, holds []memberstate.Record) {
	t.Helper()
	text, err := os.ReadFile("testdata/format1.store")
	require.NoError(t, err)
	return text, []memberstate.Record{written("g", 3, "n2"), written(strings.Repeat("h", 5000), 1, "n2")}
}

func version(text []byte, at int) uint32 {
	return binary.LittleEndian.Uint32(text[at+memberstate.FormatOffset:])
}

// A crash at any moment of that loses nothing. Programs that know only format 1 look for the
// version at the beginning of the first two pages.
func TestAStoreOfFormat1IsWrittenAnewOnce(t *testing.T) {
	text, holds := format1(t)
	disk := new(crashdisk.Disk)
	disk.Set("n0", text)
	random := rand.New(rand.NewPCG(1, 1))
	crashes, before, after := 0, 0, 0
	disk.After = func(string) {
		for crashed := range disk.States(random, effort.Of(1, 4)) {
			crashes++
			if version(crashed.Get("n0"), 0) == 1 {
				before++
			} else {
				after++
			}
			found, err := memberstate.Read(crashed.Get("n0"))
			require.NoError(t, err)
			require.Equal(t, holds, found)
		}
	}
	s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	disk.After = nil
	require.Equal(t, holds, s.Records())
	closed(t, s)
	t.Logf("%d crashes, of which %d left the old file and %d the new one", crashes, before, after)
	assert.Positive(t, before)
	assert.Positive(t, after)

	anew := disk.Get("n0")
	assert.True(t, memberstate.Clean(anew))
	assert.EqualValues(t, 2, version(anew, 0))
	assert.EqualValues(t, 2, version(anew, memberstate.PageSize))
	s, err = memberstate.OpenSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	require.Equal(t, holds, s.Records())
	closed(t, s)
	assert.Equal(t, anew, disk.Get("n0"), "it was written anew again")
}

func TestADamagedStoreOfFormat1IsMendedOrRefused(t *testing.T) {
	text, holds := format1(t)
	for at := 0; at < len(text); at += crashdisk.SectorSize {
		damaged := bytes.Clone(text)
		copy(damaged[at:], bytes.Repeat([]byte{0xff}, crashdisk.SectorSize))
		found, err := open(damaged)
		require.NoError(t, err, "at %d", at)
		require.Equal(t, holds, found, "at %d", at)
	}
	for _, page := range []int{0, 2, 4} {
		damaged := bytes.Clone(text)
		damaged[page*memberstate.PageSize+100] ^= 1
		damaged[(page+1)*memberstate.PageSize+100] ^= 1
		_, err := open(damaged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, "page %d", page)
	}
}

// A batch may end with the file. The file here has its first batch alone, that of its creation.
func TestAFileOfFormat1MayBeFull(t *testing.T) {
	text, _ := format1(t)
	full := text[:4*memberstate.PageSize]
	for i := range 2 {
		header := full[i*memberstate.PageSize:][:memberstate.PageSize]
		binary.LittleEndian.PutUint32(header[44:], 4)
		seal1(header)
	}
	found, err := memberstate.Read(full)
	require.NoError(t, err)
	assert.Empty(t, found)
}

// seal1 gives a page of format 1 its checksum.
func seal1(page []byte) {
	binary.LittleEndian.PutUint32(page, crc32.Checksum(page[4:], crc32.MakeTable(crc32.Castagnoli)))
}

// A file may lie where an earlier one of the same store lay, so pages of that one can be found behind its own.
func TestPagesOfAnEarlierFileOfFormat1DoNotCount(t *testing.T) {
	text, holds := format1(t)
	stale := bytes.Clone(text)
	last := stale[len(stale)-memberstate.PageSize:]
	copy(last, text[4*memberstate.PageSize:][:memberstate.PageSize])
	binary.LittleEndian.PutUint32(last[12:], uint32(len(stale)/memberstate.PageSize-1))
	binary.LittleEndian.PutUint64(last[16:], binary.LittleEndian.Uint64(last[16:])-1)
	binary.LittleEndian.PutUint64(last[24:], 100) // a batch that this file has not reached
	seal1(last)
	found, err := memberstate.Read(stale)
	require.NoError(t, err)
	assert.Equal(t, holds, found)
	binary.LittleEndian.PutUint64(last[16:], binary.LittleEndian.Uint64(last[16:])+1)
	seal1(last)
	_, err = memberstate.Read(stale)
	require.ErrorIs(t, err, memberstate.ErrDamaged, "if it is a page of this file, batches are missing")
}

func TestCopiesOfFormat1ThatDifferAreARefusal(t *testing.T) {
	text, _ := format1(t)
	for _, number := range []int{4, 5} { // of the first save
		damaged := bytes.Clone(text)
		page := damaged[number*memberstate.PageSize:][:memberstate.PageSize]
		page[46] ^= 1
		seal1(page)
		_, err := memberstate.Read(damaged)
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.ErrorContains(t, err, "copies of batch 2 differ")
	}
}

func TestPartsOfTwoFormatsAreARefusal(t *testing.T) {
	old, _ := format1(t)
	text, _ := whole(t)
	mixed := bytes.Clone(old)
	copy(mixed[len(text)/2:], text[len(text)/2:])
	_, err := memberstate.Read(mixed)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, "parts of a later one")
}
