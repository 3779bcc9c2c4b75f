// Damage: every bit flipped, every sector lost, every truncation. The store either opens with
// exactly the acknowledged records, or is refused.

package memberstate_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// whole returns the file of a small store, and its records: a few saves, one of two pages.
func whole(t *testing.T) (text []byte, holds []memberstate.Record) {
	t.Helper()
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 1, "n1")}))
	require.NoError(t, s.Save([]memberstate.Record{written("g", 2, ""), written(strings.Repeat("h", 5000), 1, "n2")}))
	require.NoError(t, s.Save([]memberstate.Record{written("g", 3, "n2")}))
	closed(t, s)
	return disk.Get("n0"), s.Records()
}

// open opens a file with this content, and checks that the damage is then repaired, so that it
// cannot add up with later damage.
func open(text []byte) ([]memberstate.Record, error) {
	disk := new(crashdisk.Disk)
	disk.Set("n0", text)
	s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
	if err != nil {
		return nil, err
	}
	if !memberstate.Clean(disk.Get("n0")) {
		return nil, errors.New("the file was opened and is still damaged")
	}
	found := s.Records()
	return found, s.Close()
}

// neverOlder checks that a damaged file gives exactly the records that it held, or is refused with
// ErrDamaged.
func neverOlder(t *testing.T, damaged []byte, holds []memberstate.Record, what string, at int) {
	t.Helper()
	found, err := open(damaged)
	if err != nil {
		require.ErrorIs(t, err, memberstate.ErrDamaged, "%s at %d", what, at)
		return
	}
	require.Equal(t, holds, found, "%s at %d", what, at)
}

// A page may still have the content of the previous file, if the disk acknowledged a write that it
// did not do.
func TestAPageOfThePreviousFileIsMended(t *testing.T) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 0)
	require.NoError(t, err)
	var files [][]byte
	for term := range memberstate.Term(4) {
		require.NoError(t, s.Save([]memberstate.Record{written("g", term, "n1")}))
		files = append(files, disk.Get("n0"))
	}
	before, text := files[1], files[3] // two saves fill a file
	for at := 0; at < len(text); at += memberstate.PageSize {
		damaged := bytes.Clone(text)
		copy(damaged[at:], before[at:][:memberstate.PageSize])
		neverOlder(t, damaged, s.Records(), "a page of the previous file", at)
	}
}

// smallest is a store of eight pages, four in each half, of which three are in use.
func smallest(t *testing.T) (text []byte, holds []memberstate.Record) {
	t.Helper()
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 0)
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 1, "n1")}))
	closed(t, s)
	text = disk.Get("n0")
	require.Len(t, text, 8*memberstate.PageSize)
	return text, s.Records()
}

// The other copy mends it. In empty sectors the test flips one bit of each byte only.
func TestEveryFlippedBitIsMended(t *testing.T) {
	text, holds := smallest(t)
	free := make([]byte, memberstate.SectorSize)
	for at := range text {
		bits := effort.Of(8, 2)
		if sector := at / memberstate.SectorSize * memberstate.SectorSize; bytes.Equal(text[sector:][:memberstate.SectorSize], free) {
			bits = 1
		}
		for n := range bits {
			flip := byte(1 << ((at + n) % 8))
			text[at] ^= flip
			found, err := memberstate.Read(text)
			if err != nil || !slices.Equal(found, holds) {
				require.NoError(t, err, "%08b of byte %d", flip, at)
				require.Equal(t, holds, found, "%08b of byte %d", flip, at)
			}
			text[at] ^= flip
		}
	}
}

func TestEveryLostSectorIsMended(t *testing.T) {
	text, holds := whole(t)
	for _, size := range []int{crashdisk.SectorSize, memberstate.PageSize} {
		for _, fill := range []byte{0, 0xff} {
			for at := 0; at < len(text); at += size {
				damaged := bytes.Clone(text)
				copy(damaged[at:], bytes.Repeat([]byte{fill}, size))
				found, err := open(damaged)
				require.NoError(t, err, "%d bytes at %d", size, at)
				require.Equal(t, holds, found, "%d bytes at %d", size, at)
			}
		}
	}
}

func TestAMisplacedPageIsMended(t *testing.T) {
	text, holds := whole(t)
	pages := len(text) / memberstate.PageSize
	page := func(of []byte, i int) []byte { return of[i*memberstate.PageSize:][:memberstate.PageSize] }
	for to := range pages {
		for from := range pages {
			damaged := bytes.Clone(text)
			copy(page(damaged, to), page(text, from))
			found, err := open(damaged)
			require.NoError(t, err, "a copy of page %d at %d", from, to)
			require.Equal(t, holds, found, "a copy of page %d at %d", from, to)
		}
	}
}

