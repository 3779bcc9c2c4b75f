// The rules of a group that change while it takes part: its intervals, and its preferred leaders. Each
// member is changed by itself, so the members of a group may have different ones for a while; see
// machine_timing.go.
//
// A node may have very many groups, so those that have been given the same rules share them.

package protocol

import (
	"errors"
	"time"
)

// sharedRules are rules that groups have been given since they joined.
type sharedRules struct {
	Rules
	groups int
}

// SetTiming changes a group's intervals at this node. It refuses intervals with which the group could
// not work: those that Setup would refuse, and those that are too short for the round trips that
// have been measured. A step that waits has been taken by the old ones.
func (n *Node) SetTiming(g *Group, t Timing) error {
	if !g.running {
		return g.doesNotRun()
	}
	var bad Complaints
	leases := g.Rules.Lease > 0
	t.Check(&bad, leases)
	checkVouch(&bad, g.Rules.Vouch, t)
	if len(bad) == 0 {
		n.open(g)
		t.checkRoundTrip(&bad, g.measured(), leases)
	}
	if err := errors.Join(bad...); err != nil {
		return err
	}
	if t == g.Rules.Timing {
		return nil
	}
	r := *g.Rules
	if r.Timing = t; leases {
		r.Lease = t.Detection()
	}
	n.setRules(g, &r)
	n.give(g, &Input{Kind: Retimed}, purpose{})
	return nil
}

// checkRoundTrip complains about intervals that are too short for a round trip.
func (t Timing) checkRoundTrip(c *Complaints, measured time.Duration, leases bool) {
	switch {
	case recentBeats*t.Heartbeat <= measured:
		c.Add("Timing.Heartbeat", "is %v, too short for the measured round trip of %v: a leader counts the answers to its newest %d heartbeats only",
			t.Heartbeat, measured, recentBeats)
	case leases && t.Detection()-t.DriftMargin <= t.Heartbeat+measured:
		c.Add("Timing.Heartbeat", "of %v and the measured round trip of %v leave no time to renew a lease of %v", t.Heartbeat, measured, t.Detection()-t.DriftMargin)
	}
}

// SetPreferred changes a group's preferred leaders at this node.
func (n *Node) SetPreferred(g *Group, ids []string) error {
	if !g.running {
		return g.doesNotRun()
	}
	var bad Complaints
	checkPreferred(&bad, ids, g.Members, g.Rules.Voters)
	if err := errors.Join(bad...); err != nil {
		return err
	}
	r := *g.Rules
	r.Preferred = seats(g.Members, ids)
	n.setRules(g, &r)
	return nil
}

func (g *Group) doesNotRun() error { return Say(ErrStopped, "group %q does not run", g.name) }

// setRules gives a group other rules.
func (n *Node) setRules(g *Group, r *Rules) {
	s := n.rules[*r]
	if s == nil {
		if s = (&sharedRules{Rules: *r}); n.rules == nil {
			n.rules = make(map[Rules]*sharedRules)
		}
		n.rules[*r] = s
	}
	s.groups++
	n.leaveAll(g)
	n.dropRules(g)
	g.Rules = &s.Rules
	g.engine.Obey(g.Rules)
}

// dropRules forgets the rules of a group that gets others, or has ended, if no other group has them.
func (n *Node) dropRules(g *Group) {
	if s := n.rules[*g.Rules]; s != nil && &s.Rules == g.Rules {
		if s.groups--; s.groups == 0 {
			delete(n.rules, s.Rules)
		}
	}
}
