// How a violation was reached.

package nodes

import (
	"fmt"
	"slices"

	"github.com/hustings/hustings/simulation/invariant"
)

// Violation is an invariant that does not hold, and the steps that led there.
type Violation struct {
	Invariant invariant.Invariant
	What      string
	Path      []Step
}

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.Invariant, v.What) }

// Step is one step of a path.
type Step struct {
	// Node is the node to which something happens; -1: time passes.
	Node   int
	Moment int
	What   string

	input  input
	parcel *parcel
}

func (s Step) String() string {
	if s.Node < 0 {
		return fmt.Sprintf("moment %d begins", s.Moment)
	}
	return fmt.Sprintf("n%d: %s", s.Node, s.What)
}

// violated notes a violation, with the path to it.
func (x *search) violated(s *state, d *defect) {
	if x.result.Violation != nil {
		return
	}
	v := &Violation{Invariant: d.invariant, What: d.what}
	for last := s; last.before >= 0; last = &x.states[last.before] {
		step := Step{Node: int(last.node), Moment: int(last.moment), input: last.by}
		if last.node >= 0 {
			step.What, step.parcel = last.by.name(&x.table.parcels), x.table.parcel(last.by)
		}
		v.Path = append(v.Path, step)
	}
	slices.Reverse(v.Path)
	x.result.Violation = v
}
