package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If a column of the table is wrong, a strike that is drawn cannot be written down, or does what its
// row denies.
func TestDrawnStrikesAreAsTheTableOfFaultsSays(t *testing.T) {
	s := &Scenario{Options: Options{Members: 5, Groups: 3, Leases: true, Duration: time.Minute}}
	require.NoError(t, s.fill())
	for _, f := range Faults() {
		assert.Equal(t, faultTable[f].draw == nil, faultTable[f].inflict == nil, "%v", f)
		assert.False(t, f.is(atOneNode) && !f.is(fromStart), "%v", f)
		assert.False(t, f.is(notAllGroups) && !f.is(perGroup), "%v", f)
		assert.False(t, f.is(linksImplied) && !f.is(cutsLinks), "%v", f)
		if faultTable[f].draw == nil {
			continue
		}
		w := newWorld(s.Options)
		w.drawEnvironment(uint64(f))
		w.begin()
		w.run(5 * time.Second)
		struck := false
		for range 32 {
			k, could := w.swarm.draw(w, f)
			if !could {
				continue
			}
			fitsItsRow(t, s, &k)
			if nodes := len(w.nodes); !struck {
				struck = faultTable[f].inflict(w, &k)
				assert.Equal(t, struck && f.is(addsNode), len(w.nodes) > nodes, "%v", &k)
			}
		}
	}
}

// fitsItsRow checks a strike that a scenario could have.
func fitsItsRow(t *testing.T, s *Scenario, k *Strike) {
	t.Helper()
	assert.Equal(t, k.Fault.is(cutsLinks), len(k.Links) > 0, "%v", k)
	require.NoError(t, s.checkStrike(k), "%v", k)
	read, err := ParseScenario(strings.NewReader("members 5\ngroups 3\nobservers 2\nduration 1m\n" + k.String()))
	require.NoError(t, err)
	read.Strikes[0].line = 0
	assert.Equal(t, *k, read.Strikes[0])
}
