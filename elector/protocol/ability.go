// Whether a group's member is able to lead, as its node sees it.
//
// The engine vouches for itself, if it is set up to: it says now and then that it has done useful
// work, or answers when it is asked. And some of what hangs the node sees by itself: a store that has
// been saving for longer than a detection time, a Pause that does not return, a Lead that does not
// return after its context has ended. A leader whose step waits for LedgerEnd for that long sends no
// heartbeats, so others have taken it for gone; then its office ends here, too.
//
// The node needs no alarm for that. It looks at the end of a turn in which a message arrived for the
// group or the group's alarm rings. So a leader is looked at once a heartbeat, and a follower whenever
// its leader beats. At the end of the turn the node knows everything that has happened: a process
// that was stopped for a while must not take what has returned meanwhile for hanging.
//
// A member that was not able stays so until it has been able for a hold. The hold is as long as a
// detection time at first, and twice as long each time that it was too short: so a member whose
// ability comes and goes does not make the leadership come and go. An order not to lead needs no hold,
// because an operator does not come and go; but a hold goes on while there is an order.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
)

// ability is what a node remembers of a member's ability to lead. All times are the driver's; zero
// means never.
type ability struct {
	heard     time.Duration // when the engine last gave its word
	forgiven  bool          // it was given more time since then, because the process may not have run
	looked    time.Duration // when the node last looked for one
	asked     time.Duration // when it was last asked for one
	asking    bool          // and it has not answered
	unhealthy bool          // its word was that it is not able
	stalled   bool          // the function that judges all engines of the node has named this one
	ordered   bool          // this member was ordered not to lead

	pausing time.Duration // since when the newest Pause has been running
	ending  time.Duration // since when Lead has been running although its context has ended

	well  time.Duration // since when nothing but an order has kept it from leading; 0: something does
	hold  time.Duration // how long that has to last; 0: nothing else has ever kept it
	since time.Duration // since when it has not been able, hold and order included
}

// maxHold bounds the hold, in detection times. A member that has been able for as long begins anew.
const maxHold = 128

// abilityOf returns the group's ability, and makes it if there is none.
func (n *Node) abilityOf(g *Group) *ability {
	r := n.rareOf(g)
	if r.ability == nil {
		r.ability = new(ability)
	}
	return r.ability
}

// toLookAt has a group looked at when the turn ends, if there is anything to look at.
func (n *Node) toLookAt(g *Group) {
	if g.ability() != nil || n.saves.saving != nil || n.stalled.asker != nil || g.Waits() {
		n.look(g)
	}
}

// look has a group looked at when the turn ends, whatever there is.
func (n *Node) look(g *Group) {
	if n.open(g); !g.notes.has(toLook) {
		g.notes.set(toLook, true)
		n.looks = append(n.looks, g)
	}
}

func (n *Node) lookAtAll() {
	for i, g := range n.looks {
		n.looks[i] = nil
		g.notes.set(toLook, false)
		n.lookAtAbility(g)
	}
	n.looks = emptied(n.looks)
}

// lookAtAbility tells the machine if its member's ability has changed. A group whose step waits is
// looked at later.
func (n *Node) lookAtAbility(g *Group) {
	if !g.running || g.Role == memberstate.Observer {
		return
	}
	if p := g.busy(); p != nil {
		if n.now-g.transient().waits > g.Rules.Timing.Detection() {
			n.enter(g, p)
			g.LosesOffice(&p.Step, &n.fx)
			n.inside = false
		}
		return
	}
	if g.ability() == nil && n.saves.saving == nil && n.stalled.asker == nil {
		return
	}
	n.askEngine(g)
	now := n.obstructed(g)
	switch a := g.ability(); {
	case now != Able:
		n.abilityOf(g).fails(g.Rules, n.now)
	case a == nil:
	case a.ordered:
		a.recovers(n.now)
		now = NotAbleOrdered
	case !a.recovers(n.now):
		now = NotAbleHold
	}
	if now == g.Inability() {
		if now == Able {
			n.forgetHold(g)
		}
		return
	}
	if a := n.abilityOf(g); now == Able {
		a.since = 0
	} else if a.since == 0 {
		a.since = max(n.now, 1)
	}
	n.give(g, &Input{Kind: Ability, Inability: now}, purpose{})
}

