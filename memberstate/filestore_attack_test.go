// Larger damage to a file: long runs, misplaced pages, both copies at once. The store must
// not return an older vote without an error.

package memberstate_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/memberstate"
)

// voted returns the file of a store that has saved a vote in each of terms 1 to terms.
func voted(t *testing.T, terms int, room uint32) (text []byte, holds []memberstate.Record) {
	t.Helper()
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", room)
	require.NoError(t, err)
	for term := range memberstate.Term(terms) {
		require.NoError(t, s.Save([]memberstate.Record{written("g", term+1, "n1")}))
	}
	closed(t, s)
	return disk.Get("n0"), s.Records()
}

// fills are contents that damage may leave.
func fills(length int) map[string][]byte {
	noise := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	return map[string][]byte{"zeros": make([]byte, length), "ones": bytes.Repeat([]byte{0xff}, length), "noise": noise}
}

// The file has the default size, and one damaged run covers the last k saves in either half.
func TestADamagedRunOverTheLastSavesIsMended(t *testing.T) {
	const terms = 24
	text, holds := voted(t, terms, 1024)
	require.Len(t, text, 4<<20)
	for _, half := range []int{0, len(text) / 2} {
		for k := 1; k <= terms; k += effort.Of(1, 4) {
			run := 2 * k * memberstate.PageSize // as long as k saves were when their copies lay side by side
			from := half + (memberstate.FirstSave+terms-k)*memberstate.PageSize
			for what, fill := range fills(run) {
				damaged := bytes.Clone(text)
				copy(damaged[from:], fill)
				found, err := memberstate.Read(damaged)
				require.NoError(t, err, "%s over %d saves", what, k)
				require.Equal(t, holds, found, "%s over %d saves", what, k)
			}
		}
	}
}

// Every run of pages that is shorter than half the file, at every place, in a file that
// is full and in one that is not.
func TestEveryRunThatIsShorterThanAHalfIsMended(t *testing.T) {
	for _, terms := range []int{4, 14} {
		everyRun(t, terms)
	}
}

func everyRun(t *testing.T, terms int) {
	t.Helper()
	const pages = 32
	text, holds := voted(t, terms, pages)
	require.Len(t, text, pages*memberstate.PageSize)
	for length := 1; length < pages/2; length++ {
		for what, fill := range fills(length * memberstate.PageSize) {
			for from := range pages - length + 1 {
				damaged := bytes.Clone(text)
				copy(damaged[from*memberstate.PageSize:], fill)
				found, err := memberstate.Read(damaged)
				require.NoError(t, err, "%s in %d pages from %d on", what, length, from)
				require.Equal(t, holds, found, "%s in %d pages from %d on", what, length, from)
			}
		}
	}
}

// If both copies of one save are damaged, it looks as if a crash had cut it short. A crash cannot
// do that to more than one save.
func TestBothCopiesOfSeveralSavesDamagedAreARefusal(t *testing.T) {
	const terms = 10
	text, holds := voted(t, terms, 64)
	for k := 1; k <= terms; k++ {
		for what, fill := range fills(k * memberstate.PageSize) {
			damaged := bytes.Clone(text)
			for _, half := range []int{0, len(text) / 2} {
				copy(damaged[half+(memberstate.FirstSave+terms-k)*memberstate.PageSize:], fill)
			}
			found, err := memberstate.Read(damaged)
			switch {
			case what == "zeros": // looks as if the saves had never been written
			case k == 1:
				require.NoError(t, err)
				require.Equal(t, holds[0].Term-1, found[0].Term)
			default:
				require.ErrorIs(t, err, memberstate.ErrDamaged, "%s over %d saves", what, k)
				require.ErrorContains(t, err, "more than one save")
			}
		}
	}
}

// A page of another store is not mistaken for one of this store, even if generation, place and
// batch are equal; nor is a whole half.
func TestAPageOfAnotherStoreIsMended(t *testing.T) {
	text, holds := voted(t, 4, 16)
	other, _ := voted(t, 3, 16)
	for at := 0; at < len(text); at += memberstate.PageSize {
		damaged := bytes.Clone(text)
		copy(damaged[at:], other[at:][:memberstate.PageSize])
		found, err := memberstate.Read(damaged)
		require.NoError(t, err, "page at %d", at)
		require.Equal(t, holds, found, "page at %d", at)
	}
	damaged := bytes.Clone(text)
	copy(damaged, other[:len(other)/2])
	_, err := memberstate.Read(damaged)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, "headers of two files")

	// Even a part that is damaged belongs to its file.
	damaged = bytes.Clone(text)
	copy(damaged, other[:memberstate.PageSize])
	sector := damaged[2*memberstate.PageSize:][:memberstate.SectorSize]
	copy(sector, other[2*memberstate.PageSize:])
	sector[100] ^= 1
	_, err = memberstate.Read(damaged)
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, "headers of two files")
}

func TestCopiesThatDifferAreARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	for _, page := range []int{0, 2, 3, 4} { // page 1 holds no records
		for _, half := range []int{0, len(text) / 2} {
			damaged := bytes.Clone(text)
			sector := damaged[half+page*memberstate.PageSize:][:memberstate.SectorSize]
			sector[memberstate.SectorHead+2] ^= 1
			memberstate.Seal(sector)
			_, err := memberstate.Read(damaged)
			require.ErrorIs(t, err, memberstate.ErrDamaged, "page %d", page)
		}
	}
}

// A sector is valid and names a batch that does not belong there.
func TestASectorThatDoesNotBelongThereIsARefusal(t *testing.T) {
	text, _ := voted(t, 3, 16)
	const batch, index, count = 24, 28, 32 // where these are in a sector's head
	for _, page := range []int{1, 2, 4} {
		for _, field := range []int{batch, index, count} {
			damaged := bytes.Clone(text)
			sector := damaged[page*memberstate.PageSize:][:memberstate.SectorSize]
			sector[count] += 2 // an index is below the count
			sector[field]++
			memberstate.Seal(sector)
			_, err := memberstate.Read(damaged)
			require.ErrorIs(t, err, memberstate.ErrDamaged, "page %d, field at %d", page, field)
			require.ErrorContains(t, err, "at offset ", "page %d, field at %d", page, field)
		}
	}
}

// The file also records how many sectors were mended.
func TestMendedAndTornSavesAreReported(t *testing.T) {
	text, holds := voted(t, 3, 16)
	last := (memberstate.FirstSave + 2) * memberstate.PageSize
	for name, c := range map[string]struct {
		at     []int
		says   string
		mended int
		torn   int
	}{
		"one copy":    {[]int{last}, "mended from the other", 1, 0},
		"all of it":   {[]int{memberstate.PageSize, last, len(text)/2 + last}, "mended from the other", 1, 1},
		"both copies": {[]int{last, len(text)/2 + last}, "cut short by a crash", 0, 1},
		"nothing":     {},
	} {
		damaged := bytes.Clone(text)
		for _, at := range c.at {
			damaged[at+100] ^= 1
		}
		disk := new(crashdisk.Disk)
		disk.Set("n0", damaged)
		var log bytes.Buffer
		mended, torn := 0, 0
		options := memberstate.FileOptions{
			Disk: disk, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Metrics: &memberstate.FileMetrics{Mended: func(n int) { mended += n }, Torn: func() { torn++ }},
		}
		_, err := memberstate.OpenSmallWith(options, "n0", "n1", 16)
		require.ErrorIs(t, err, memberstate.ErrOtherNode, "another node's file is not used, and not reported")
		s, err := memberstate.OpenSmallWith(options, "n0", "n0", 16)
		require.NoError(t, err, name)
		assert.Equal(t, holds[0].Term-memberstate.Term(c.torn), s.Records()[0].Term, name)
		closed(t, s)
		assert.Contains(t, log.String(), c.says, name)
		assert.Equal(t, c.mended, mended, name)
		assert.Equal(t, c.torn, torn, name)
		assert.Equal(t, c.says == "", log.Len() == 0, "%s: %s", name, &log)
		assert.EqualValues(t, c.mended, memberstate.MendedIn(disk.Get("n0")), name)
	}
}

// A crash during a save of several pages may leave any of its sectors whole, torn, or missing. The
// store opens in every case.
func TestNoCrashInALargeSaveIsARefusal(t *testing.T) {
	disk := new(crashdisk.Disk)
	disk.Later = never
	s, err := memberstate.CreateSmall(disk, "n0", "n0", smallRoom)
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{written("g", 1, "n1")}))
	acked := s.Records()
	var large []memberstate.Record
	for i := range 300 {
		large = append(large, written(fmt.Sprint("group ", i), 7, "n2"))
	}
	crashed := 0
	random := rand.New(rand.NewPCG(1, 1))
	disk.After = func(op string) {
		if op != "write" {
			return
		}
		for range 1000 {
			crashed++
			found, err := memberstate.Read(disk.Crash(random).Get("n0"))
			require.NoError(t, err)
			if len(found) == 1 {
				require.Equal(t, acked, found)
			} else {
				require.Len(t, found, 301)
			}
		}
	}
	require.NoError(t, s.Save(large))
	assert.Equal(t, 2000, crashed, "after each of its two writes")
}

// A crash during a save of two pages may leave a single sector of the second page, in both
// halves, and tear that sector, too.
func TestASingleTornSectorOfALargeSaveIsARemnant(t *testing.T) {
	text, _ := whole(t)
	const second, ninth = 3 * perPage, 3*perPage + 9
	for length := 1; length <= memberstate.SectorSize; length++ {
		damaged := bytes.Clone(text)
		for _, half := range []int{0, len(text) / 2} {
			clear(damaged[half+second*memberstate.SectorSize : half+len(text)/2])
			copy(damaged[half+ninth*memberstate.SectorSize:], text[half+ninth*memberstate.SectorSize:][:length])
		}
		found, err := memberstate.Read(damaged)
		require.NoError(t, err, "%d bytes", length)
		require.Equal(t, []memberstate.Record{written("g", 1, "n1")}, found, "%d bytes", length)
		require.False(t, memberstate.Clean(damaged), "%d bytes", length)
	}
}
