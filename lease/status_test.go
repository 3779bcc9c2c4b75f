package lease

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

// A process that has stood still looks at the clock before the timer has had its
// turn: it must not take itself for the leader.
func TestStatusLooksAtTheClock(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(GroupConfig{Name: "g"})
	require.NoError(t, err)
	e.lease.Store(office.NewLease(7, k.now()+DefaultTiming().TTL))
	e.show(func(s *elector.Status) { s.Role, s.Term, s.Leader = memberstate.Leader, 7, s.Self })
	require.Equal(t, memberstate.Leader, e.Status().Role)
	before := e.Status().Revision
	e.lease.Store(office.NewLease(7, k.now()))
	s := e.Status()
	assert.Equal(t, memberstate.Candidate, s.Role)
	assert.Empty(t, s.Leader)
	assert.Equal(t, before+1, s.Revision)
	assert.Equal(t, s, e.Status())
}

// A Status has another revision when it has changed, and only then: whoever watches is told of
// nothing that was so before.
func TestARevisionIsAChange(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(GroupConfig{Name: "g"})
	require.NoError(t, err)
	e.show(func(s *elector.Status) { s.Role, s.Leader = memberstate.Follower, "m" })
	before := e.Status()
	e.show(func(s *elector.Status) { s.Role, s.Leader = memberstate.Follower, "m" })
	assert.Equal(t, before, e.Status())
	e.show(func(s *elector.Status) { s.Leader = "o" })
	assert.Equal(t, before.Revision+1, e.Status().Revision)
}

// deaf is a store that nobody calls.
type deaf struct{ Store }
