// Sectors with the right checksums that no store has written, in a file that is not clean otherwise,
// and the place that an error names.

package memberstate_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// Where the numbers are in a sector's head.
const (
	placeAt  = 12
	batchAt  = 24
	indexAt  = 28
	countAt  = 32
	lengthAt = 36
)

// forge sets numbers in the head of the sector at an offset, and gives it the right checksums.
func forge(text []byte, at int, numbers map[int]uint32) {
	sector := text[at:][:memberstate.SectorSize]
	for where, n := range numbers {
		binary.LittleEndian.PutUint32(sector[where:], n)
	}
	memberstate.Seal(sector)
}

// both are the offsets of the first sector of a page in either half.
func both(text []byte, page int) []int {
	return []int{page * memberstate.PageSize, len(text)/2 + page*memberstate.PageSize}
}

// Whatever such a sector says, the other copy is read.
func TestASectorThatNoStoreWritesIsMended(t *testing.T) {
	text, holds := voted(t, 3, 16)
	for name, numbers := range map[string]map[int]uint32{
		"of a later version":                  {memberstate.FormatOffset: 3},
		"of another place":                    {placeAt: 1},
		"with an index as large as the count": {indexAt: 1, countAt: 1},
		"with a payload of 469 bytes":         {lengthAt: memberstate.SectorSize - memberstate.SectorHead + 1},
		"with a payload of 4 GiB":             {lengthAt: math.MaxUint32},
	} {
		for _, page := range []int{0, 1, 2, 4} {
			for _, at := range both(text, page) {
				forged := bytes.Clone(text)
				forge(forged, at, numbers)
				found, err := memberstate.Read(forged)
				require.NoError(t, err, "a sector %s at %d", name, at)
				require.Equal(t, holds, found, "a sector %s at %d", name, at)
				require.False(t, memberstate.Clean(forged), "a sector %s at %d", name, at)
			}
		}
	}
}

// There is nothing behind the end that could be read, and no store writes such a batch.
func TestABatchThatGoesOnBehindItsHalfIsARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	const page, left = 4, 4 * perPage // pages 4 to 7 are the end of a half
	for _, count := range []uint32{left + 1, left + perPage, 1 << 31, math.MaxUint32} {
		forged := bytes.Clone(text)
		for _, at := range both(text, page) {
			forge(forged, at, map[int]uint32{countAt: count})
			_, err := memberstate.Read(forged)
			require.ErrorIs(t, err, memberstate.ErrDamaged, "%d sectors", count)
			require.ErrorContains(t, err, "sector 0 of batch 4 does not belong there", "%d sectors", count)
		}
	}
}

// The snapshot was durable before the file got its name, so no crash has cut it short. A store that
// opened without it would have forgotten all votes.
func TestAnUnreadableSnapshotIsARefusalEvenIfNothingFollows(t *testing.T) {
	disk := new(crashdisk.Disk)
	text, holds := voted(t, 5, room)
	text[memberstate.FirstSave*memberstate.PageSize] ^= 1
	disk.Set("n0", text)
	s, err := memberstate.OpenSmall(disk, "n0", "n0", room) // this mends it, by a new file
	require.NoError(t, err)
	closed(t, s)
	text = disk.Get("n0")
	require.Len(t, holds, 1)
	require.Equal(t, make([]byte, len(text)/2-2*memberstate.PageSize), text[2*memberstate.PageSize:len(text)/2], "there is a save")
	damaged := map[string][]byte{"a flipped bit": spoil(text, perPage)}
	for what, fill := range fills(memberstate.PageSize) {
		damaged[what] = bytes.Clone(text)
		for _, at := range both(text, 1) {
			copy(damaged[what][at:], fill)
		}
	}
	for what, text := range damaged {
		_, err := open(text)
		require.ErrorIs(t, err, memberstate.ErrDamaged, what)
		assert.ErrorContains(t, err, "at offset 4096: the store is damaged: batch 1 cannot be read in either copy", what)
		assert.ErrorContains(t, err, "there are batches up to 1", what)
	}
}

// Its checksums are right, so it was written in this way. That is a defect, and no torn save.
func TestAMalformedBatchIsARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	for _, page := range []int{2, 4} {
		forged := bytes.Clone(text)
		for _, at := range both(text, page) {
			length := binary.LittleEndian.Uint32(text[at+lengthAt:])
			forge(forged, at, map[int]uint32{lengthAt: length - 1})
		}
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged)
		assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: batch %d is malformed", page*memberstate.PageSize, page))
	}
}

