// The engines of all groups of a node, judged by one function.
//
// A process with many groups often knows in one place which of its engines cannot work. The node asks
// that function about once a heartbeat, whatever the number of groups. The members of the groups that
// it names are not able to lead. If it does not return within a detection time, no member of the node
// is: a lock that it waits for may be one that the engines need, too.
//
// Every question is one group's: that of the group to which something happened when the question was
// due. That group is not over before the answer has come. So an answer always finds a node that runs.

package protocol

import (
	"slices"
	"time"
)

// stalled is what a node remembers of that function. Times are the driver's.
type stalled struct {
	never    bool          // there is no such function
	asker    *Group        // whose question it has not answered; nil: it has
	asked    time.Duration // when it was asked last; 0: never
	forgiven bool          // it was given more time since then, because the process may not have run
	looked   time.Duration // when something happened to a group last
	named    []*Group      // in its last answer
}

// askStalled asks which engines cannot work, about once a heartbeat of the group to which something happens.
func (n *Node) askStalled(g *Group) {
	s := &n.stalled
	if s.never {
		return
	}
	detection := g.Rules.Timing.Detection()
	s.forgive(n.now, detection)
	if s.asker != nil || s.asked != 0 && n.now-s.asked < g.Rules.Timing.Heartbeat*3/4 {
		return
	}
	if s.never = !n.edge.AskStalled(detection); s.never {
		return
	}
	s.asker, s.asked, s.forgiven = g, max(n.now, 1), false
	g.working++
}

// forgive gives the function more time, once for each question, if nothing has happened for long: it may be the process
// that has not run, and the function neither. One that is overdue already stays so.
func (s *stalled) forgive(now, detection time.Duration) {
	if s.asker != nil && !s.forgiven && now-s.looked > detection/2 && s.looked-s.asked <= detection {
		s.asked, s.forgiven = max(s.asked, now-detection/2), true
	}
	s.looked = now
}

// forget drops a group that has ended.
func (s *stalled) forget(g *Group) {
	s.named = slices.DeleteFunc(s.named, func(other *Group) bool { return other == g })
}

// Stalled tells the node which groups' engines cannot work, as Edge.AskStalled has asked. Groups that do not
// take part are passed over.
func (n *Node) Stalled(groups []*Group) {
	s := &n.stalled
	asker, before := s.asker, s.named
	s.asker, s.named = nil, nil
	for _, g := range before {
		g.ability().stalled = false
	}
	for _, g := range groups {
		if g.running {
			n.open(g)
			n.abilityOf(g).stalled = true
			s.named = append(s.named, g)
		}
	}
	for _, g := range slices.Concat(before, s.named) {
		n.look(g)
	}
	n.done(asker)
}
