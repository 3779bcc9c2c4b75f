package realtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryEventLeadsToAnotherLeader(t *testing.T) {
	for side, start := range map[string]func(func()) (*cluster, error){"ours": startOurs, "peer": startPeer} {
		for _, e := range events {
			t.Run(side+" "+e.name, func(t *testing.T) {
				began := time.Now()
				took, err := measureOne(t.Context(), start, e)
				require.NoError(t, err)
				// The elections and the wait before the event take this long on any machine.
				assert.Less(t, took, time.Since(began)-detection, "nothing before the event is counted")
			})
		}
	}
}

func TestTwoOfThreeMembersAreAMajority(t *testing.T) {
	c := &cluster{members: map[string]member{"n0": says("n1"), "n1": says("n1"), "n2": says("")}}
	assert.Equal(t, "n1", c.known(2))
	assert.Empty(t, c.known(3))
	c.gone = "n1"
	assert.Empty(t, c.known(1), "a member that is cut off does not lead")
}

// says is a member that names a leader.
type says string

func (s says) leader() string { return string(s) }
func (s says) resign() error  { return nil }
func (s says) close() error   { return nil }
