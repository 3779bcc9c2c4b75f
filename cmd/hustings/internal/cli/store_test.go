package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestAStoreIsInspected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0.store")
	assert.Contains(t, fail(t, exitFailed, "store", "inspect", path), "there is no store")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{{Group: "orders", Term: 7, Vote: "n1", Promise: 5, Voters: 1 << 63}, {Group: "users", Term: 2}}))
	starts, err := memberstate.CountStart(s, 17)
	require.NoError(t, err)
	require.NoError(t, s.Close())

	lines := succeed(t, "store", "inspect", path)
	assert.Equal(t, "node        n0", lines[0])
	assert.Contains(t, lines, "starts      17", "it is no group's")
	assert.Contains(t, lines, "groups      2")
	assert.Regexp(t, `^  orders +term 7 +voted for n1$`, lines[len(lines)-2])
	assert.Regexp(t, `^  users +term 2 +no vote$`, lines[len(lines)-1])

	var info storeInfo
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "store", "inspect", "--json", path)[0]), &info))
	assert.Equal(t, storedGroup{"orders", 7, "n1", 5, "8000000000000000"}, info.Groups[0])
	assert.EqualValues(t, 2, info.Saves)
	assert.Len(t, info.Groups, 2)
	assert.Equal(t, starts, info.Starts)
	assert.Empty(t, info.Error)
	assert.False(t, info.Kept)
}

func TestAStoreSaysThatItsNodeIsKeptDrained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0.store")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	inspected := func() string { return strings.Join(succeed(t, "store", "inspect", path), "\n") }
	assert.NotContains(t, inspected(), "drained")
	require.NoError(t, memberstate.KeepDrained(s, true))
	require.NoError(t, s.Close())
	assert.Contains(t, inspected(), "\nkept        the node begins drained when it is started, until: hustings undrain\ngroups      0")
	assert.Contains(t, succeed(t, "store", "inspect", "--json", path)[0], `"kept":true`)
}

func TestAStoreSaysThatItIsOutdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0.store")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{memberstate.OutdatedRecord(7)}))
	require.NoError(t, s.Close())
	assert.Contains(t, strings.Join(succeed(t, "store", "inspect", path), "\n"),
		"\nstarts      7\noutdated    another node has seen a later start of this one: do not use the store again\ngroups      0")
	assert.Contains(t, succeed(t, "store", "inspect", "--json", path)[0], `"outdated":true`)
}

// The readable part of a store that cannot be used is shown.
func TestADamagedStoreIsShownAndFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n0.store")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	for term := range memberstate.Term(3) {
		require.NoError(t, s.Save([]memberstate.Record{{Group: "orders", Term: term + 1}}))
	}
	require.NoError(t, s.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const second = 3 * 4096
	text[second+100] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	assert.Contains(t, succeed(t, "store", "inspect", path), "damaged     one copy of the 512 bytes at offset 12288; it is mended when the store is opened")
	var info storeInfo
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "store", "inspect", "--json", path)[0]), &info))
	assert.Equal(t, []storedSpan{{second, 512}}, info.Damaged)
	text[len(text)/2+second+100] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	code, stdout, stderr := run("store", "inspect", path)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "offset 12288")
	assert.Contains(t, stdout, "term 1", "the records before the damage are shown")
	code, stdout, stderr = run("store", "inspect", "--json", path)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "offset 12288")
	require.NoError(t, json.Unmarshal([]byte(stdout), &info))
	assert.Contains(t, info.Error, "offset 12288")
}

// Scripts and people read the same of a store.
func TestAStoreHasAllItsFields(t *testing.T) {
	t.Parallel()
	info := memberstate.FileInfo{
		Path: "n1.store", Version: 2, Node: "n1", Generation: 3, Saves: 4, Size: 8192, Used: 5120, Next: 16384, Mended: 6, Torn: true,
		Damaged: []memberstate.Span{{Offset: 1024, Bytes: 512}}, Records: []memberstate.Record{{Term: 9}, {Group: "orders", Term: 7, Vote: "n2", Promise: 5, Voters: 10}},
	}
	text, err := json.Marshal(storeJSON(info, assert.AnError))
	require.NoError(t, err)
	assert.JSONEq(t, `{"node":"n1","version":2,"generation":3,"saves":4,"size_bytes":8192,"used_bytes":5120,"next_bytes":16384,"mended_sectors":6,"torn":true,
		"damaged":[{"offset":1024,"bytes":512}],"starts":9,"groups":[{"group":"orders","term":7,"vote":"n2","promise_nanos":5,"voters":"000000000000000a"}],
		"error":"`+assert.AnError.Error()+`"}`, string(text))
	var out strings.Builder
	require.NoError(t, printStore(&out, &info))
	assert.Equal(t, `node        n1
format      2
generation  3
saves       4
size        8192 bytes, 5120 of them used
next        16384 bytes, prepared for when this file is full
damaged     one copy of the 512 bytes at offset 1024; it is mended when the store is opened
mended      6 sectors of 512 bytes since the store was made; look at its disk
torn        the last save was cut short; nobody relied on it
starts      9
groups      1
  orders               term 7        voted for n2
`, out.String())
}

func TestWhatHappenedToAStoreIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, printStore(&out, &memberstate.FileInfo{Node: "n1", Mended: 3, Torn: true, Next: 4096}))
	assert.Contains(t, out.String(), "\nmended      3 sectors of 512 bytes since the store was made; look at its disk\n")
	assert.Contains(t, out.String(), "\ntorn        the last save was cut short; nobody relied on it\n")
	assert.Contains(t, out.String(), "\nnext        4096 bytes, prepared for when this file is full\n")
	out.Reset()
	require.NoError(t, printStore(&out, &memberstate.FileInfo{Node: "n1"}))
	assert.NotContains(t, out.String(), "mended")
	assert.NotContains(t, out.String(), "torn")
	assert.Contains(t, out.String(), "\nnext        no file is prepared for when this one is full\n")
}
