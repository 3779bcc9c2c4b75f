// What the checks measure by: who votes, how many are a majority, and how long things may take.
// It comes from the options of the world, and not from the code that is judged: an error there
// would be the same error here, and nobody would notice.

package check

import (
	"math/bits"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// MaxVoters bounds the voters of a group, and MaxNodes all nodes of a world.
const (
	MaxVoters = 9
	MaxNodes  = 11
)

// Measure is how many voters a group has, and by which intervals it elects.
type Measure struct {
	Voters int             // the first nodes
	Timing protocol.Timing // that all members begin with
	// Campaigns is how many a node may have under way at a time; 0: as many as suit real nodes, which no world needs.
	Campaigns int

	// The shortest and the longest detection time that a member has been given; 0: those of Timing.
	shortest, longest time.Duration
}

// Majority is more than half of the voters.
func (m *Measure) Majority() int { return m.Voters/2 + 1 }

// Detection is how long a leader may be silent, whatever intervals it has.
func (m *Measure) Detection() time.Duration { return max(detection(&m.Timing), m.longest) }

// leastDetection is for how long everybody waits for a leader.
func (m *Measure) leastDetection() time.Duration {
	if m.shortest == 0 {
		return detection(&m.Timing)
	}
	return min(detection(&m.Timing), m.shortest)
}

// longestHeartbeat is the most that is between two heartbeats of a leader.
func (m *Measure) longestHeartbeat() time.Duration {
	return m.Detection() / time.Duration(m.Timing.Leak)
}

// Retimed says that a member is given other intervals. The number of heartbeats that may be missed stays.
func (m *Measure) Retimed(t *protocol.Timing) {
	now := detection(t)
	m.shortest, m.longest = min(m.leastDetection(), now), max(m.longest, now)
}

func detection(t *protocol.Timing) time.Duration { return time.Duration(t.Leak) * t.Heartbeat }

// votes says whether a node is a voter. A second process under a voter's name is none.
func (m *Measure) votes(index int) bool { return index < m.Voters }

// Observes says whether the node with this seat learns who leads and has no voice.
func (m *Measure) Observes(seat memberstate.Seat) bool { return int(seat) > m.Voters }

// reaches is the largest number that a majority of the voters has reached.
func (m *Measure) reaches(all []uint64) uint64 {
	var sorted [MaxVoters]uint64
	have := sorted[:copy(sorted[:m.Voters], all)]
	for i := 1; i < len(have); i++ { // there are few
		for k := i; k > 0 && have[k-1] < have[k]; k-- {
			have[k-1], have[k] = have[k], have[k-1]
		}
	}
	return have[m.Majority()-1]
}

// voters is a set of voters, a bit for each by its index.
type voters uint16

func (v voters) with(index int) voters { return v | 1<<index }

func (v voters) has(index int) bool { return v>>index&1 == 1 }

func (v voters) count() int { return bits.OnesCount16(uint16(v)) }

// behind says whether a ledger that ends at p lacks something that one up to q has, as far as
// their ends tell.
func behind(p, q memberstate.Position) bool {
	return p.Term < q.Term || p.Term == q.Term && p.Index < q.Index
}
