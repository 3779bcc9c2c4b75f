// Traits say what is special about a world, so that campaigns can count the worlds of each kind.

package simulation

import "github.com/hustings/hustings/elector"

// Trait is a property that the groups of some worlds have.
type Trait uint8

// The traits.
const (
	EvenGroup Trait = iota
	LoneVoter
	WithLeases
	NoPreVotes
	NoTurns
	OtherIntervals
	FewMissed
	ManyMissed
	FullCounters
	LargeTerms
	SeveralGroups
	ManyGroups
	WithObservers
	WithPreferred
	WithVouching
	WithAsking
	WithJudging
	WithBeats
	WithMuster
	WithWeights

	traits
)

var traitNames = [traits]string{
	"an even number of voters", "a lone voter", "leases", "no pre-vote", "no ranks",
	"other intervals", "two heartbeats may be missed", "more than 12 may be missed",
	"counters that begin again", "large terms",
	"several groups a node", "more than 16 groups a node", "observers from the start", "preferred members from the start",
	"engines that vouch", "engines that are asked", "engines that their node judges", "beats between nodes",
	"few campaigns at a time", "groups or nodes that count more than others",
}

// String names the trait.
func (t Trait) String() string {
	if t < traits {
		return traitNames[t]
	}
	return "unknown trait"
}

// Traits lists all there are.
func Traits() []Trait { return allBelow[Trait](traits) }

// Traits are those that the worlds of these options have.
func (o *Options) Traits() (all []Trait) {
	for t, has := range [traits]bool{
		EvenGroup: o.Members%2 == 0, LoneVoter: o.Members == 1,
		WithLeases: o.Leases, NoPreVotes: o.NoPreVote, NoTurns: o.NoRanks,
		OtherIntervals: o.Timing.Heartbeat != elector.DefaultTiming().Heartbeat,
		FewMissed:      o.Timing.Leak == 2, ManyMissed: o.Timing.Leak > 12,
		FullCounters: o.Counters > 0, LargeTerms: o.Term > 0,
		SeveralGroups: o.Groups > 1, ManyGroups: o.Groups > 16,
		WithObservers: o.Observers > 0, WithPreferred: o.Preferred > 0, WithVouching: o.Vouch > 0, WithAsking: o.Asked,
		WithJudging: o.Judged, WithBeats: o.Beats, WithMuster: o.Campaigns > 0, WithWeights: o.Uneven > 0,
	} {
		if has {
			all = append(all, Trait(t))
		}
	}
	return all
}
