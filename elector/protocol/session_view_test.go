package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// How long ago a quorum was heard is counted in beats where the time of the beat is not known.
func TestTheAgeOfAQuorumIsToldInBeatsIfNeedBe(t *testing.T) {
	r := threeRules()
	s := Session{Machine: Machine{
		State:  memberstate.State{HardState: memberstate.HardState{Term: 2, Vote: r.Self}, Role: memberstate.Leader, Leader: r.Self},
		office: office{beat: 9, heardBeat: 7},
	}}
	const now = time.Minute
	office, sent := &s.office.acks[7%recentBeats], &s.duty().sent.beats[7%recentBeats]
	assert.Equal(t, 2*r.Timing.Heartbeat, s.QuorumAge(r, now), "no beat of this office was answered")
	*sent = now - time.Second
	assert.Equal(t, 2*r.Timing.Heartbeat, s.QuorumAge(r, now), "the beat is of the office before")
	*office, *sent = memberstate.SetOf(r.Self, 2), 0
	assert.Equal(t, 2*r.Timing.Heartbeat, s.QuorumAge(r, now), "it is not known when the beat was sent")
	*sent = now - time.Second
	assert.Equal(t, time.Second, s.QuorumAge(r, now))
	s.Role = memberstate.Follower
	assert.Zero(t, s.QuorumAge(r, now))
}
