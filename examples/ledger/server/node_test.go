package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/memberstate"
)

// Its data are lost, and its votes are there. If the first try had made data, the next start would take the node for one that has an empty ledger.
func TestANodeThatHasVotedIsNotMadeNew(t *testing.T) {
	c := Config{Self: "n0", Dir: t.TempDir(), Shards: 1, New: true}
	store, err := openStore(c)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, os.RemoveAll(data(c)))
	_, err = openStore(c)
	require.ErrorIs(t, err, memberstate.ErrStoreExists)
	assert.NoDirExists(t, data(c))
}

// A crash may come between the two. Then the start as a new node is repeated.
func TestANewNodeIsMadeAgainIfThatWasInterrupted(t *testing.T) {
	c := Config{Self: "n0", Dir: t.TempDir(), Shards: 1, New: true}
	require.NoError(t, engine.Create(filepath.Join(c.Dir, "data"), nil, c.Shards))
	store, err := openStore(c)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}
