// A fault that strikes at a time, with all that there is to say of it. What a seed
// draws and what a scenario says become the same strikes.

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
	// Node is whom it strikes, Other the second one that it concerns, if any, both by
	// index from 0; nobody is -1.
	Node, Other int
	// Group is the one that a fault of groups strikes, by index from 0; EveryGroup is all of
	// the node's. Other faults strike whatever the node does for any group.
	Group int
	// Lasts is for how long: until a process is back, a link whole.
	Lasts time.Duration
	// Count is what the fault counts: parts in a million, how often, a set of nodes.
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
	if known[s.Fault].inflict == nil {
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
	if known[s.Fault].inflict(w, s) {
		w.swarm.struck[s.Fault]++
	} else if s.Fault == StaleMessage {
		w.misses(s, "no such message was sent before")
	}
}

// misses notes that a line of a scenario came to nothing.
func (w *world) misses(s *Strike, format string, args ...any) {
	if s.line > 0 {
		w.missed = append(w.missed, fmt.Sprintf("line %d: %q: %s", s.line, s, fmt.Sprintf(format, args...)))
	}
}

// follow carries out a strike that is part of another one, later.
func (w *world) follow(after time.Duration, s Strike) {
	s.At = time.Duration(w.now) + after
	place := slices.IndexFunc(w.following, func(k Strike) bool { return k.At < time.Duration(w.now) }) // one that is over
	if place < 0 {
		place = len(w.following)
		w.following = append(w.following, Strike{})
	}
	w.following[place] = s
	w.events.Push(int64(s.At), newEvent(strikeFollows, 0, uint32(place)))
}

// struckBy is the node that is struck.
func (w *world) struckBy(s *Strike) *node { return &w.nodes[s.Node] }

// membersOf are those that a strike is about: the one of a group, or all.
func (w *world) membersOf(s *Strike) (struck []*member) {
	all := w.struckBy(s).members
	for place := range all {
		if s.Group == EveryGroup || s.Group == place {
			struck = append(struck, &all[place])
		}
	}
	return struck
}

// concerns says whether a strike is about a group, too.
func (s *Strike) concerns(place int) bool {
	return !s.Fault.ofGroup() || s.Group == EveryGroup || s.Group == place
}

// draw fills in a strike of a fault now, and says whether there is one to be had. Which group
// is drawn matters for all faults that look for a leader.
func (s *swarm) draw(w *world, f Fault) (Strike, bool) {
	detection := w.options.Timing.Detection()
	strike := Strike{
		At: time.Duration(w.now), Fault: f, Node: s.random.IntN(len(w.nodes)), Other: nobody,
		Lasts: detection/8 + s.span(4*detection),
	}
	if groups := len(w.groups); groups > 1 {
		strike.Group = s.random.IntN(groups)
	}
	could := known[f].draw(w, &strike)
	switch {
	case !f.ofGroup():
		strike.Group = 0
	case len(w.groups) > 1 && f != LateWord && s.random.IntN(4) == 0: // the network holds back one word
		strike.Group = EveryGroup
	}
	return strike, could
}

// span is a random time below a limit.
func (s *swarm) span(below time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(below)))
}

// drawNode has a node struck, whichever.
func drawNode(*world, *Strike) bool { return true }

// drawLeaderOrNode has the leader struck as often as anyone.
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
		if m := &w.nodes[i].members[place]; m.Alive && m.Leads() && (leader == nil || m.group.Term > leader.group.Term) {
			leader = m
		}
	}
	return leader
}
