// Reports of the transport that a process is gone.

package protocol

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestOnlyMembersThatAreGoneAreRemembered(t *testing.T) {
	_, d := pair(t)
	for _, node := range []string{"n0", "nx", ""} {
		d.node.PeerLost(node)
	}
	assert.Contains(t, d.node.lost, "n0")
	assert.Len(t, d.node.lost, 1)
}

// Before its start a group belongs to the goroutine that restores it. The test is for the race detector.
func TestALossTouchesNoGroupThatIsBeingRestored(t *testing.T) {
	d := newRecorders(t, 2)[0]
	var restoring sync.WaitGroup
	restoring.Go(func() {
		assert.NoError(t, d.group.Restore(memberstate.Record{Group: "g", Term: 5}, false, memberstate.Position{}))
	})
	d.node.PeerLost("n1")
	restoring.Wait()
	require.EqualValues(t, 5, d.group.Term)
}
