package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// slow has longer intervals than DefaultTiming.
var slow = Timing{
	Heartbeat: time.Second, Leak: 3, MinVoteWait: 30 * time.Millisecond, MaxVoteWait: 100 * time.Millisecond,
	RoundTimeout: time.Second, DriftMargin: 150 * time.Millisecond,
}

// A follower waits for a silent leader as long as the leader said in its newest heartbeat, if that is longer
// than its own detection time.
func TestAFollowerWaitsAsLongAsItsLeaderSays(t *testing.T) {
	own := DefaultTiming().Detection()
	for said, waits := range map[time.Duration]time.Duration{
		0:                          own, // an older version
		own / 2:                    own,
		slow.Detection():           slow.Detection(),
		own + 1:                    own + time.Millisecond, // rounded up
		maxDetection + time.Second: maxDetection,           // no leader has that
	} {
		a := followingAlone(t, false)
		says := func(term memberstate.Term, detection time.Duration) {
			beat := a.beat(term, 1)
			beat.Detection = detection
			a.asked(theLeader, beat)
		}
		says(1, said)
		assert.Equal(t, waits, a.out.Alarm.Min, "%v", said)
		a.give(Input{Kind: Heard, Term: 1, Seat: theLeader})
		assert.Equal(t, waits, a.out.Alarm.Min, "%v, and then hears an append", said)
		says(1, 0)
		says(2, said)
		assert.Equal(t, rpc.TermNotReady, a.out.Reply.Result)
		assert.Equal(t, waits, a.out.Alarm.Min, "%v, in a larger term", said)
		says(2, 0)
		assert.Equal(t, own, a.out.Alarm.Min, "the newest heartbeat counts")
	}
}

// retime changes its intervals.
func (a *alone) retime(t Timing) {
	a.Helper()
	a.rules.Timing = t
	a.give(Input{Kind: Retimed})
}

// beats checks that it has just sent a heartbeat, and when it will send the next one.
func (a *alone) beats(next time.Duration) {
	a.Helper()
	require.Equal(a, rpc.Heartbeat, a.out.Send.Kind)
	assert.Equal(a, a.rules.Timing.Detection(), a.out.Send.Detection)
	assert.Equal(a, Alarm{Number: a.machine.alarm, Min: next, Max: next}, a.out.Alarm)
}

// A leader that is to be heard less often than before says so at once, and as often as before until those
// that wait for it have had as many heartbeats as before.
func TestALeaderTellsLongerIntervalsAsOftenAsBefore(t *testing.T) {
	a := leadingAlone(t, false)
	before := a.rules.Timing
	a.acknowledges(2, a.machine.Beat())
	a.retime(slow)
	for range slow.Leak {
		a.beats(before.Heartbeat)
		a.acknowledges(2, a.machine.Beat())
		a.ring()
	}
	a.beats(slow.Heartbeat)
	a.acknowledges(2, a.machine.Beat())
	a.retime(before)
	a.beats(before.Heartbeat) // shorter ones begin at once
}

// Two changes may follow each other sooner than the others learn of the first one.
func TestALeaderThatIsChangedTwiceIsHeardAsOftenAsBeforeTheFirst(t *testing.T) {
	a := leadingAlone(t, false)
	before, slower := a.rules.Timing, slow
	slower.Heartbeat *= 2
	a.retime(slow)
	a.retime(slower)
	for range slower.Leak {
		a.beats(before.Heartbeat)
		a.acknowledges(2, a.machine.Beat())
		a.ring()
	}
	a.beats(slower.Heartbeat)
}

// With many heartbeats that may be missed, few are enough to tell the others.
func TestFewHeartbeatsTellLongerIntervals(t *testing.T) {
	a := leadingAlone(t, false)
	before, patient := a.rules.Timing.Detection(), slow
	patient.Leak = maxLeak
	a.retime(patient)
	for range mostHurried {
		a.beats(before / mostHurried)
		a.ring()
	}
	a.beats(patient.Heartbeat)
}

// A new leader is heard as often as the one before it, until the others know that it is slower. If no quorum
// answers that often, the member forgets what the others expect.
func TestANewLeaderIsHeardAsOftenAsTheOneBefore(t *testing.T) {
	expected := DefaultTiming().Detection()
	a := followingAlone(t, false)
	a.rules.Timing = slow
	beat := a.beat(1, 1)
	beat.Detection = expected
	a.asked(theLeader, beat)
	a.stands()
	for range slow.Leak {
		a.beats(expected / time.Duration(slow.Leak))
		a.ring()
	}
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
	a.give(Input{Kind: Served, Number: a.machine.Beat()})
	a.stands()
	a.beats(slow.Heartbeat)
}

// stands has it ask for votes until it leads.
func (a *alone) stands() {
	a.Helper()
	for a.machine.Role != memberstate.Leader {
		a.ring()
		a.answered(2, rpc.Accept, a.machine.Term)
		a.answered(2, rpc.Accept, a.machine.Term)
	}
}

// A leader may lose its office before it has sent all the heartbeats that say that it is slower. In its next office it would send the
// rest of them all at once, because it has forgotten how long the others wait.
func TestANewOfficeDoesNotHurryForTheLastOne(t *testing.T) {
	a := leadingAlone(t, false)
	a.retime(slow)
	a.acknowledges(2, a.machine.Beat())
	a.give(Input{Kind: Lapsed})
	require.Equal(t, memberstate.Candidate, a.machine.Role)
	a.give(Input{Kind: Served, Number: a.machine.Beat()})
	a.stands()
	a.beats(slow.Heartbeat)
}

// It loses its office when it would have sent another beat.
func TestAChangeGivesALeaderWithoutAQuorumNoMoreTime(t *testing.T) {
	a := leadingAlone(t, false)
	for range a.rules.Timing.Leak - 1 {
		a.ring()
	}
	require.Equal(t, memberstate.Leader, a.machine.Role)
	a.retime(slow)
	assert.Equal(t, memberstate.Candidate, a.machine.Role)
	assert.Zero(t, a.out.To)
}

// Only a leader has something to say.
func TestOthersGoOnWaitingWhenTheirIntervalsChange(t *testing.T) {
	for _, a := range []*alone{startedAlone(t), followingAlone(t, false)} {
		a.retime(slow)
		assert.Equal(t, Output{}, a.out)
	}
}
