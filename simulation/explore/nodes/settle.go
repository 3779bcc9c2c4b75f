// How the search begins: a leader has been elected, and then either nothing has happened yet, or the groups have been
// idle for a while, so that the leader rests.
//
// Until then messages arrive at once, in the order in which they were sent. Those of the last moment may arrive again.

package nodes

import "github.com/hustings/hustings/memberstate"

// settling is how many moments that takes.
const settling = 8

// settled is the state in which the search begins.
func (x *search) settled() state {
	var s state
	for i := range x.options.Members {
		p := newProcess(&x.options.Bounds, i)
		p.now = at(-settling)
		p.start()
		p.endTurn()
		s.nodes[i] = int32(x.table.add(p, -1, event{}))
	}
	first := -settling
	if x.options.Elected {
		first = 0
	}
	for moment := first; moment < 1; moment++ {
		s.network = network{}
		x.settle(&s, moment)
		if moment == 0 || moment == -1 && !x.options.Elected {
			break
		}
	}
	return s
}

// settle has all that is due happen in a moment, and all that is sent arrive.
func (x *search) settle(s *state, moment int) {
	var flying []int
	give := func(i int, in input) {
		o := x.table.compute(int(s.nodes[i]), event{in, moment})
		s.nodes[i] = int32(o.node)
		flying = append(flying, o.sent...)
		x.send(s, o.sent)
	}
	for i := range x.options.Members {
		give(i, newInput(turn, 0))
	}
	if moment == -settling || x.options.Elected {
		for place := range x.options.Groups {
			give(0, newInput(stands, place))
		}
	}
	for len(flying) > 0 && !(x.options.Elected && x.elected(s)) {
		id := flying[0]
		flying = flying[1:]
		give(x.table.parcels.all[id].to, firstParcel+input(id))
	}
}

// elected says whether the first node leads all groups.
func (x *search) elected(s *state) bool {
	for place := range x.options.Groups {
		if x.table.nodes[s.nodes[0]].facts.leads[place] == memberstate.Term(0) {
			return false
		}
	}
	return true
}
