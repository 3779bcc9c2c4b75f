package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAGroupIsLedOnceAllLivingHostsKnowTheSameLivingLeader(t *testing.T) {
	s := NewSeen(1)
	assert.False(t, s.Led(0), "nobody knows anything")
	s.Learn(0, 0, 2, 1)
	s.Learn(1, 0, 2, 2)
	assert.False(t, s.Led(0), "one does not know")
	s.Learn(2, 0, 1, 3)
	assert.False(t, s.Led(0), "they disagree")
	s.Learn(2, 0, 2, 4)
	assert.True(t, s.Led(0))
	s.Bury(2, 5)
	assert.False(t, s.Led(0), "the leader is dead")
	s.Learn(0, 0, 1, 6)
	s.Learn(1, 0, 1, 7)
	assert.True(t, s.Led(0), "nobody asks the dead")
}

func TestRecoveryCountsFromTheDeathUntilTheLastSurvivorKnows(t *testing.T) {
	s := NewSeen(3)
	for host := range Hosts {
		s.Learn(host, 0, 2, time.Second)
		s.Learn(host, 1, 0, time.Second)
		s.Learn(host, 2, 2, time.Second)
	}
	s.Bury(2, 10*time.Second)
	assert.Empty(t, s.recovered())
	s.Learn(0, 0, nobody, 11*time.Second)
	s.Learn(0, 0, 1, 12*time.Second)
	s.Learn(1, 0, 1, 13*time.Second)
	s.Learn(1, 0, 1, 14*time.Second) // which it knows already
	assert.Equal(t, []float64{3}, s.recovered(), "group 1 has kept its leader, and group 2 has none")
}

func TestTheLoadIsThatOfTheSurvivorThatLeadsMore(t *testing.T) {
	s := NewSeen(4)
	for group, leader := range []int{0, 0, 0, 1} {
		for host := range Hosts {
			s.Learn(host, group, leader, 1)
		}
	}
	s.Bury(2, 2)
	assert.InDelta(t, 1.5, s.load(), 1e-9)
}

func TestCountersAreOfTheTimeSince(t *testing.T) {
	s := NewSeen(1)
	s.Messages.Add(5)
	before := s.tally()
	s.Messages.Add(3)
	s.Beats.Add(2)
	s.Syncs.Add(1)
	s.Records.Add(4)
	assert.Equal(t, tally{3, 2, 1, 4}, s.since(before))
}
