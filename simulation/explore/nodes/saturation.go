// Saturation: what a node can send without changing is sent at once.
//
// No node has to receive a message, and none is ever taken out of the network. So a state in which the node has sent
// it already can do all that the other one can, and more. This is for replies to what has arrived before.

package nodes

// send puts parcels into the network.
func (x *search) send(s *state, sent []int) {
	for _, id := range sent {
		if id >= mostMessages {
			x.result.Stopped = "there are too many different messages"
			return
		}
		s.network.add(id)
	}
}

// saturate sends what can be sent since a node has changed, and there may be new parcels.
func (x *search) saturate(s *state, changed int) {
	for more := true; more && x.result.Stopped == ""; {
		more = false
		for id := range x.table.parcels.all {
			if s.network.has(id) && x.sends(s, x.table.parcels.all[id].to, firstParcel+input(id)) {
				more = true
			}
		}
		if x.sends(s, changed, newInput(turn, 0)) {
			more = true
		}
	}
}

// saturateAll does so for a new moment.
func (x *search) saturateAll(s *state) {
	for i := range x.options.Members {
		x.saturate(s, i)
	}
}

// sends says whether an input has a node send something new, and nothing else.
func (x *search) sends(s *state, i int, in input) bool {
	o := x.table.outcome(int(s.nodes[i]), in, int(s.moment))
	if o.node != int(s.nodes[i]) || o.defect != nil || s.network.holdsAll(o.sent) {
		return false
	}
	x.send(s, o.sent)
	return true
}

// holdsAll says whether all of these are in it.
func (n *network) holdsAll(some []int) bool {
	for _, id := range some {
		if !n.has(id) {
			return false
		}
	}
	return true
}
