package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestAStoreIsCreatedOnceInANodesLife(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	assert.Equal(t, []string{filepath.Join(data, "n0.store")}, succeed(t, "store", "create", "--data", data, "--node", "n0"))
	assert.Contains(t, fail(t, exitFailed, "store", "create", "--data", data, "--node", "n0"), "there is a store already")
	assert.Contains(t, fail(t, exitUsage, "store", "create", "--data", data, "--node", "../esc"), `--node is "../esc", which cannot be the name of a file`)
	assert.Contains(t, fail(t, exitUsage, "store", "create", "--node", "n0"), "--data and --node")
	assert.NoFileExists(t, filepath.Join(data, "..", "esc.store"))
	assert.Equal(t, "node        n0", succeed(t, "store", "inspect", filepath.Join(data, "n0.store"))[0])
}

// storeWith returns a store in which n0 has voted for n1 in term 3 of a group.
func storeWith(t *testing.T, group string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n0.store")
	s, err := memberstate.CreateFile(path, "n0")
	require.NoError(t, err)
	require.NoError(t, s.Save([]memberstate.Record{{Group: group, Term: 3, Vote: "n1", Promise: 5, Voters: 7}}))
	require.NoError(t, s.Close())
	return path
}

func recordIn(t *testing.T, path, group string) memberstate.Record {
	t.Helper()
	info, err := memberstate.InspectFile(path)
	require.NoError(t, err)
	for _, r := range info.Records {
		if r.Group == group {
			return r
		}
	}
	return memberstate.Record{}
}

func TestATermIsRaisedWhenItsCostIsConfirmed(t *testing.T) {
	for _, c := range []struct{ typed, says string }{
		{"", "it was not confirmed"},
		{"yes\n", `"yes" is not the new term`},
		{"10000000000000\n", ""},
		{"10000000000000", ""}, // as a script may write it
	} {
		path := storeWith(t, "orders")
		before := recordIn(t, path, "orders")
		var out strings.Builder
		cmd := newStoreRaise()
		cmd.SetArgs([]string{path, "--group", "orders", "--to", "10000000000000"})
		cmd.SetIn(strings.NewReader(c.typed))
		cmd.SetOut(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		assert.Contains(t, out.String(), "Node n0 is in term 3 of group orders. Raising it to 10000000000000 costs this")
		assert.Contains(t, out.String(), "9999999999996 terms will not be led")
		assert.Contains(t, out.String(), "Its vote for n1 is dropped")
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, before, recordIn(t, path, "orders"))
			continue
		}
		require.NoError(t, err)
		want := before
		want.Term, want.Vote = 10000000000000, ""
		assert.Equal(t, want, recordIn(t, path, "orders"))
	}
}

func TestATermIsOnlyRaised(t *testing.T) {
	path := storeWith(t, "orders")
	assert.Contains(t, fail(t, exitFailed, "store", "raise", path, "--group", "orders", "--to", "3", "--yes"), "which is 3")
	assert.Contains(t, fail(t, exitFailed, "store", "raise", path, "--group", "orders", "--to", "3"), "which is 3", "it does not ask before that")
	assert.Contains(t, fail(t, exitFailed, "store", "raise", path, "--group", "users", "--to", "9", "--yes"), "no record of the group")
	assert.Contains(t, fail(t, exitUsage, "store", "raise", path, "--to", "9"), "--group and --to")
	assert.Contains(t, fail(t, exitFailed, "store", "raise", path+"x", "--group", "orders", "--to", "9"), "there is no store")
	running, err := memberstate.OpenFile(path, "n0")
	require.NoError(t, err)
	assert.Contains(t, fail(t, exitFailed, "store", "raise", path, "--group", "orders", "--to", "9", "--yes"), "stop the node first")
	require.NoError(t, running.Close())
	assert.Equal(t, []string{"node n0 is now in term 9 of group orders"}, succeed(t, "store", "raise", path, "--group", "orders", "--to", "9", "--yes"))
}
