package protocol

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A session's duties name no member, so a snapshot is renamed with its machine. And it is a value.
func TestDutiesKnowNoMember(t *testing.T) {
	seats, sets := seatsIn(reflect.TypeFor[Duties]())
	assert.Zero(t, seats+sets)
	assert.Contains(t, map[Snapshot]bool{{}: true}, Snapshot{})
}

// leaderAt is a leader that sent its first two beats at these times; the first was answered.
func leaderAt(first, second time.Duration) (*Rules, Snapshot) {
	all := memberstate.SetOf(1, 2, 3)
	r := &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), Lease: DefaultTiming().Detection()}
	var v Snapshot
	v.Term, v.Vote, v.Leader, v.Role = 1, 1, 1, memberstate.Leader
	v.serving, v.office.beat, v.office.heardBeat, v.office.leaseBeat = true, 2, 1, 1
	v.office.acks[1], v.office.acks[2], v.office.sticky = all, memberstate.SetOf(1), all
	v.duties.sent.beats[1], v.duties.sent.beats[2] = first, second
	v.duties.sent.leases[1], v.duties.sent.leases[2] = r.Lease, r.Lease
	v.duties.lease.until = first + r.Timing.Detection() - r.Timing.DriftMargin
	v.duties.lead = lead{term: 1, running: true}
	return r, v
}

// Sessions that differ only by when they began, and in no age, are the same.
func TestACanonicalSnapshotHasNoTimesButAges(t *testing.T) {
	r, v := leaderAt(time.Second, time.Second+100*time.Millisecond)
	_, later := leaderAt(time.Hour, time.Hour+100*time.Millisecond)
	now := 150 * time.Millisecond
	one := v.Canonical(r, time.Second+now)
	assert.Equal(t, one, later.Canonical(r, time.Hour+now))
	assert.NotEqual(t, one, later.Canonical(r, time.Hour+now+time.Millisecond))
	assert.Equal(t, one, one.Canonical(r, CanonicalNow), "it is canonical")
}

// The time of a beat that was not answered is kept, because the beat can still begin a lease. The time of
// one whose lease was taken up is not.
func TestACanonicalSnapshotKeepsTheTimesThatCount(t *testing.T) {
	r, v := leaderAt(time.Second, time.Second+100*time.Millisecond)
	c := v.Canonical(r, time.Second+150*time.Millisecond)
	assert.Zero(t, c.duties.sent.beats[1])
	assert.Equal(t, CanonicalNow-50*time.Millisecond, c.duties.sent.beats[2])
	v.duties.lease = lease{}
	c = v.Canonical(r, time.Second+150*time.Millisecond)
	assert.Equal(t, CanonicalNow-150*time.Millisecond, c.duties.sent.beats[1], "it begins the first one")
	v.office.leaseVoid = true
	assert.Zero(t, v.Canonical(r, time.Second+150*time.Millisecond).duties.sent)
}

// A session that goes on from a snapshot extends its lease like the original.
func TestASessionGoesOnFromASnapshot(t *testing.T) {
	r, v := leaderAt(time.Second, time.Second+100*time.Millisecond)
	c := v.Canonical(r, time.Second+150*time.Millisecond)
	var room Duties
	s := c.Session(&room)
	now, was := time.Duration(CanonicalNow), s.LeaseLeft(CanonicalNow)
	in := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: 2, Term: 1, Asked: 1, Promised: true,
	}}}
	assert.Equal(t, NeedNothing, s.Begin(r, now, &Step{Input: in}, ignored{}))
	assert.Equal(t, was+100*time.Millisecond, s.LeaseLeft(now))
	assert.Equal(t, was, c.duties.lease.until-now, "the snapshot stays as it was")
}

// ignored are effects that do nothing.
type ignored struct{ Effects }

func (ignored) Before(*Input)      {}
func (ignored) After(*Step)        {}
func (ignored) Hold(time.Duration) {}
func (ignored) Done()              {}

// It does not matter since when a lease has run out, and its Lead's context has ended.
func TestALeaseThatRanOutHasNoAge(t *testing.T) {
	r, v := leaderAt(time.Second, time.Second+100*time.Millisecond)
	c := v.Canonical(r, 2*time.Second)
	assert.Equal(t, c, v.Canonical(r, 3*time.Second))
	assert.True(t, c.HoldsNoMoreLease(r))
	assert.True(t, c.duties.lead.ending)
}

// A member whose Lead of an earlier term still runs must have led: it has not just started, does not ask
// for pre-votes, and if it leads, it does not lead term 1.
func TestOnlyAMemberThatHasLedCanStillServe(t *testing.T) {
	r, v := leaderAt(time.Second, time.Second)
	_, can := v.StillServing(r)
	assert.False(t, can, "it leads its first term")
	v.Term = 2
	late, can := v.StillServing(r)
	assert.True(t, can)
	assert.True(t, late.Serving() && late.duties.lead.ending && late.duties.lead.term == 0)

	lost := Snapshot{Machine: NewMachine(r, memberstate.HardState{Term: 1, Vote: 1})}
	_, can = lost.StillServing(r)
	assert.True(t, can)
	lost.round.phase = preVoting
	_, can = lost.StillServing(r)
	assert.False(t, can)
	other := Snapshot{Machine: NewMachine(r, memberstate.HardState{Term: 1, Vote: 2})}
	_, can = other.StillServing(r)
	assert.False(t, can, "the only term there was is another one's")
	restartHold := Snapshot{Machine: NewMachine(r, memberstate.HardState{Term: 5, Promise: time.Second})}
	_, can = restartHold.StillServing(r)
	assert.False(t, can, "it has just started")
}
