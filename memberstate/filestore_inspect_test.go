// What InspectFile tells of a file that is not clean.

package memberstate_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/crashdisk"
	"github.com/hustings/hustings/memberstate"
)

// inspected inspects a file with this content.
func inspected(t *testing.T, text []byte) (memberstate.FileInfo, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	info, err := memberstate.InspectFile(path)
	assert.Equal(t, path, info.Path)
	return info, err
}

func TestAMissingStoreIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	info, err := memberstate.InspectFile(path)
	require.ErrorIs(t, err, memberstate.ErrNoStore)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, path)
	assert.Equal(t, memberstate.FileInfo{Path: path}, info)
	_, err = memberstate.InspectFile(path + "\x00")
	require.Error(t, err)
	assert.NotErrorIs(t, err, memberstate.ErrNoStore, "nothing says that there is none")
}

// The places are in the order of the file, whichever copy was read first.
func TestDamageIsListedByPlaceInBothHalves(t *testing.T) {
	text, holds := whole(t)
	const second = 3 * perPage // it has eleven sectors
	half := len(text) / 2 / memberstate.SectorSize
	damaged := []int{2 * perPage, 2*perPage + 3, second + 5, half + second + 1, half + 5*perPage}
	assert.Equal(t, spansOf(damaged), damageIn(t, text, holds, damaged))

	text, holds = voted(t, 1, room) // pages 4 to 6 are free, and no save that is cut short begins there
	damaged = []int{4 * perPage, 4*perPage + 3, half + 6*perPage + 3}
	assert.Equal(t, spansOf(damaged), damageIn(t, text, holds, damaged))
}

// damageIn damages sectors of a file, and returns what it then tells of its damage.
func damageIn(t *testing.T, text []byte, holds []memberstate.Record, sectors []int) []memberstate.Span {
	t.Helper()
	for _, i := range sectors {
		text[i*memberstate.SectorSize+100] ^= 1
	}
	info, err := inspected(t, text)
	require.NoError(t, err)
	assert.Equal(t, holds, info.Records)
	assert.False(t, info.Torn)
	return info.Damaged
}

// spansOf are the places of sectors of which none are adjacent.
func spansOf(sectors []int) (all []memberstate.Span) {
	for _, i := range sectors {
		all = append(all, memberstate.Span{Offset: int64(i) * memberstate.SectorSize, Bytes: memberstate.SectorSize})
	}
	return all
}

func TestATornSaveIsTold(t *testing.T) {
	text, holds := whole(t)
	info, err := inspected(t, spoil(text, 5*perPage))
	require.NoError(t, err)
	holds[0] = written("g", 2, "")
	assert.Equal(t, memberstate.FileInfo{
		Path: info.Path, Version: 2, Node: "n0", Generation: 1, Saves: 2, Torn: true,
		Size: int64(len(text)), Used: 2 * 5 * memberstate.PageSize, Records: holds,
	}, info)
}

// The crash may have come before anything was written in the other half.
func TestASaveThatIsTornInOneHalfIsTorn(t *testing.T) {
	text, holds := voted(t, 1, room)
	for _, at := range both(text, 3) {
		torn := bytes.Clone(text)
		torn[at+100] ^= 1
		info, err := inspected(t, torn)
		require.NoError(t, err)
		assert.Equal(t, holds, info.Records)
		assert.True(t, info.Torn)
		assert.Empty(t, info.Damaged)
	}
}

// A store that cannot be opened tells what could be read before the damage.
func TestARefusedFileTellsWhatCouldBeRead(t *testing.T) {
	text, _ := whole(t)
	info, err := inspected(t, spoil(text, 3*perPage))
	require.ErrorIs(t, err, memberstate.ErrDamaged)
	assert.ErrorContains(t, err, info.Path)
	assert.Equal(t, "n0", info.Node)
	assert.EqualValues(t, len(text), info.Size)
	assert.Equal(t, []memberstate.Record{written("g", 1, "n1")}, info.Records)
}

// The file that was written anew tells how many sectors its predecessors had to mend, all together.
func TestMendedSectorsAreCountedOverAllFiles(t *testing.T) {
	text, _ := whole(t)
	for n := range uint64(3) {
		info, err := inspected(t, text)
		require.NoError(t, err)
		assert.Equal(t, 2*n, info.Mended)
		assert.Equal(t, 1+n, info.Generation)
		disk := new(crashdisk.Disk)
		text[memberstate.PageSize+100] ^= 1 // of the snapshot
		text[len(text)/2+100] ^= 1          // of the header
		disk.Set("n0", text)
		s, err := memberstate.OpenSmall(disk, "n0", "n0", room)
		require.NoError(t, err)
		closed(t, s)
		text = disk.Get("n0")
	}
}
