// Draw draws the options of a seed: how many members vote, by which intervals, and with which parts
// of the protocol. Most seeds have the settings of most users, and the others extreme ones.

package simulation

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Fixed are options that Draw does not draw. With the zero Fixed it draws everything.
type Fixed struct {
	Members, Groups, Leak  int            // 0: drawn
	Timing                 elector.Timing // zero: drawn; else only its Leak is drawn, unless Leak is given
	Duration               time.Duration  // 0: long enough for several elections
	Leases, PreVote, Ranks Switch
}

// Switch says whether something is on.
type Switch uint8

// The states of a switch.
const (
	EitherWay Switch = iota // it is drawn
	On
	Off
)

// part is something that a seed draws independently, so that fixing one part changes no other.
type part uint64

const (
	ofMembers part = iota
	ofLeak
	ofTiming
	ofLeases
	ofPreVote
	ofRanks
	ofCounters
	ofTerm
	ofGroups
	ofObservers
	ofPreferred
	ofVouch
	ofJudge
	ofBeats
	ofCampaigns
	ofUneven
	ofCrowd
)

// Draw draws the options of a seed: what its groups are like, and how old they are. It sets neither
// Faults nor Careless.
func Draw(seed uint64, f Fixed) Options {
	random := func(p part) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x776f726c64+uint64(p))) }
	// in says whether something is on. If it is drawn, it is on in one of this many seeds.
	in := func(of int, s Switch, p part) bool {
		return s == On || s == EitherWay && random(p).IntN(of) == 0
	}
	// but is the opposite: if it is drawn, it is off in one of this many seeds.
	but := func(of int, s Switch, p part) bool {
		return s == On || s == EitherWay && random(p).IntN(of) != 0
	}
	o := Options{
		Seed: seed, Members: f.Members, Groups: f.Groups, Timing: f.Timing, Duration: f.Duration,
		Leases:    in(2, f.Leases, ofLeases),
		NoPreVote: !but(8, f.PreVote, ofPreVote),
		NoRanks:   !but(8, f.Ranks, ofRanks),
	}
	if r := random(ofCounters); r.IntN(8) == 0 { // they overflow after some seconds or minutes
		o.Counters = math.MaxUint32 - uint32(1)<<r.IntN(11)
	}
	if r := random(ofTerm); r.IntN(8) == 0 {
		full := [...]memberstate.Term{math.MaxUint8, math.MaxUint16, math.MaxInt32, math.MaxUint32, 1 << 53, math.MaxInt64, lastTerm}
		o.Term = full[r.IntN(len(full))] - memberstate.Term(r.IntN(12))
	}
	if r := random(ofPreferred); r.IntN(4) == 0 {
		o.Preferred = 1 + r.IntN(3)
	}
	members := sizes[random(ofMembers).IntN(len(sizes))]
	if o.Members == 0 {
		o.Members = members
	}
	// A lone voter beats for observers only.
	if r := random(ofObservers); r.IntN(4) == 0 || members == 1 && r.IntN(4) != 0 {
		o.Observers = 1 + r.IntN(maxObservers)
	}
	if o.Groups == 0 {
		o.Groups = groupCount(random(ofGroups))
	}
	leak := f.Leak
	if leak == 0 {
		leak = leaks(random(ofLeak))
	}
	if f.Timing == (elector.Timing{}) {
		o.Timing = intervals(random(ofTiming), leak, o.NoRanks)
	}
	o.Timing.Leak = leak
	if r := random(ofVouch); r.IntN(2) == 0 {
		o.Vouch = 2*o.Timing.Heartbeat + time.Duration(r.Int64N(int64(2*o.Timing.Detection())))
		o.Asked = r.IntN(2) == 0
	}
	o.Judged = random(ofJudge).IntN(4) == 0
	o.Beats = random(ofBeats).IntN(2) == 0
	if r := random(ofCampaigns); r.IntN(2) == 0 {
		o.Campaigns = 1 + r.IntN(4)
	}
	if r := random(ofUneven); r.IntN(2) == 0 {
		o.Uneven = 1 + r.IntN(255)
	}
	if r := random(ofCrowd); r.IntN(64) == 0 {
		crowd(&o, f, r)
	}
	if o.Duration == 0 {
		o.Duration = longEnough(o.Timing, o.Groups)
	}
	return o
}

