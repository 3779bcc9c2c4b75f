// Ledgers of engines that replicate nothing, for tests in which only their ends matter.

package electiontest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Ledgers are where the ledgers of groups end, at nodes of one process. At first each ends in term 1, without an entry. The zero value
// is ready to use.
type Ledgers struct{ written sync.Map } // the last entries, by ledger

// ledger is that of a group at a node.
type ledger struct{ node, group string }

// End is where a ledger ends.
func (l *Ledgers) End(node, group string) memberstate.Position {
	if last, wrote := l.written.Load(ledger{node, group}); wrote {
		return last.(memberstate.Position)
	}
	return memberstate.Position{Term: 1}
}

// Write has an elector's engine write what its leader has written, after the elector has heard of it, as an engine must. A ledger that grew
// otherwise would stop the member.
func (l *Ledgers) Write(t *testing.T, el *elector.Elector) {
	t.Helper()
	s := el.Status()
	if s.Leader != s.Self {
		require.NoError(t, el.Heard(s.Term, s.Leader))
	}
	l.written.Store(ledger{s.Self, s.Group}, memberstate.Position{Term: s.Term, Index: 7})
}
