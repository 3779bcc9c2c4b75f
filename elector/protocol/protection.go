// Protection (D28): a node hands over nothing of its own accord.
//
// When something is wrong with a cluster that nobody has understood yet, its operators want it to hold still. A node that is
// protected begins no handovers but those that a single group needs: a drain goes on waiting, and preferred members are
// offered nothing. Handovers that are under way end as usual. What an operator orders for one group is done, and a leader
// that is not able to lead hands over as ever, because its group would be without service otherwise.
//
// It is this node's, and this process's: no other node is asked, and a restart ends it.

package protocol

// Protect begins or ends the protection of the node.
func (n *Node) Protect(on bool) {
	s := &n.stands
	if s.protected == on {
		return
	}
	s.protected = on
	for _, e := range s.electorates {
		e.maintenance.Protected = on
	}
	n.callToOffer(func(*cohort) bool { return true })
	n.showProgress()
}
