// How a violation was reached, and whether whole nodes repeat it.

package nodes

import (
	"fmt"
	"slices"

	"github.com/hustings/hustings/simulation/explore"
)

// violated notes a violation, with the path to it.
func (x *search) violated(s *state, d *defect) {
	if x.result.Violation != nil {
		return
	}
	way := x.pathTo(s)
	v := &explore.Violation{Invariant: d.invariant, What: d.what}
	for _, s := range way[1:] {
		step := explore.Step{Node: int(s.node), What: fmt.Sprintf("moment %d begins", s.moment)}
		if s.node >= 0 {
			step.What = s.by.name(&x.table.parcels)
		}
		v.Path = append(v.Path, step)
	}
	if !x.repeats(way) {
		v.What += " (fresh nodes did not repeat this)"
	}
	x.result.Violation = v
}

// pathTo is the path to a state, from the first one on.
func (x *search) pathTo(s *state) (way []*state) {
	for ; s.before >= 0; s = &x.states[s.before] {
		way = append(way, s)
	}
	way = append(way, s)
	slices.Reverse(way)
	return way
}

// repeats says whether fresh nodes, without the table, come to a violation on this path, too. If they do not, the
// numbers of their messages may be others: digests take nodes for equal that differ in those.
func (x *search) repeats(way []*state) bool {
	var all []*process
	for i := range x.options.Members {
		all = append(all, x.table.remake(int(way[0].nodes[i])))
	}
	for _, s := range way[1:] {
		if s.node >= 0 {
			all[s.node].apply(s.by, x.table.parcel(s.by), int(s.moment))
		}
	}
	var now []*facts
	for _, p := range all {
		if p.defect != nil {
			return true
		}
		f := p.facts()
		now = append(now, &f)
	}
	return compareAll(now, x.options.Groups, at(int(way[len(way)-1].moment))) != nil
}
