// Ability: which members cannot work, as the world knows it, and that no member makes the leadership
// come and go.
//
// What a member says of its ability is not believed. It is compared with the clock: whatever makes a
// member say that it is able, and not able, it says so ever more rarely. From that follows how many
// offices one process gives up at most because of it, which is counted, too. Let T be the detection
// time.
//
// A spell is the time in which a member says that it is not able. It ends with a hold, in which nothing but perhaps
// an order obstructs the member. The holds of a process last 1, 2, 4 … 64, 128, 128 … T; only if it has been free
// from obstacles for 128 T do they begin anew. And in a spell a member gives up its first office at
// any time, but each further one only after it has led it for 2, 4, 8 … 128, 128 … T, counted in beats.
// One beat may be sent early between two alarms, so an office of 2 T may be over in 1 T.
//
// A process that gives up offices as fast as this allows takes the cheapest of these waits first:
// holds, and further offices in all spells so far. That makes 10 offices in 15 T, 30 in 121 T, 100 in 708 T and
// 200 in 1535 T, thus never more than mostAtOnce and another one every mostOften T. Offices that are lost because
// LedgerEnd hangs are not counted: each needs an engine that has hung for longer than T.

package check

import (
	"cmp"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// The bounds of the argument above: times in detection times, and how many offices.
const (
	longestHold = 128
	mostAtOnce  = 16
	mostOften   = 8
	// hangsWithin is how soon a member must say that something hangs: it waits for one, and its clock may be slow.
	hangsWithin = 3
)

// ability is what a member has said of its ability in this incarnation. Times are by its clock.
type ability struct {
	began  time.Duration
	says   protocol.Inability
	said   time.Duration    // since when
	saidAt int64            // the same, in true time
	free   time.Duration    // since when it has said that nothing but perhaps an order obstructs it; 0: something does, or never has
	hold   time.Duration    // how long it must then wait
	led    memberstate.Term // the term that it leads; 0: none
	ableAt int64            // when it was able last, in true time
	gaveUp int              // offices in this spell
	inAll  int              // offices in this incarnation
}

// hangs says whether something of the member has not returned for so long that the member may know
// by its own clock that it is not able to lead.
func (c *Checker) hangs(n *Member) bool {
	e := n.Engine
	return c.mute(n) || c.late(n.Node.Judging) || c.late(n.Node.Saving) || c.late(e.Asking) || c.late(e.Pausing) || c.late(e.Ending)
}

// late says whether something has been running for so long that it may be taken for hanging.
func (c *Checker) late(since int64) bool {
	return since != 0 && *c.now-since > int64(c.leastDetection()/2)
}

// mute says whether the engine has not vouched for so long that its last word may not count any more. That may be nearly
// two heartbeats old, because it is not asked again at a look that comes soon after the last question. Of the rest a part is
// forgiven for clocks, and for looks that are late.
func (c *Checker) mute(n *Member) bool {
	since := n.Engine.Mute
	return n.Rules.Vouch > 0 && since != 0 && *c.now-since > int64(n.Rules.Vouch-2*c.longestHeartbeat())/3
}

// caused says whether the world knows a cause of what a member says of its ability. A process that has just
// stood still may not have heard yet of what has returned meanwhile.
func (c *Checker) caused(n *Member, says protocol.Inability) bool {
	if n.asking.awake == *c.now && says != protocol.NotAbleUnhealthy && says != protocol.NotAbleSilent {
		return true
	}
	switch says {
	case protocol.NotAbleUnhealthy:
		return n.Engine.Unwell
	case protocol.NotAbleSilent:
		return c.mute(n) || c.late(n.Node.Judging) || n.asking.awake == *c.now && n.Node.JudgedAsleep
	case protocol.NotAbleDisk:
		return c.late(n.Node.Saving)
	case protocol.NotAblePause:
		return c.late(n.Engine.Pausing)
	case protocol.NotAbleLead:
		return c.late(n.Engine.Ending)
	default: // an order may have been withdrawn before the process takes it
		return true
	}
}

// hung says whether something of the member has hung in this term. Then a handover may be under way
// that began because of it.
func (c *Checker) hung(n *Member, term memberstate.Term) bool {
	return term > 0 && n.handing.hungIn == term || c.hangs(n)
}

// ailed says whether something has kept the member from leading in this term. Then it may hand over or step
// down of its own accord.
func (c *Checker) ailed(n *Member, term memberstate.Term) bool {
	return n.handing.ailedIn == term || n.Engine.Barred || n.Engine.Unwell || c.hung(n, term)
}

// Receives notes that a process takes a message. If none has come for a while, the process may take itself for the cause, and
// give the function that judges its engines more time, if that was not overdue before. The clock may be slow by a third.
func (c *Checker) Receives(at *Node) {
	since := max(at.Judging, at.received)
	soon := since-at.Judging <= int64(c.Detection())*3/2
	if at.Judging != 0 && soon && *c.now-since > int64(c.leastDetection()/3) {
		at.quiet = *c.now
	}
	at.received = *c.now
}

// admits checks a member at which its node has looked, because it has received a message in this turn, or because nodes exchange
// beats for it: if something has not returned for long, it must say that it is not able. (What follows if an engine does not
// vouch, ableLeads demands.)
func (c *Checker) admits(n *Member) {
	if n.Shown.Stopped || n.Group.Waits() || n.Group.State().Role == memberstate.Observer || n.Node.Sluggish > 0 {
		return
	}
	long := func(since int64, within time.Duration) bool {
		return since != 0 && *c.now-max(since, n.asking.awake) > int64(within)
	}
	e, within := n.Engine, hangsWithin*max(c.Detection(), detection(&n.Rules.Timing))
	judging := n.Node.Judging
	if judging != 0 {
		judging = max(judging, n.Node.quiet)
	}
	hangs := long(judging, within) || long(n.Node.Saving, within) || long(e.Pausing, within) || long(e.Ending, within)
	if !hangs {
		return
	}
	c.Counts[invariant.AbleLeads]++
	if says := n.ability.says; says == protocol.Able || says == protocol.NotAbleHold {
		c.Violated(invariant.AbleLeads, n, "something of it hangs, and it does not say that it is not able to lead: %v", says)
	}
}

// showsAbility follows what a member says of its ability.
func (c *Checker) showsAbility(n *Member, v *protocol.View, local time.Duration) {
	a, now := &n.ability, max(local, 1)
	if a.began == 0 {
		a.began = now
	}
	switch {
	case v.Role == memberstate.Leader:
		a.led = v.Term
	case a.led != 0:
		if v.Departure == protocol.DepartedNotAble && v.Last == n.Node.Seat {
			c.gaveUp(n, now)
		}
		a.led = 0
	}
	if v.Inability == a.says {
		return
	}
	c.Counts[invariant.NoFlapping]++
	if !c.caused(n, v.Inability) {
		c.Violated(invariant.NoFlapping, n, "it says that it is not able to lead (%v), but nothing keeps it from that", v.Inability)
	}
	said, last := a.said, a.saidAt
	a.said, a.saidAt = now, *c.now
	switch a.says = v.Inability; a.says {
	case protocol.NotAbleOrdered: // an operator does not come and go, so an order needs no hold
		if a.hold > 0 && a.free == 0 {
			if a.free = now; c.saysLate(n, last) {
				a.free = said
			}
		}
	case protocol.NotAbleHold:
		a.free = cmp.Or(a.free, now)
	case protocol.Able:
		if a.hold > 0 && (a.free == 0 || now-a.free < a.hold) && !c.saysLate(n, last) {
			c.Violated(invariant.NoFlapping, n, "it says that it is able after a hold of %v, but it must wait for %v", now-a.free, a.hold)
		}
		a.gaveUp, a.ableAt = 0, *c.now
	default:
		shortest := detection(&n.Rules.Timing)
		longest := longestHold * shortest
		switch {
		case a.hold == 0 || a.free != 0 && now-a.free > longest:
			a.hold = shortest
		case a.free != 0 && now-a.free > longestHold*c.leastDetection(): // if its intervals were shorter, it may have forgotten
			a.hold = min(2*a.hold, shortest)
		case a.free != 0:
			a.hold = min(2*a.hold, longest)
		}
		a.free = 0
	}
}

// saysLate says whether a member that said something last at a time may say now what it has noticed long before: a leader
// reads its ledger first, and other steps wait for that, too.
func (c *Checker) saysLate(n *Member, last int64) bool {
	return n.Engine.Asking != 0 || n.Engine.Answered > last
}

// gaveUp checks a leader that leads no more, because it was not able to.
func (c *Checker) gaveUp(n *Member, now time.Duration) {
	a, b, h := &n.ability, &n.asking.beats, &n.handing
	c.Counts[invariant.NoFlapping]++
	if n.Engine.Asking != 0 && c.hangs(n) || n.Engine.Answered > a.saidAt && n.asking.awake == *c.now {
		return // LedgerEnd does not return, or it has while the process stood still, which has not heard of it yet
	}
	if a.says == protocol.Able || a.says == protocol.NotAbleHold {
		c.Violated(invariant.NoFlapping, n, "it gives up term %d because it is not able, and says that nothing keeps it from leading", a.led)
	}
	if len(h.orders) > 0 || h.orderedIn == a.led || h.resigning == a.led || h.preferredIn == a.led || h.drainsIn == a.led {
		return // it may be for another reason
	}
	if h.asked < a.ableAt {
		return // it was able again when others had been told to take over, and then was not: that handover is of the spell before
	}
	beats, least := b.number-b.first+1, uint32(0)
	if a.gaveUp > 0 {
		least = uint32(c.Timing.Leak) << min(a.gaveUp, 7)
	}
	if beats+1 < least { // the beat with the number 0 is never sent
		c.Violated(invariant.NoFlapping, n, "it gives up term %d after %d beats because it is not able, and has given up %d terms before, so it must lead for %d", a.led, beats, a.gaveUp, least)
	}
	a.gaveUp++
	a.inAll++
	if most := mostAtOnce + int((now-a.began)/(mostOften*c.leastDetection())); a.inAll > most {
		c.Violated(invariant.NoFlapping, n, "it has given up %d terms because it is not able, %v after its start", a.inAll, now-a.began)
	}
}
