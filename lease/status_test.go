package lease

import (
	"log/slog"
	"testing"
	"time"

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
	leads(e, 7, k.now())
	before := e.shown.Load().Revision
	s := e.Status()
	assert.Equal(t, memberstate.Candidate, s.Role)
	assert.Empty(t, s.Leader)
	assert.Equal(t, k.Self(), s.LastLeader)
	assert.Equal(t, voting.DepartedLeaseLapsed, s.Departure)
	assert.Equal(t, before+1, s.Revision)
	assert.Equal(t, s, e.Status())
	assert.Equal(t, []string{"role"}, said, "the loss is logged once")
}

// leads shows a candidate as the leader of a term, with a lease.
func leads(e *Elector, term memberstate.Term, until time.Duration) {
	e.held = office.NewLease(term, until)
	e.show(func(s *elector.Status) { s.Role, s.Term, s.Leader = memberstate.Leader, term, s.Self })
}

// watched are the effects of a keeper, after each of which somebody looks. Calls are not made.
type watched struct {
	effects
	calls []protocol.Call
	look  func(after string)
}

func (w *watched) Call(c *protocol.Call) { w.calls = append(w.calls, *c) }

func (w *watched) last() (c protocol.Call) {
	if len(w.calls) > 0 {
		c = w.calls[len(w.calls)-1]
	}
	return c
}

func (w *watched) Hold(name string, term memberstate.Term, until time.Duration) {
	w.effects.Hold(name, term, until)
	w.look("hold")
}

func (w *watched) Withdraw(name string, term memberstate.Term) {
	w.effects.Withdraw(name, term)
	w.look("withdraw")
}

func (w *watched) Publish(name string, v protocol.View) {
	w.effects.Publish(name, v)
	w.look("publish")
}

func (w *watched) Lead(name string, term memberstate.Term) { w.joined[name].tenure = office.Open(term) }

// Between two effects of a step any reader may look at the status and the lease. It finds both or neither, and the
// reason for which the office ends: if the lease went first, Status would take it for one that has lapsed.
func TestAReaderBetweenTwoEffectsTakesNoOfficeForLapsed(t *testing.T) {
	for name, c := range map[string]struct {
		end func(w *watched) protocol.Input
		why voting.Departure
	}{
		"resigns": {func(*watched) protocol.Input { return protocol.Resign{Name: "g"} }, voting.DepartedResigned},
		"retires": {func(*watched) protocol.Input { return protocol.Retire{Name: "g"} }, voting.DepartedResigned},
		"is taken over": {func(w *watched) protocol.Input {
			return &protocol.Answer{Number: w.last().Number}
		}, voting.DepartedOutvoted},
	} {
		k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming(), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		e, err := k.Join(GroupConfig{Name: "g"})
		require.NoError(t, err)
		w := &watched{effects: effects{k}, look: func(after string) {
			s := e.Status()
			_, _, holds := e.Lease()
			assert.Equal(t, s.Role == memberstate.Leader, holds, "%s: after %s", name, after)
			assert.NotEqual(t, voting.DepartedLeaseLapsed, s.Departure, "%s: after %s", name, after)
		}}
		asks := func(kind protocol.Kind) {
			t.Helper()
			for now := k.now(); w.last().Kind != kind; now += time.Millisecond {
				require.Less(t, now, k.now()+DefaultTiming().TTL)
				k.value.Step(now, protocol.Tick{}, w)
				if look := w.last(); look.Number != 0 && look.Kind == protocol.Read {
					k.value.Step(now, &protocol.Answer{Number: look.Number}, w)
				}
			}
		}
		k.value.Step(k.now(), protocol.Enter{Name: "g"}, w)
		asks(protocol.Acquire)
		k.value.Step(k.now(), &protocol.Answer{Number: w.last().Number, Won: true}, w)
		require.Equal(t, memberstate.Leader, e.Status().Role)
		asks(protocol.Renew)
		k.value.Step(k.now(), c.end(w), w)
		require.Nil(t, e.held)
		s := e.Status()
		assert.Equal(t, memberstate.Candidate, s.Role, name)
		assert.Equal(t, c.why, s.Departure, name)
	}
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
	leads(e, 8, k.now()+DefaultTiming().TTL)
	e.showLoss(7)
	assert.Equal(t, memberstate.Leader, e.Status().Role)
	e.show(func(s *elector.Status) { s.Stopped = true })
	before := e.Status()
	e.showLoss(8)
	assert.Equal(t, before, e.shown.Load().Status)
}
