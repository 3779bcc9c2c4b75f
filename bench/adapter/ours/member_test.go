package ours

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/virtual"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// ignorant counts nothing.
type ignorant struct{}

func (ignorant) Beats(int)              {}
func (ignorant) Asks(int, uint64, bool) {}
func (ignorant) Pauses(int)             {}
func (ignorant) Knows(int, uint64, int) {}

// elected returns a group of three whose first member leads, a detection time after its election.
func elected(t *testing.T, delay time.Duration) (*World, []*member) {
	t.Helper()
	w := &World{Delay: delay, Random: rand.New(rand.NewPCG(1, 2)), Observer: ignorant{}}
	group := make([]*member, 3)
	found := Default(time.Second).Found(w, 3, 2)
	for i, m := range found {
		group[i] = m.(*member)
	}
	w.Found(found)
	for i := range group {
		w.Start(i)
	}
	w.Stand(0)
	for w.Now() < time.Second && w.Step() {
	}
	require.Equal(t, memberstate.Leader, group[0].group.State().Role)
	return w, group
}

func TestIntervalsAreInProportionToTheDefault(t *testing.T) {
	assert.Equal(t, elector.Timing{
		Heartbeat: 100 * time.Millisecond, Leak: 10, MinVoteWait: 100 * time.Millisecond,
		MaxVoteWait: 333333333, RoundTimeout: 333333333, DriftMargin: 50 * time.Millisecond,
	}, Default(time.Second).Timing)
	require.NoError(t, Default(time.Second).Timing.Validate(true))
}

func TestRoundTripsAreMeasured(t *testing.T) {
	_, group := elected(t, 10*time.Millisecond)
	assert.Equal(t, 20*time.Millisecond, group[0].measured)
}

func TestARestartedMemberKnowsItsSavedRecord(t *testing.T) {
	w, group := elected(t, 0)
	term := group[1].group.State().Term
	w.Kill(1)
	w.Start(1)
	assert.Equal(t, term, group[1].group.State().Term)
	assert.Equal(t, memberstate.Seat(1), group[1].group.State().Vote)
	assert.Equal(t, memberstate.Nobody, group[1].group.State().Leader)
}

func TestAFormerLeaderMayStandAgain(t *testing.T) {
	w, group := elected(t, 0)
	assert.True(t, group[0].group.Serving())
	w.Kill(1)
	w.Kill(2)
	for group[0].group.State().Role == memberstate.Leader && w.Step() {
	}
	assert.False(t, group[0].group.Serving())
}

func TestOneLedgerIsBehind(t *testing.T) {
	_, group := elected(t, 0)
	assert.Equal(t, -1, group[2].ledger.Compare(group[0].ledger))
	assert.Equal(t, group[1].ledger, group[0].ledger)
	all := Default(time.Second).Found(&World{Random: rand.New(rand.NewPCG(1, 2))}, 2, virtual.Nobody)
	assert.Equal(t, all[0].(*member).ledger, all[1].(*member).ledger)
}

// pausing counts pauses.
type pausing struct {
	ignorant
	pauses []int
}

func (o *pausing) Pauses(member int) { o.pauses = append(o.pauses, member) }

func TestAMemberHandsOver(t *testing.T) {
	w, group := elected(t, 0)
	o := &pausing{}
	w.Observer = o
	w.Transfer(0, 1)
	w.Until(w.Now() + time.Millisecond)
	assert.Equal(t, []int{0}, o.pauses)
	assert.Equal(t, memberstate.Leader, group[1].group.State().Role)
}

func TestAVoteIsSavedBeforeItIsGiven(t *testing.T) {
	w := &World{Save: time.Second, Random: rand.New(rand.NewPCG(1, 2)), Observer: ignorant{}}
	found := Default(time.Hour).Found(w, 3, virtual.Nobody)
	w.Found(found)
	for i := range found {
		w.Start(i)
	}
	w.Stand(0)
	first, voter := found[0].(*member), found[1].(*member)
	term := first.kept.Term + 1
	w.Until(time.Second) // the candidate has saved its term
	assert.Equal(t, term, first.kept.Term)
	assert.NotEqual(t, term, voter.kept.Term)
	w.Until(2*time.Second - 1)
	assert.NotEqual(t, memberstate.Leader, first.group.State().Role)
	w.Until(2 * time.Second)
	assert.Equal(t, term, voter.kept.Term)
	assert.Equal(t, memberstate.Leader, first.group.State().Role)
}
