// A strike is one fault at one time. Seeds draw strikes, and scenarios list them.

package simulation

import (
	"fmt"
	"slices"
	"time"
)

// Strike is one fault at one time.
type Strike struct {
	At    time.Duration
	Fault Fault
	// Node is the node that is struck, and Other the second node that it concerns, both by index
	// from 0; -1 for none.
	Node, Other int
	// Group is the group that a fault of groups strikes, by index from 0; EveryGroup for all
	// groups of the node. Other faults strike the node as a whole.
	Group int
	// Lasts is the time until a process is back, or a link is whole.
	Lasts time.Duration
	// Count depends on the fault: parts in a million, how often, a set of nodes.
	Count int64
	// Links are those that are cut, by sender and receiver.
	Links [][2]int

	line int // of a scenario's text; 0: none
}

const nobody = -1

// EveryGroup is all groups of the node that is struck.
const EveryGroup = -1

// inflict carries out a strike now.
func (w *world) inflict(s *Strike) {
	if faultTable[s.Fault].inflict == nil {
		return
	}
	if there := len(w.nodes); s.Node >= there || s.Other >= there {
		w.misses(s, "there is no n%d yet", max(s.Node, s.Other))
		return
	}
	if w.tape != nil {
		w.tape.strike(s)
	}
	w.tracer.strikes(s)
	if faultTable[s.Fault].inflict(w, s) {
		w.swarm.struck[s.Fault]++
	}
}

// misses notes that a line of a scenario had no effect.
func (w *world) misses(s *Strike, format string, args ...any) {
	if s.line > 0 {
		w.missed = append(w.missed, fmt.Sprintf("line %d: %q: %s", s.line, s, fmt.Sprintf(format, args...)))
	}
}

// follow carries out a later part of a strike.
func (w *world) follow(after time.Duration, s Strike) {
	s.At = time.Duration(w.now) + after
	place := slices.IndexFunc(w.following, func(k Strike) bool { return k.At < time.Duration(w.now) }) // its strike is over
	if place < 0 {
		place = len(w.following)
		w.following = append(w.following, Strike{})
	}
	w.following[place] = s
	w.events.Push(int64(s.At), newEvent(strikeFollows, 0, uint32(place)))
}

// struckBy is the node that is struck.
func (w *world) struckBy(s *Strike) *node { return &w.nodes[s.Node] }

// membersOf are the members that are struck: that of one group, or all.
func (w *world) membersOf(s *Strike) (struck []*member) {
	all := w.struckBy(s).members
	for place := range all {
		if s.Group == EveryGroup || s.Group == place {
			struck = append(struck, &all[place])
		}
	}
	return struck
}

// concerns says whether a strike concerns a group.
func (s *Strike) concerns(place int) bool {
	return !s.Fault.is(perGroup) || s.Group == EveryGroup || s.Group == place
}

// draw draws a strike of a fault, and says whether it can strike now. The group is drawn for all
// faults, because those that strike a leader need one, too.
func (s *swarm) draw(w *world, f Fault) (Strike, bool) {
	detection := w.options.Timing.Detection()
	strike := Strike{
		At: time.Duration(w.now), Fault: f, Node: s.random.IntN(len(w.nodes)), Other: nobody,
		Lasts: detection/8 + s.span(4*detection),
	}
	if groups := len(w.groups); groups > 1 {
		strike.Group = s.random.IntN(groups)
	}
	could := faultTable[f].draw(w, &strike)
	switch {
	case !f.is(perGroup):
		strike.Group = 0
	case len(w.groups) > 1 && !f.is(notAllGroups) && s.random.IntN(4) == 0:
		strike.Group = EveryGroup
	}
	return strike, could
}

// span is a random time below a limit.
func (s *swarm) span(below time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(below)))
}

// drawNode strikes any node.
func drawNode(*world, *Strike) bool { return true }

// drawLeaderOrNode strikes the leader in half of the cases.
func drawLeaderOrNode(w *world, s *Strike) bool {
	if leader := w.leader(s.Group); leader != nil && w.swarm.random.IntN(2) == 0 {
		s.Node = leader.Index
	}
	return true
}

// leader is the member of a group that leads in the largest term, or nil.
func (w *world) leader(place int) *member {
	var leader *member
	for i := range w.nodes {
		if m := &w.nodes[i].members[place]; m.Alive && m.Leads() && (leader == nil || m.group.State().Term > leader.group.State().Term) {
			leader = m
		}
	}
	return leader
}
