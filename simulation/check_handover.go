// Handovers: each ends in time, whatever becomes of the other.

package simulation

import "github.com/hustings/hustings/elector"

// handoverWithin is how long a handover may take, in detection times: it has three
// phases of one each, counted in beats by a clock that may be slow, at a node that may.
const handoverWithin = 8

func (c *checker) handsOver(n *node, phase elector.Handover) {
	if phase == elector.NoHandover {
		n.handing = 0
		return
	}
	c.counts[TransferEnds]++
	now := c.world.now
	if n.handing == 0 || n.sluggish > 0 {
		n.handing = now
	}
	if limit := handoverWithin * int64(n.rules.Timing.Detection()); now-n.handing > limit {
		c.violated(TransferEnds, n, "its handover is %v, since %d ns", phase, now-n.handing)
	}
}
