// Guiding a search: runs that have reached new states are varied.

package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/search"
)

// guide decides what is played next.
type guide struct {
	campaign *Campaign
	reached  *search.Coverage
	fresh    uint64 // seeds that were drawn
	varied   uint64 // variations that were made
	pending  []variant
}

// variant is a run that has reached new states, how many per event, and how often it will still be
// varied.
type variant struct {
	options Options
	yield   float64
	left    int
}

const (
	variations   = 3 // of a run, for each time that it reaches something new
	mostBranches = 6 // in one run
	mostPending  = 256
)

func newGuide(c *Campaign) *guide { return &guide{campaign: c, reached: search.NewCoverage()} }

// next prepares runs: variants of those that have reached new states, and fresh ones. At least a
// quarter are fresh, because else the search would never leave the region where it began.
func (g *guide) next(size int) []Options {
	all := make([]Options, 0, size)
	for len(all) < size {
		if len(g.pending) > 0 && len(all)%4 != 0 {
			all = append(all, g.vary())
			continue
		}
		all = append(all, g.campaign.Options(g.campaign.First+g.fresh))
		g.fresh++
	}
	return all
}

// vary is a run that makes other choices from some time on.
func (g *guide) vary() Options {
	v := &g.pending[0]
	g.varied++
	drawn := choice.Scramble(g.varied)
	o := v.options
	branch := Branch{At: time.Duration(choice.Below(drawn, uint64(o.Duration)/8)), Seed: choice.Scramble(drawn)}
	o.Branches = slices.DeleteFunc(slices.Clone(o.Branches), func(b Branch) bool { return b.At >= branch.At })
	o.Branches = append(o.Branches, branch)
	if v.left--; v.left == 0 {
		g.pending = g.pending[1:]
	}
	return o
}

// learn notes the states that a run has reached.
func (g *guide) learn(r played) {
	found := 0
	for _, place := range r.reached {
		if g.reached.Add(place) {
			found++
		}
	}
	if g.campaign.Guided && found > 0 && len(r.options.Branches) < mostBranches {
		g.enter(variant{r.options, float64(found) / float64(r.Events), variations})
	}
}

// enter keeps a run among those that will be varied, the best ones first.
func (g *guide) enter(v variant) {
	at, _ := slices.BinarySearchFunc(g.pending, v, func(a, b variant) int { return cmp.Compare(b.yield, a.yield) })
	g.pending = slices.Insert(g.pending, at, v)
	g.pending = g.pending[:min(len(g.pending), mostPending)]
}