// Where the halves are, and whose store it is, must be certain.
func TestAMalformedHeaderIsARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	const half, size, node = memberstate.SectorHead, memberstate.SectorHead + 4, memberstate.SectorHead + 28
	length := binary.LittleEndian.Uint32(text[lengthAt:])
	for name, numbers := range map[string]map[int]uint32{
		"no pages":            {half: 0},
		"a page for itself":   {half: 1},
		"too large a half":    {half: 9},
		"too small a file":    {size: 15 * memberstate.PageSize},
		"no node":             {node: 0, lengthAt: length - 2},
		"more than a header":  {lengthAt: length + 1},
		"a part of it":        {lengthAt: length - 1},
		"a header without it": {lengthAt: length - 3},
	} {
		forged := bytes.Clone(text)
		for _, at := range both(text, 0) {
			forge(forged, at, numbers)
		}
		_, err := memberstate.Read(forged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, name)
		assert.ErrorContains(t, err, "at offset 0: the store is damaged: the header is malformed", name)
	}
}

// The last save but one is identified in either copy, but cannot be read, and of the last one not even
// that is left. One save that was cut short does not explain both.
func TestDataBehindASaveThatLooksTornIsARefusal(t *testing.T) {
	text, _ := voted(t, 4, 16)
	for what, fill := range fills(memberstate.PageSize) {
		if what == "zeros" {
			continue // as if the last save had never been written
		}
		damaged := spoil(text, 4*perPage)
		for _, at := range both(text, 5) {
			copy(damaged[at:], fill)
		}
		_, err := memberstate.Read(damaged)
		require.ErrorIs(t, err, memberstate.ErrDamaged, what)
		assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: the data after batch 3 takes up more than one save", 5*memberstate.PageSize), what)
	}
}

// A page is written once, so behind the last batch there is no other one, nor a second part of it.
func TestASectorOfABatchBehindTheLastIsARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	for name, c := range map[string]struct {
		text []byte
		of   map[int]uint32
		says string
	}{
		"an earlier batch":                   {text, map[int]uint32{batchAt: 2}, "sector 0 of batch 2"},
		"a torn one that begins there again": {spoil(text, 4*perPage), map[int]uint32{batchAt: 4}, "sector 0 of batch 4"},
		"a torn one that is longer there":    {spoil(text, 4*perPage), map[int]uint32{batchAt: 4, indexAt: 2 * perPage, countAt: 3 * perPage}, "sector 16 of batch 4"},
	} {
		for _, at := range both(text, 6) {
			forged := bytes.Clone(c.text)
			copy(forged[at:], text[4*memberstate.PageSize:][:memberstate.SectorSize])
			c.of[placeAt] = uint32(at / memberstate.SectorSize)
			forge(forged, at, c.of)
			_, err := memberstate.Read(forged)
			require.ErrorIs(t, err, memberstate.ErrDamaged, name)
			assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: %s does not belong there", at, c.says), name)
		}
	}
}

// Batch, count and index must all be right, even if what the sector holds is.
func TestEachNumberOfASectorMustFit(t *testing.T) {
	text, _ := whole(t)
	const second = 3*perPage + 1 // a sector of the second save, which has eleven
	at := len(text)/2 + second*memberstate.SectorSize
	for _, numbers := range []map[int]uint32{{batchAt: 2}, {countAt: 12}, {indexAt: 2}} {
		forged := bytes.Clone(text)
		forge(forged, at, numbers)
		refusedAt(t, forged, at)
	}
}

// Whoever looks for the cause needs the place, in the half in which it is.
func TestARefusalNamesThePlace(t *testing.T) {
	text, _ := voted(t, 3, 16)
	const page = 4
	for half, at := range both(text, page) {
		// Of a sector that is in the wrong place of its batch, with and without its other copy.
		forged := bytes.Clone(text)
		forge(forged, at, map[int]uint32{indexAt: 1, countAt: 2})
		refusedAt(t, forged, at)
		clear(forged[both(text, page)[1-half]:][:memberstate.SectorSize])
		refusedAt(t, forged, at)

		// Of a header that cannot be one.
		forged = bytes.Clone(text)
		header := both(text, 0)[half]
		forge(forged, header, map[int]uint32{lengthAt: 3})
		refusedAt(t, forged, header)

		// Of two copies that differ: the second one.
		forged = bytes.Clone(text)
		forged[at+memberstate.SectorHead+2] ^= 1
		forge(forged, at, nil)
		refusedAt(t, forged, both(text, page)[1])
	}
	refusedAt(t, text[:len(text)-1], len(text)-1)
	refusedAt(t, append(bytes.Clone(text), 0), len(text))
}

func refusedAt(t *testing.T, text []byte, at int) {
	t.Helper()
	_, err := memberstate.Read(text)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	var where *memberstate.FileError
	require.ErrorAs(t, err, &where)
	assert.Equal(t, "text", where.Path)
	assert.Equal(t, "read", where.Op)
	assert.EqualValues(t, at, where.Offset, err.Error())
}
