// Stores of format 1. testdata/format1.store was written by a program of that version, with the
// saves of whole, on 14 pages.

package memberstate_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
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
		if page > 0 {
			assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: batch %d cannot be read in either copy, "+
				"and it was acknowledged: there are batches up to 4", page*memberstate.PageSize, page/2))
		}
	}
}

// shortest1 is a file of format 1 that has its first batch alone, that of its creation, and is full.
func shortest1(t *testing.T) []byte {
	t.Helper()
	text, _ := format1(t)
	full := text[:4*memberstate.PageSize]
	for page := range 2 {
		forge1(full, page, map[int]uint32{44: 4})
	}
	return full
}

// A batch may end with the file.
func TestAFileOfFormat1MayBeFull(t *testing.T) {
	found, err := memberstate.Read(shortest1(t))
	require.NoError(t, err)
	assert.Empty(t, found)
}

// It was durable before the file got its name, so no crash has cut it short.
func TestAnUnreadableSnapshotOfFormat1IsARefusal(t *testing.T) {
	for what, fill := range fills(memberstate.PageSize) {
		text := shortest1(t)
		for _, page := range []int{2, 3} {
			copy(text[page*memberstate.PageSize:], fill)
		}
		_, err := memberstate.Read(text)
		require.ErrorIs(t, err, memberstate.ErrDamaged, what)
		assert.ErrorContains(t, err, "at offset 8192: the store is damaged: batch 1 cannot be read in either copy", what)
	}
}

// forge1 sets numbers on a page of format 1, and gives it the right checksum.
func forge1(text []byte, page int, numbers map[int]uint32) {
	b := text[page*memberstate.PageSize:][:memberstate.PageSize]
	for where, n := range numbers {
		binary.LittleEndian.PutUint32(b[where:], n)
	}
	seal1(b)
}

// Where the numbers are in a page's head.
const (
	numberAt1 = 12
	batchAt1  = 24
	indexAt1  = 32
	countAt1  = 36
	lengthAt1 = 40
)

// Whatever such a page says, the other copy is read.
func TestAPageOfFormat1ThatNoStoreWritesIsMended(t *testing.T) {
	text, holds := format1(t)
	for name, numbers := range map[string]map[int]uint32{
		"of a later version":                  {memberstate.FormatOffset: 3},
		"of another place":                    {numberAt1: 2},
		"of another batch":                    {batchAt1: 3},
		"of a longer batch":                   {indexAt1: 1, countAt1: 2},
		"with an index as large as the count": {indexAt1: 1},
		"with another count":                  {countAt1: 2},
		"with a payload of 4053 bytes":        {lengthAt1: memberstate.PageSize - 44 + 1},
		"with a payload of 4 GiB":             {lengthAt1: math.MaxUint32},
	} {
		forged := bytes.Clone(text)
		forge1(forged, 5, numbers) // the second copy of the first save
		info, err := inspected(t, forged)
		require.NoError(t, err, "a page %s", name)
		assert.Equal(t, holds, info.Records, "a page %s", name)
		assert.Equal(t, []memberstate.Span{{Offset: 5 * memberstate.PageSize, Bytes: memberstate.PageSize}}, info.Damaged, "a page %s", name)
	}
	forged := bytes.Clone(text)
	copy(forged[8*memberstate.PageSize:], text[7*memberstate.PageSize:][:memberstate.PageSize])
	forge1(forged, 8, map[int]uint32{numberAt1: 8}) // the second page of the second save in the place of its first one
	found, err := memberstate.Read(forged)
	require.NoError(t, err)
	assert.Equal(t, holds, found)
}

// There is nothing behind the end that could be read, and no store writes such a batch.
func TestABatchOfFormat1ThatDoesNotFitIsARefusal(t *testing.T) {
	text, _ := format1(t)
	for name, c := range map[string]struct {
		lost, forged int
		numbers      map[int]uint32
		says         string
	}{
		"one copy ends with the file": {11, 10, map[int]uint32{countAt1: 4}, "page 0 of batch 4"},
		"it ends behind the file":     {11, 10, map[int]uint32{countAt1: 3}, "page 0 of batch 4"},
		"its end is beyond counting":  {11, 10, map[int]uint32{countAt1: math.MaxUint32}, "page 0 of batch 4"},
		"it begins too early":         {5, 4, map[int]uint32{indexAt1: 1, countAt1: 2}, "page 1 of batch 2"},
		"its second copy does":        {4, 5, map[int]uint32{indexAt1: 2, countAt1: 3}, "page 2 of batch 2"},
	} {
		forged := bytes.Clone(text)
		clear(forged[c.lost*memberstate.PageSize:][:memberstate.PageSize])
		forge1(forged, c.forged, c.numbers)
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, name)
		assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: %s does not belong there", c.forged*memberstate.PageSize, c.says), name)
	}
}

