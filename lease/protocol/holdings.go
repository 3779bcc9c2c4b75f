// What a keeper holds while it works: nothing, when all is quiet.
//
// Every place, turn and count that a piece of work takes is given back when the work ends, on each of its ways to
// end. Whoever forgets one of them breaks nothing at first; calls wait for places that nobody has, and one day a lease
// is not renewed, or a session does not end. So the simulator looks for what is left when nothing has happened for
// long.

package protocol

// Holdings count what a keeper holds for work under way. A Listen that goes on is none of it.
type Holdings struct {
	Calls     int // under way, also those that were given up
	Places    int // of these in their lanes
	Waiting   int // calls that wait for a place
	Claims    int // that wait for their turn
	Turns     int // of claims
	Looks     int // leases that were woken, or are still to be read; and the look under way
	Releases  int // to be tried again
	Renewals  int // under way, or to be repeated
	Questions int // to services, not answered
	Changes   int // leases that are being claimed or left
	Pending   int // calls, queues and questions that contain a lease
}

// Holdings are the keeper's.
func (k *Keeper) Holdings() (h Holdings) {
	for _, c := range k.calls.underWay {
		if c.Kind != Listen {
			h.Calls++
		}
	}
	for kind := range k.calls.lanes {
		l := &k.calls.lanes[kind]
		h.Waiting += len(l.waiting)
		if Kind(kind) != Listen {
			h.Places += l.underWay
		}
	}
	h.Claims, h.Turns = len(k.claims.waiting), k.claims.making
	h.Looks = len(k.look.woken) + len(k.look.rest)
	if k.look.reading != nil {
		h.Looks++
	}
	if k.judge.asking {
		h.Questions++
	}
	for _, s := range k.sessions {
		h.add(s)
	}
	return h
}

// add counts what a lease takes part in.
func (h *Holdings) add(s *session) {
	h.Pending += s.pending
	if s.giving.at != Never {
		h.Releases++
	}
	if s.ability.asking {
		h.Questions++
	}
	if s.ability.ending != 0 || s.phase == claiming || s.phase == leaving {
		h.Changes++
	}
	if o := &s.office; s.phase == serving && (o.due || o.renewing) {
		h.Renewals++
	}
}
