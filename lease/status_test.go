package lease

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// Status reads the clock, because after a pause of the process the timer may not have run yet,
// and the candidate must not take itself for the leader.
func TestStatusLooksAtTheClock(t *testing.T) {
	var said []string
	log := slog.New(ears(func(text string) { said = append(said, text) }))
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming(), Logger: log})
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
	assert.Equal(t, k.Self(), s.LastLeader)
	assert.Equal(t, voting.DepartedLeaseLapsed, s.Departure)
	assert.Equal(t, before+1, s.Revision)
	assert.Equal(t, s, e.Status())
	assert.Equal(t, []string{"role"}, said, "the loss is logged once")
}

// The revision of a Status changes if and only if the Status does, so that a watcher gets no
// Status twice.
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

// The status before the first look already says what the candidate is.
func TestTheInitialStatusHasARole(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	for observer, role := range map[bool]memberstate.Role{false: memberstate.Candidate, true: memberstate.Observer} {
		e, err := k.Join(GroupConfig{Name: role.String(), Observer: observer})
		require.NoError(t, err)
		assert.Equal(t, elector.Status{Group: role.String(), Self: k.Self(), Role: role}, e.Status())
	}
}

// deaf is a store that is never called.
type deaf struct{ Store }

// The first status of a lease counts as a change, even if it equals the initial one.
func TestTheFirstStatusIsAChange(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(GroupConfig{Name: "g"})
	require.NoError(t, err)
	effects{k}.Publish("g", protocol.View{})
	assert.EqualValues(t, 1, e.Status().Revision)
	effects{k}.Publish("g", protocol.View{})
	assert.EqualValues(t, 1, e.Status().Revision)
}

// The end of a lease may be noticed late: then the office of a later term is still shown, and
// nothing is shown after the last status.
func TestALossThatIsNoticedLateEndsNoLaterOffice(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(GroupConfig{Name: "g"})
	require.NoError(t, err)
	e.lease.Store(office.NewLease(8, k.now()+DefaultTiming().TTL))
	e.show(func(s *elector.Status) { s.Role, s.Term, s.Leader = memberstate.Leader, 8, s.Self })
	e.showLoss(7)
	assert.Equal(t, memberstate.Leader, e.Status().Role)
	e.show(func(s *elector.Status) { s.Stopped = true })
	before := e.Status()
	e.showLoss(8)
	assert.Equal(t, before, e.status.Load())
}
