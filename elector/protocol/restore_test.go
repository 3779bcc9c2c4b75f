package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// At a restart the ledger is asked with a promise for the term that the store knows. So it moves back, or grows in an
// older term, only for a leader of that term or a later one, even if its own last entry is older.
func TestALedgerIsComparedWithThePromiseOfTheRestart(t *testing.T) {
	for heard, allowed := range map[memberstate.Term]bool{3: false, 4: false, 5: true} {
		for _, end := range []memberstate.Position{{Term: 1, Index: 1}, {Term: 2, Index: 9}, {Term: 2, Index: 11}, {Term: 3, Index: 11}, {Term: 5, Index: 11}} {
			g := &newRecorders(t, 2)[0].group
			record := memberstate.Record{Group: "g", Term: 5, Voters: g.Members.Digest()}
			require.NoError(t, g.Restore(record, true, memberstate.Position{Term: 2, Index: 10}))
			err := g.ledger.check(5, end, heard)
			assert.Equal(t, allowed, err == nil, "it ends at %v after the leader of term %d was heard", end, heard)
		}
	}
}

// Between two promises for the same term the ledger grows in that term.
func TestALedgerGrowsInTheTermOfItsPromise(t *testing.T) {
	l := ledgerLog{end: memberstate.Position{Term: 2, Index: 10}, asked: 2, known: 2}
	require.NoError(t, l.check(2, memberstate.Position{Term: 2, Index: 11}, 0))
	require.NoError(t, l.check(3, memberstate.Position{Term: 2, Index: 12}, 0))
	require.NoError(t, l.check(3, memberstate.Position{Term: 2, Index: 12}, 0))
	assert.Error(t, l.check(3, memberstate.Position{Term: 2, Index: 13}, 0))
}

// What the store has kept of a group is checked, and then restored as it was.
func TestAGroupIsRestoredFromItsRecord(t *testing.T) {
	type record = memberstate.Record
	for name, c := range map[string]struct {
		change  func(r *record)
		unknown bool
		end     memberstate.Term
		refused error
	}{
		"as it was":                {change: func(*record) {}, end: 5},
		"without a vote":           {change: func(r *record) { r.Vote = "" }},
		"of other voters":          {change: func(r *record) { r.Voters++ }, refused: ErrOtherVoters},
		"of no voters":             {change: func(r *record) { r.Voters = 0 }, refused: ErrOtherVoters},
		"with a stranger's vote":   {change: func(r *record) { r.Vote = "nx" }, refused: ErrOtherVoters},
		"with an observer's vote":  {change: func(r *record) { r.Vote = "n2" }, refused: ErrOtherVoters},
		"older than the ledger":    {change: func(*record) {}, end: 6, refused: ErrStoreBehindLedger},
		"of a new group":           {change: func(r *record) { *r = record{} }, unknown: true},
		"new, but with a ledger":   {change: func(r *record) { *r = record{} }, unknown: true, end: 1},
		"new, but with a long one": {change: func(r *record) { *r = record{} }, unknown: true, end: 6},
	} {
		members, err := memberstate.NewMembers(append(memberstate.Voters("n0", "n1"), memberstate.Member{ID: "n2", Observer: true}))
		require.NoError(t, err)
		g := NewGroup(&Electorate{Members: members, Rules: *threeRules()}, "g", nil)
		g.Rules.Voters, g.Rules.All = members.Voters(), members.All()
		r := record{Group: "g", Term: 5, Vote: "n1", Promise: time.Second, Voters: members.Digest()}
		c.change(&r)
		err = g.Restore(r, !c.unknown, memberstate.Position{Term: c.end})
		require.ErrorIs(t, err, c.refused, name)
		if c.unknown {
			r = record{Group: "g", Term: c.end, Voters: members.Digest()}
		}
		if err == nil {
			assert.Equal(t, r, g.Record(), name)
		}
	}
}