// crowd has more groups miss their leaders at a time than may have campaigns under way, with more voters than usual, and
// for as long as if they were few. So campaigns wait for each other, for disks and for engines, again and again.
func crowd(o *Options, f Fixed, r *rand.Rand) {
	members, groups := 5+r.IntN(3), 5+r.IntN(8)
	o.Campaigns = 1 + r.IntN(3)
	if f.Members == 0 {
		o.Members = members
	}
	if f.Groups == 0 {
		o.Groups = groups
	}
	if f.Duration == 0 {
		o.Duration = longEnough(o.Timing, fewGroups)
	}
}

// sizes are the numbers of voters, each as often as it is drawn: mostly three or five, sometimes an
// even number, and the smallest and the largest.
var sizes = [...]int{3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 5, 4, 4, 2, 6, 7, 1, 8, 9}

// leaks draws how many heartbeats may be missed: mostly three, sometimes a few more or fewer than a
// leader remembers, and rarely any number that is allowed.
func leaks(r *rand.Rand) int {
	switch r.IntN(16) {
	case 0, 1, 2, 3:
		return 2 + r.IntN(11)
	case 4:
		return 2 + r.IntN(99)
	default:
		return 3
	}
}

// intervals draws a timing: in half of the cases the default, in the others any valid one with which
// a group elects within a few detection times. Members that draw lots instead of taking turns need a
// wide range of waits for that, or they stand at the same time again and again.
func intervals(r *rand.Rand, leak int, lots bool) elector.Timing {
	if r.IntN(2) == 0 {
		t := elector.DefaultTiming()
		t.DriftMargin = t.Heartbeat * time.Duration(leak) / 20
		return t
	}
	const day = float64(24 * time.Hour)
	slowest := 10 * float64(time.Second)
	if r.IntN(32) == 0 {
		slowest = day / float64(leak)
	}
	between := func(least, most float64) time.Duration { // its logarithm is evenly distributed
		return time.Duration(least * math.Pow(max(most, least)/least, r.Float64()))
	}
	beat := float64(between(float64(time.Millisecond), slowest))
	detection := beat * float64(leak)
	longest := min(max(2*beat, detection/2), day)
	t := elector.Timing{Heartbeat: time.Duration(beat), MinVoteWait: between(float64(time.Millisecond), max(beat/2, float64(time.Millisecond)))}
	t.MaxVoteWait = t.MinVoteWait + time.Microsecond + between(beat/10, longest)
	if lots {
		t.MaxVoteWait = max(t.MaxVoteWait, t.MinVoteWait+t.Heartbeat)
	}
	t.RoundTimeout = between(max(beat/2, float64(time.Millisecond)), longest)
	t.DriftMargin = between(detection/1000, min(detection/3, (detection-beat)/2))
	return t
}

// groupCount draws how many groups a node has: mostly one, sometimes a few, and rarely any number that
// is allowed.
func groupCount(r *rand.Rand) int {
	switch r.IntN(32) {
	case 0:
		return 17 + r.IntN(maxGroups-16)
	case 1:
		return fewGroups + 1 + r.IntN(16-fewGroups)
	case 2, 3, 4, 5, 6, 7:
		return 2 + r.IntN(fewGroups-1)
	default:
		return 1
	}
}

// fewGroups is how many groups a world may have that lasts as long as one of a single group.
const fewGroups = 4

// longEnough is how long faults strike: for 200 detection times, or for 600 heartbeats if that is
// shorter, but for at least 20 detection times. With many groups, as much happens in less time.
func longEnough(t elector.Timing, groups int) time.Duration {
	long := min(200*t.Detection(), max(600*t.Heartbeat, 20*t.Detection()))
	return max(long*fewGroups/time.Duration(max(groups, fewGroups)), min(long, 20*t.Detection()))
}
