// Why a leader was taken for gone, as this member saw it.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Departure is why a member took its leader for gone.
type Departure uint8

const (
	// DepartedSilent: it was not heard for a detection time.
	DepartedSilent Departure = iota + 1
	// DepartedDisconnected: its process was reported gone.
	DepartedDisconnected
	// DepartedOutvoted: a larger term began, and not by its own doing.
	DepartedOutvoted
	// DepartedHandedOver: it handed the leadership over.
	DepartedHandedOver
	// DepartedNoQuorum: it was this member, and no quorum answered it.
	DepartedNoQuorum
	// DepartedLeaseLapsed: it was this member, and its lease ran out.
	DepartedLeaseLapsed
	// DepartedResigned: it was this member, and it resigned or was stopped.
	DepartedResigned
	// DepartedRenewed: it was this member, which asked for a larger term.
	DepartedRenewed
	// DepartedNotAble: it was this member, and was not able to lead.
	DepartedNotAble

	departures = iota + 1
)

var departureNames = [departures]string{
	DepartedSilent:       "silent",
	DepartedDisconnected: "disconnected",
	DepartedOutvoted:     "outvoted",
	DepartedHandedOver:   "handed over",
	DepartedNoQuorum:     "no quorum",
	DepartedLeaseLapsed:  "lease lapsed",
	DepartedResigned:     "resigned",
	DepartedRenewed:      "renewed",
	DepartedNotAble:      "not able",
}

// String names the reason; empty if there is none.
func (d Departure) String() string {
	return named(departureNames[:], d, "unknown reason")
}

// whyGone is why a step took the leader of the view before for gone; 0 if it did not.
func (m *Machine) whyGone(r *Rules, in *Input, before *View) Departure {
	if before.Leader == memberstate.Nobody || m.Leader == before.Leader && m.Term == before.Term && m.Role == before.Role {
		return 0
	}
	return m.whyLost(r, in, before)
}

// whyLost is why a step takes the leader of the view before for gone, if it does.
func (m *Machine) whyLost(r *Rules, in *Input, before *View) Departure {
	led := before.Leader == r.Self
	switch in.Kind {
	case Ring, Retimed: // a leader whose intervals have changed does what it does when its alarm rings
		switch {
		case !led:
			return DepartedSilent
		case m.lacksQuorum(r):
			return DepartedNoQuorum
		case !m.inability.works():
			return DepartedNotAble
		}
		return DepartedResigned // no other member took over in time
	case PeerLost:
		return DepartedDisconnected
	case Lapsed:
		if in.Inability != Able {
			return DepartedNotAble
		}
		return DepartedLeaseLapsed
	case Abort:
		if !m.inability.works() {
			return DepartedNotAble
		}
		return DepartedResigned
	case Resign:
		return DepartedResigned
	case Receive:
		q := &in.Message
		switch {
		case q.Kind == rpc.TakeLeadership, q.Kind == rpc.VoteRequest && q.Mark == rpc.Handed && q.Leader == before.Leader:
			if led && !m.inability.works() {
				return DepartedNotAble
			}
			return DepartedHandedOver
		case led && (q.Kind == rpc.VoteResponse || q.Kind == rpc.HeartbeatResponse):
			return DepartedRenewed
		}
	default: // the engine heard a later leader, or this member is to stand itself
	}
	return DepartedOutvoted
}
