// A leader that has entries of an earlier term, which worlds rarely have at the moment that matters.

package simulated

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
)

// votes has n1 vote, which has no entry and so cannot win, until the returned function is called.
func (f *follower) votes() (end func()) {
	n1, err := elector.New(elector.HostConfig{Self: "n1", Store: new(memberstate.MemStore), Transport: f.elections.Join("n1")}, elector.GroupConfig{
		Group: engine.Group(0), Members: memberstate.Voters("n0", "n1", "n2"), Timing: elector.DefaultTiming(),
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(f, err)
	require.NoError(f, n1.Start())
	return func() { assert.NoError(f, n1.Stop(f.Context())) }
}

// leads waits until n0 leads, by votes of n1, and sends the first entry of its term.
func (f *follower) leads() (term uint64, end func()) {
	end = f.votes()
	for {
		if says := <-f.says; says.GetAppend() != nil {
			return says.Term, end
		}
	}
}

// closeAlone ends it while nobody can take over.
func (f *follower) closeAlone() {
	wait, cancel := context.WithTimeout(f.Context(), time.Second)
	defer cancel()
	_ = f.engine.Close(wait) // what it leads is left
}

// A quorum has an entry of an earlier term, and yet a candidate may win that has not got it, if its last entry is of a term between.
// So the entry is committed together with the first one of the leader's own term.
func TestAnEntryOfAnEarlierTermIsNotCommittedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t, false)
		f.hears(&ledgerpb.Append{Before: &ledgerpb.Position{}, Entries: []*ledgerpb.Entry{put(1)}, End: 1})
		require.Equal(t, []string{"matched 1, refused false"}, f.answers())
		empty := f.engine.Digest(0)

		term, end := f.leads()
		matches := func(index uint64) {
			f.engine.Receive(&ledgerpb.Message{From: "n1", Term: term, Says: &ledgerpb.Message_Matched{Matched: &ledgerpb.Matched{Index: index}}})
			<-time.After(elector.DefaultTiming().Heartbeat) // virtual time
		}
		matches(1)
		assert.Equal(t, empty, f.engine.Digest(0))
		matches(2)
		assert.NotEqual(t, empty, f.engine.Digest(0))
		end()
		f.closeAlone()
	})
}
