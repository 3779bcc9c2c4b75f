package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// At a restart the ledger is asked with a promise for the term that the store knows. So it moves back
// only for a leader of that term or a later one, even if its own last entry is older.
func TestALedgerIsComparedWithThePromiseOfTheRestart(t *testing.T) {
	for heard, allowed := range map[memberstate.Term]bool{3: false, 4: false, 5: true} {
		g := &newRecorders(t, 2)[0].group
		record := memberstate.Record{Group: "g", Term: 5, Voters: g.Members.Digest()}
		require.NoError(t, g.Restore(record, true, memberstate.Position{Term: 2, Index: 10}))
		err := g.ledger.check(5, memberstate.Position{Term: 1, Index: 1}, heard)
		assert.Equal(t, allowed, err == nil, "after the leader of term %d was heard", heard)
	}
}
