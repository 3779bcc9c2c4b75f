// When a round was sent, and how long that is known.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestATimeIsForgottenWithItsRound(t *testing.T) {
	const sent, now, promised = 100 * time.Millisecond, time.Second, 5 * time.Second
	r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), Lease: time.Second} // less than was promised
	m := &Machine{State: memberstate.State{Role: memberstate.Leader}, ballot: 9, office: office{beat: 9, leaseBeat: 9}}
	var times SentTimes
	times.Sends(m, &Message{Body: rpc.Body{Kind: rpc.Heartbeat, Round: 9, Lease: promised}}, sent)
	times.Sends(m, &Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: 9}}, sent)
	for newest := uint32(9); newest < 20; newest++ {
		m.office.beat, m.ballot = newest, newest
		want, until := time.Duration(0), time.Duration(0)
		if newest < 9+recentBeats {
			want, until = now-sent, sent+promised
		}
		assert.Equal(t, want, times.RoundTrip(m, &rpc.Body{Kind: rpc.HeartbeatResponse, Round: 9}, now), "beat %d", newest)
		assert.Equal(t, want, times.RoundTrip(m, &rpc.Body{Kind: rpc.VoteResponse, Round: 9}, now), "ballot %d", newest)
		end, known := times.LeaseUntil(m, r, now)
		assert.Equal(t, until, end, "beat %d", newest)
		assert.Equal(t, until != 0, known, "beat %d", newest)
		if newest > 9 {
			times.Sends(m, &Message{Body: rpc.Body{Kind: rpc.Heartbeat, Round: newest}}, now)
			times.Sends(m, &Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: newest}}, now)
		}
	}
	assert.Zero(t, times.RoundTrip(m, &rpc.Body{Kind: rpc.HeartbeatResponse, Round: m.office.beat + 1}, now), "of a beat that was never sent")
	assert.Zero(t, times.RoundTrip(m, &rpc.Body{Kind: rpc.Heartbeat, Round: m.office.beat}, now), "a message that is no answer")
}

func TestARepeatedRequestKeepsTheTimeOfTheFirst(t *testing.T) {
	m := &Machine{ballot: 1}
	var times SentTimes
	request := &Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: 1}}
	times.Sends(m, request, 10*time.Millisecond)
	m.round.repeated = true
	times.Sends(m, request, 30*time.Millisecond)
	assert.Equal(t, 40*time.Millisecond, times.RoundTrip(m, &rpc.Body{Kind: rpc.VoteResponse, Round: 1}, 50*time.Millisecond))
}

// A lone voter asks nobody, so its lease always counts from now.
func TestALoneVoterHoldsItsLeaseFromNow(t *testing.T) {
	r := &Rules{Self: 1, Voters: memberstate.SetOf(1), Lease: time.Second}
	m := &Machine{State: memberstate.State{Role: memberstate.Leader}, office: office{beat: 1, leaseBeat: 1}}
	until, known := new(SentTimes).LeaseUntil(m, r, time.Minute)
	assert.True(t, known)
	assert.Equal(t, time.Minute+r.Lease, until)
}

// Where every answer comes after its round is forgotten, nothing else is known of how long answers take.
func TestAnAnswerToAForgottenRoundHasTakenLongerThanTheOldestThatIsKept(t *testing.T) {
	m := &Machine{}
	var times SentTimes
	for m.ballot = 1; m.ballot < 6; m.ballot++ {
		times.Sends(m, &Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: m.ballot}}, time.Duration(m.ballot)*time.Second)
	}
	m.ballot = 5
	assert.Equal(t, 8*time.Second, times.RoundTrip(m, &rpc.Body{Kind: rpc.VoteResponse, Round: 1}, 10*time.Second), "since the second")
	assert.Zero(t, times.RoundTrip(m, &rpc.Body{Kind: rpc.VoteResponse, Round: 6}, 10*time.Second), "of a round that has not begun")
	assert.Zero(t, times.RoundTrip(m, &rpc.Body{Kind: rpc.HeartbeatResponse, Round: 1}, 10*time.Second), "of a beat")
}

// A member that has sent few rounds since it began to remember them has none for a round before these.
func TestARoundBeforeAllThatAreKeptIsNotMeasured(t *testing.T) {
	var s SentTimes
	m := Machine{ballot: 10}
	s.Sends(&m, &Message{Body: rpc.Body{Kind: rpc.VoteRequest, Round: 10}}, time.Minute)
	for round, want := range map[uint32]time.Duration{10: time.Second, 5: 0} {
		assert.Equal(t, want, s.RoundTrip(&m, &rpc.Body{Kind: rpc.VoteResponse, Round: round}, time.Minute+time.Second))
	}
}