func TestAMalformedHeaderOfFormat1IsARefusal(t *testing.T) {
	text, _ := format1(t)
	for name, numbers := range map[string]map[int]uint32{
		"too few pages":       {44: 3},
		"no node":             {lengthAt1: 5, 48: 0},
		"more than a header":  {lengthAt1: 8},
		"less than a header":  {lengthAt1: 6},
		"nothing but a count": {lengthAt1: 4},
	} {
		forged := bytes.Clone(text)
		for page := range 2 {
			forge1(forged, page, numbers)
		}
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, name)
		assert.ErrorContains(t, err, "at offset 0: the store is damaged: the header is malformed", name)
	}
	for pages := range uint32(4) {
		forged := bytes.Clone(text[:max(1, pages)*memberstate.PageSize])
		forge1(forged, 0, map[int]uint32{44: pages})
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, "%d pages", pages)
	}
}

// Its checksum is right, so it was written in this way. That is a defect, and no torn save.
func TestAMalformedBatchOfFormat1IsARefusal(t *testing.T) {
	text, _ := format1(t)
	for batch, page := range map[int]int{2: 4, 4: 10} {
		forged := bytes.Clone(text)
		length := binary.LittleEndian.Uint32(text[page*memberstate.PageSize+lengthAt1:])
		for _, copy := range []int{page, page + 1} {
			forge1(forged, copy, map[int]uint32{lengthAt1: length - 1})
		}
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: batch %d is malformed", page*memberstate.PageSize, batch))
	}
}

func TestAWrongLengthOfFormat1IsARefusal(t *testing.T) {
	text, _ := format1(t)
	for length, says := range map[int]string{
		len(text) - 1: fmt.Sprintf("at offset %d: the store is damaged: it has %d bytes, and %d when it was made", len(text)-1, len(text)-1, len(text)),
		len(text) + 1: fmt.Sprintf("at offset %d: the store is damaged: it has %d bytes, and %d when it was made", len(text), len(text)+1, len(text)),
	} {
		_, err := memberstate.Read(append(bytes.Clone(text), 0)[:length])
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.ErrorContains(t, err, says)
	}
}

// Damage before the torn save counts, and that save's own does not, because it is ignored.
func TestATornSaveOfFormat1IsIgnored(t *testing.T) {
	text, holds := format1(t)
	for _, page := range []int{0, 5, 6, 7, 10, 11} {
		text[page*memberstate.PageSize+100] ^= 1
	}
	info, err := inspected(t, text)
	require.NoError(t, err)
	holds[0] = written("g", 2, "")
	const page = memberstate.PageSize
	assert.Equal(t, memberstate.FileInfo{
		Path: info.Path, Version: 1, Node: "n0", Generation: 1, Saves: 2, Size: 14 * page, Used: 10 * page, Records: holds, Torn: true,
		Damaged: []memberstate.Span{{Offset: 0, Bytes: page}, {Offset: 5 * page, Bytes: 3 * page}},
	}, info)

	text, _ = format1(t)
	clear(text[10*page:])
	text[5*page+100] ^= 1
	text[7*page+100] ^= 1 // either copy of the last save has its first page only
	text[9*page+100] ^= 1
	info, err = inspected(t, text)
	require.NoError(t, err)
	assert.True(t, info.Torn)
	assert.Equal(t, []memberstate.Record{written("g", 1, "n1")}, info.Records)
	assert.Equal(t, []memberstate.Span{{Offset: 5 * page, Bytes: page}}, info.Damaged)
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
		assert.ErrorContains(t, err, "at offset 20480: the store is damaged: the two copies of batch 2 differ")
	}
}

func TestPartsOfTwoFormatsAreARefusal(t *testing.T) {
	old, _ := format1(t)
	text, _ := whole(t)
	mixed := bytes.Clone(old)
	copy(mixed[len(text)/2:], text[len(text)/2:])
	_, err := memberstate.Read(mixed)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: it has the header of format 1, and parts of a later one", len(text)/2))
}