// askEngine takes the engine's word, and asks for another one about once a heartbeat: at each look that a heartbeat
// causes, even if that one has travelled faster than the one before. Otherwise a word could be two heartbeats old.
func (n *Node) askEngine(g *Group) {
	a := g.ability()
	if a == nil || g.Rules.Vouch == 0 {
		return
	}
	v := g.Rules.Vouch
	if late := n.now - a.looked; late > v/2 && !a.forgiven && a.looked-a.heard <= v {
		// It may be the process that has not run, and the engine neither. That is forgiven once, or an
		// engine at which the node looks rarely would never be found silent; and it is no word, so
		// one that is silent stays so.
		a.heard, a.forgiven = max(a.heard, n.now-v/2), true
	}
	a.looked = n.now
	if g.engine.Vouched() {
		a.heard, a.forgiven = n.now, false
	}
	if !a.asking && n.now-a.asked >= g.Rules.Timing.Heartbeat*3/4 {
		a.asked = n.now
		if g.engine.AskHealth() {
			a.asking = true
			g.working++
		}
	}
}

// Health tells a group what its engine answered to AskHealth: nil, or why it is not able to lead.
func (n *Node) Health(g *Group, err error) {
	n.open(g)
	a := n.abilityOf(g)
	a.asking, a.unhealthy = false, err != nil
	a.heard, a.forgiven = max(a.heard, a.asked), false // whatever it says, it does not hang
	n.lookAtAbility(g)
	n.done(g)
}

// Electable says whether a group's member is to lead whenever it is elected, or only if no other can.
func (n *Node) Electable(g *Group, may bool) {
	n.open(g)
	n.abilityOf(g).ordered = !may
	n.lookAtAbility(g)
	n.tidyAbility(g)
}

// obstructed is what keeps a group's member from leading at this moment, orders aside.
func (n *Node) obstructed(g *Group) Inability {
	r, a := g.Rules, g.ability()
	late := func(since time.Duration) bool { return since != 0 && n.now-since > r.Timing.Detection() }
	switch {
	case n.saves.saving != nil && late(n.saves.began):
		return NotAbleDisk
	case n.stalled.asker != nil && late(n.stalled.asked):
		return NotAbleSilent
	case a == nil:
		return Able
	case late(a.pausing):
		return NotAblePause
	case late(a.ending):
		return NotAbleLead
	case r.Vouch > 0 && n.now-a.heard > r.Vouch:
		return NotAbleSilent
	case a.unhealthy, a.stalled:
		return NotAbleUnhealthy
	}
	return Able
}

// fails notes that something keeps a member from leading. If it had been able for long, it begins
// anew with a short hold.
func (a *ability) fails(r *Rules, now time.Duration) {
	detection := r.Timing.Detection()
	switch wasWell := a.well != 0; {
	case a.hold == 0 || wasWell && now-a.well > maxHold*detection: // it may not have been looked at since
		a.hold = detection
	case wasWell:
		a.hold = min(2*a.hold, maxHold*detection)
	}
	a.well = 0
}

// recovers notes that nothing but perhaps an order keeps a member from leading, and says whether that
// has lasted for long enough.
func (a *ability) recovers(now time.Duration) bool {
	if a.hold > 0 && a.well == 0 {
		a.well = max(now, 1)
	}
	return now-a.well >= a.hold
}

// forgetHold forgets that something has kept a member from leading, once that is so long ago that it would begin anew. A group
// about which this has to be remembered does not leave its heartbeats to the node.
func (n *Node) forgetHold(g *Group) {
	if a := g.ability(); a != nil && a.well != 0 && n.now-a.well > maxHold*g.Rules.Timing.Detection() {
		a.hold, a.well = 0, 0
	}
	n.tidyAbility(g) // an order, or the judge's word, may have been over while a step waited
}

// tidyAbility drops what nothing needs to be remembered of. Of an engine that has to vouch something always needs to be.
func (n *Node) tidyAbility(g *Group) {
	if a := g.ability(); a != nil && *a == (ability{}) && g.Rules.Vouch == 0 {
		g.rare.ability = nil
		n.tidyRare(g)
	}
}
