package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation/invariant"
)

// A leader whose lease has run out must step down, even if its session has dropped the lease and will
// never hold another one. Only a leader that has told another member to stand leads on.
func TestALeaderThatOutlivesItsLeaseIsNoticed(t *testing.T) {
	s := parsed(t, "explored\nmembers 2\nleases on\npre-vote off\n1 n0 alarm\n2 n1 hears 1\n3 n1 hears 1\n4 n0 hears 3\n5 n1 hears 4\n6 n0 hears 5\n")
	p, err := s.play(newModel(s.bounds(), newRegistry()))
	require.NoError(t, err)
	leader := p.nodes[0]
	require.True(t, leader.holdsLease())
	leader.driver.hold, leader.driver.ended = 0, true
	outlives := func(toldToStand bool) defect {
		w := p.model.newExecution(&leader, p.model.renamings[0])
		w.session = leader.session.Session(&w.duties)
		w.lapsed, w.toldToStand = leader.session.Term, toldToStand
		w.checkDriver()
		return w.defect
	}
	assert.Equal(t, defect{invariant.NeverStuck, "it still leads although its lease has run out"}, outlives(false))
	assert.Equal(t, defect{}, outlives(true))
}
