// How the search begins: a leader has been elected, and the groups have been idle for a while, or for no time at all.
//
// Until then messages arrive at once, in the order in which they were sent. Those of the last moment may arrive again.

package nodes

// settled is the state in which the search begins.
func (x *search) settled() state {
	var s state
	for i := range x.options.Members {
		p := x.table.first(i)
		s.nodes[i] = int32(x.table.add(p, -1, event{}))
	}
	calm := x.options.Calm
	x.settle(&s, -calm)
	for moment := -calm + 1; moment < 0; moment++ {
		s.network = network{}
		x.settle(&s, moment)
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
	if moment == -x.options.Calm {
		for place := range x.options.Groups {
			give(0, newInput(stands, place))
		}
	}
	for len(flying) > 0 && (moment < 0 || !x.elected(s)) {
		id := flying[0]
		flying = flying[1:]
		give(x.table.parcels.all[id].to, firstParcel+input(id))
	}
}

// elected says whether the first node leads all groups.
func (x *search) elected(s *state) bool {
	for place := range x.options.Groups {
		if x.table.nodes[s.nodes[0]].facts.leads[place] == 0 {
			return false
		}
	}
	return true
}
