// Campaigns: a node has only so many under way at a time (D17).
//
// Some begin although others keep all places: an operator orders them, or they repeat what has failed. What a storm
// consists of is first rounds: their alarm is the first to ring since the member has had no leader. Such a round has waited
// for its place, and keeps it until it is over, but not for longer than a detection time. If an engine or a disk has kept the
// group busy when its alarm rang, the check does not know when that was. Then the round counts at the moment at which it
// begins, and not afterwards.

package check

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// campaign is the first round of votes of a member since it has had no leader.
type campaign struct {
	rang    bool          // an alarm has rung since
	open    bool          // the round is under way, ...
	began   time.Duration // ... since this time of the node's clock, ...
	until   time.Duration // ... and keeps others waiting no longer than this
	stepped time.Duration // when the member took its last step
}

// isOpen says whether it keeps others waiting at a time of the node's clock.
func (k *campaign) isOpen(n *Member, local time.Duration) bool {
	return k.open && !n.Shown.Stopped && k.began <= local && local < k.until
}

// campaigns takes in a step of a member, and checks how many campaigns its node has if the step begins one.
func (c *Checker) campaigns(n *Member, before *memberstate.State, x *protocol.Step, local time.Duration) {
	k, out, now := &n.campaign, &x.Output, n.Group.State()
	waited := n.Local == k.stepped || n.Local == n.Saved // an input that waits for a step begins the next one when that is done
	k.stepped = local
	switch won := out.Ended && out.Judged == protocol.Passed; {
	case before.Role != memberstate.Candidate || now.Role != memberstate.Candidate:
		k.rang, k.open = false, false
	case (out.Ended || now.Term != before.Term) && !won: // a candidate that has won a pre-vote goes on
		k.open = false
	}
	if before.Role != memberstate.Candidate || x.Input.Kind != protocol.Ring || k.rang {
		return
	}
	k.rang = true
	if out.To != 0 && out.Send.Kind == rpc.VoteRequest && !out.Ended && n.asking.vote.over {
		k.open, k.began, k.until = true, n.Local, n.Local+n.Detects
		if waited {
			local, k.until = n.Local, n.Local+1
		}
		c.musters(n, local)
	}
}

// musters checks that a node which begins a campaign has room for it.
func (c *Checker) musters(n *Member, local time.Duration) {
	if c.Campaigns == 0 {
		return
	}
	c.Counts[invariant.MusterBounded]++
	open := 0
	for place := range c.groups {
		if m := c.at(n.Node, place); m.campaign.isOpen(m, local) {
			open++
		}
	}
	if open > c.Campaigns {
		c.Violated(invariant.MusterBounded, n, "its node has %d campaigns under way, and may have %d", open, c.Campaigns)
	}
}
