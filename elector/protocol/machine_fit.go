// Which members are fit to lead: those that are able (D26), and whose nodes serve (D28).
//
// A node that is to be taken out of service says so to its peers, once for all its groups. Its members then lead
// only if no other voter can: they stand after all others, and no leader hands over to them. That is an order, as
// with ability, and never a veto: a group in which no node serves still has a leader. Unlike one that is not able, a leader
// whose node does not serve gives up nothing by itself. The node hands over for all of its groups, a few at a time.

package protocol

import "github.com/hustings/hustings/memberstate"

// Maintenance is what a node knows of maintenance that concerns its groups.
type Maintenance struct {
	// LastChoice are the members whose nodes do not serve, as far as this node knows: they lead only if no other voter can.
	LastChoice memberstate.Set
	// Protected says that this node hands over nothing of its own accord, see protection.go.
	Protected bool
}

// lastChoice are the members whose nodes do not serve.
func (r *Rules) lastChoice() memberstate.Set {
	if r.Maintenance == nil {
		return 0
	}
	return r.Maintenance.LastChoice
}

// mayOffer says whether this member hands over to preferred members, which it is not.
func (r *Rules) mayOffer() bool {
	return r.Preferred != 0 && !r.Preferred.Has(r.Self) && (r.Maintenance == nil || !r.Maintenance.Protected)
}

// isFit says whether this member is fit to lead.
func (m *Machine) isFit(r *Rules) bool { return m.inability == Able && !r.lastChoice().Has(r.Self) }

// unfit are the others that are not fit to lead, as far as this member knows.
func (m *Machine) unfit(r *Rules) memberstate.Set { return m.unable | r.lastChoice() }

// reconsiderTarget has a leader not ask a voter again whose node has said since that it does not serve, unless an operator
// has named it. An offer to it is over; an order to resign that has joined the offer goes on, to any voter.
func (m *Machine) reconsiderTarget(r *Rules) {
	h := &m.handover
	switch {
	case h.Phase != Probing || !r.lastChoice().Has(h.Target):
	case h.Reason == ToPreferred && !h.Resigning:
		*h = Handover{}
	case h.Reason == ToPreferred:
		h.Reason, h.Target = ToAnyone, m.successor(r, memberstate.Nobody)
	case h.open():
		h.Target = m.successor(r, memberstate.Nobody)
	}
}