func TestEveryWrongLengthIsRefused(t *testing.T) {
	text, _ := smallest(t)
	for length := 0; length < len(text); length += effort.Of(1, 7) {
		_, err := memberstate.Read(text[:length])
		require.ErrorIs(t, err, memberstate.ErrDamaged, "%d bytes", length)
	}
	for length := range memberstate.SectorHead { // a page may end within its first numbers
		for _, length := range []int{length, memberstate.PageSize + length} {
			_, err := memberstate.Read(text[:length])
			require.ErrorIs(t, err, memberstate.ErrDamaged, "%d bytes", length)
		}
	}
	_, err := open(append(bytes.Clone(text), 0))
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: it has %d bytes, and %d when it was made", len(text), len(text)+1, len(text)))
}

// Any file may have the store's name. Its bytes are no version.
func TestAFileThatIsNoStoreIsDamagedAndNotNewer(t *testing.T) {
	text := bytes.Repeat([]byte("no store"), memberstate.PageSize)
	_, err := open(text)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, "this is no store, or it is damaged")
}

// spoil damages both copies of sectors.
func spoil(text []byte, sectors ...int) []byte {
	damaged := bytes.Clone(text)
	for _, i := range sectors {
		for _, half := range []int{0, len(text) / 2} {
			damaged[half+i*memberstate.SectorSize+100] ^= 1
		}
	}
	return damaged
}

const perPage = memberstate.PageSize / memberstate.SectorSize

func TestBothCopiesDamagedAreARefusalUnlessTheyAreTheLast(t *testing.T) {
	text, holds := whole(t)
	for name, page := range map[string]int{"the header": 0, "the snapshot": 1, "the first save": 2, "the second save": 3} {
		_, err := open(spoil(text, page*perPage))
		require.ErrorIs(t, err, memberstate.ErrDamaged, name)
		if page > 0 {
			assert.ErrorContains(t, err, fmt.Sprintf("at offset %d: the store is damaged: batch %d cannot be read in either copy, "+
				"and it was acknowledged: there are batches up to 4", page*memberstate.PageSize, page), name)
		}
	}
	found, err := open(spoil(text, 5*perPage))
	require.NoError(t, err, "the last save looks as if a crash had cut it short")
	require.NotEqual(t, holds, found)
	assert.EqualValues(t, 2, found[0].Term)
}

// Half of its sectors are damaged in one copy, the others in the other.
func TestABatchIsReadFromBothCopies(t *testing.T) {
	text, holds := whole(t)
	const second = 3 * perPage // it has eleven sectors
	damaged := bytes.Clone(text)
	for i := range 11 {
		half := i % 2 * len(text) / 2
		damaged[half+(second+i)*memberstate.SectorSize+100] ^= 1
	}
	found, err := open(damaged)
	require.NoError(t, err)
	assert.Equal(t, holds, found)
	_, err = open(spoil(damaged, second+10))
	require.NoError(t, err, "the second flip of the same bit repairs one copy")
	for i := range 10 {
		_, err = open(spoil(text, second+i))
		assert.ErrorIs(t, err, memberstate.ErrDamaged)
	}
}

// A file of a later version is refused as such, whether its checksums fit or not.
func TestANewerFormatIsNamed(t *testing.T) {
	text, _ := whole(t)
	for _, sealed := range []bool{true, false} {
		newer := bytes.Clone(text)
		for p := range 2 {
			sector := newer[p*memberstate.PageSize:][:memberstate.SectorSize]
			binary.LittleEndian.PutUint32(sector[memberstate.FormatOffset:], 3)
			if sealed {
				memberstate.Seal(sector)
			}
		}
		_, err := open(newer)
		require.ErrorIs(t, err, memberstate.ErrNewerFormat, "sealed: %v", sealed)
		assert.ErrorContains(t, err, "its version is 3, this program reads 2")
	}
}

// FuzzOpenStore: no file makes a store panic. If sealed, the checksums are corrected, so that the
// reader gets past them.
func FuzzOpenStore(f *testing.F) {
	disk := new(crashdisk.Disk)
	s, err := memberstate.CreateSmall(disk, "n0", "n0", 8)
	require.NoError(f, err)
	require.NoError(f, s.Save([]memberstate.Record{written("g", 1, "n1")}))
	text := disk.Get("n0")
	f.Add(text, true)
	f.Add(text[:5000], false)
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		if sealed {
			for at := 0; at+memberstate.SectorSize <= len(text); at += memberstate.SectorSize {
				memberstate.Seal(text[at:][:memberstate.SectorSize])
			}
		}
		if found, err := open(text); err == nil {
			for _, r := range found {
				assert.GreaterOrEqual(t, r.Promise, written("", 0, "").Promise)
			}
		}
	})
}
