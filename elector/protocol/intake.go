// The intake of a node: its groups, how far each has come, and the inputs for its next turn.
//
// A node is used by one goroutine at a time. Everybody else uses its intake: the transport puts
// messages in, callers and functions that work beside the node put requests in, and the driver
// takes all of it out when a turn begins. An intake has no lock of its own: its owner's lock guards
// everything that its methods read and change, and nothing else of a group.
//
// Every queue in here is bounded. Messages have limited room. A request that anybody may repeat
// at will is kept once. Every other request belongs to a caller who waits, or is the one answer to
// something that the node has asked for.

package protocol

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hustings/hustings/rpc"
)

// Intake is what a node shares with others. The zero Intake has no groups.
type Intake struct {
	groups   table           // that have joined and are not over
	live     int             // groups that take part, or have ended and still work
	requests []Request       // for the next turn
	most     int             // of them that are taken in a turn; 0: the usual number
	once     map[Subject]int // the places of those requests that anybody may repeat
	arrived  arrivals        // for the next turn
	beats    []*rpc.Beat     // for the next turn, the newest of each node
	spare    []*block        // for messages to come
}

// Taken is what was taken out of an intake for one turn. The zero Taken is empty.
type Taken struct {
	arrived  arrivals
	beats    []*rpc.Beat
	requests []Request
}

// Drain hands over the beats, then the messages, in the order in which they came, and then the requests.
// It is called once. Beats go before all else, because one of them stands for many groups.
func (t *Taken) Drain(beat func(*rpc.Beat), deliver func(*Group, *rpc.Message), do func(*Request)) {
	for _, b := range t.beats {
		beat(b)
	}
	clear(t.beats)
	t.arrived.drain(deliver)
	for i := range t.requests {
		do(&t.requests[i])
	}
	clear(t.requests)
}

// life is how far a group has come at its node. It is the intake's, so its owner's lock guards it, and only
// the methods below change it.
//
// Others cannot wait for that lock. What they look at follows from life, and from what the node has done about it:
//
//	Group.running    the node has carried out AskStart, and the group has not ended: taking or stopping
//	Group.Leaves     AskStop has found a leader, which is handing over: stopping
//	Group.working    how much still works for the group; when it has ended and this is zero, it becomes over
//	View.Stopped     the group has ended, and may not be over yet
//	the first Show   the node has carried out AskStart; package elector (begun) asks for this before it takes an order
type life uint8

const (
	joined   life = iota // it may be started, once
	starting             // it is being restored
	unwanted             // it is being restored, and was stopped meanwhile
	taking               // it takes part, or has failed and something still works for it
	stopping             // it was stopped
	over                 // nothing works for it any more
)

// Join takes a group in, unless there is one of its name.
func (in *Intake) Join(g *Group) error {
	if in.groups.find(g.name) != nil {
		return Say(ErrGroupExists, "the host has group %q already", g.name)
	}
	if in.once == nil {
		in.once = make(map[Subject]int)
	}
	in.groups.add(g)
	return nil
}

// Start says that a group that has joined is going to be restored. Only the first call succeeds.
func (in *Intake) Start(g *Group) error {
	if g.life != joined {
		return Say(ErrStopped, "group %q has been started or stopped before, and runs once", g.name)
	}
	g.life = starting
	return nil
}

// Enter makes a restored group take part, and calls begun when it does. Each of the watchers, who
// observe it from outside, says TellDone when it has seen the group's end.
func (in *Intake) Enter(g *Group, watchers int, begun func()) {
	in.live++
	in.Add(Request{Subject: Subject{Kind: AskStart, Group: g}, Number: uint32(watchers), Then: begun})
	if g.life == starting {
		g.life = taking
		return
	}
	g.life = stopping
	in.Add(Request{Subject: Subject{Kind: AskStop, Group: g}})
}

// Stop stops a group. Begun is false if it was never started; then the caller says that it is over.
func (in *Intake) Stop(g *Group) (begun bool) {
	switch g.life {
	case joined:
		return false
	case starting:
		g.life = unwanted
	case taking:
		g.life = stopping
		in.Add(Request{Subject: Subject{Kind: AskStop, Group: g}})
	case unwanted, stopping, over: // it was stopped before
	}
	return true
}

// Over says that nothing works for a group any more, or that it could not be restored.
func (in *Intake) Over(g *Group) {
	if g.life == taking || g.life == stopping {
		in.live--
	}
	g.life = over
	in.groups.drop(g)
}

// IsOver says whether a group is over.
func (in *Intake) IsOver(g *Group) bool { return g.life == over }

// WhyIdle says why a group takes no orders. Stopped says that its view shows its end.
func (in *Intake) WhyIdle(g *Group, stopped bool) error {
	switch {
	case stopped || g.life == unwanted || g.life >= stopping:
		return Say(ErrStopped, "group %q has stopped", g.name)
	case g.life == joined:
		return Say(ErrStopped, "group %q has not been started: Run or Start comes first", g.name)
	}
	return Say(ErrStopped, "group %q is still being started", g.name)
}

// Live is the number of groups that take part, or have ended and are not over. There are turns only
// while it is positive.
func (in *Intake) Live() int { return in.live }

// Group is the group of this name; nil if there is none.
func (in *Intake) Group(name string) *Group { return in.groups.find(name) }

// Groups are all that have joined and are not over, in any order: sorting very many of them takes long, and whoever
// waits for the owner's lock would wait for that.
func (in *Intake) Groups() []*Group { return in.groups.all() }

// SortByName sorts groups.
func SortByName(all []*Group) {
	slices.SortFunc(all, func(a, b *Group) int { return strings.Compare(a.name, b.name) })
}

// Add keeps a request for the next turn. It returns false if there will be none.
func (in *Intake) Add(r Request) bool {
	if in.live == 0 {
		return false
	}
	in.requests = append(in.requests, r)
	return true
}

// AddOnce is Add for requests that anybody may repeat at will. It does nothing if an equal one
// waits already. It returns the one that waits; nil if there will be no turn.
func (in *Intake) AddOnce(r Request) *Request {
	at, waits := in.once[r.Subject]
	if !waits {
		if at = len(in.requests); !in.Add(r) {
			return nil
		}
		in.once[r.Subject] = at
	}
	return &in.requests[at]
}

// manyRequests is more than usually wait for a turn. A longer list is not kept for reuse.
const manyRequests = 256

// usualTurn is how many messages, requests and alarms a node handles in a turn. Others wait for the next one: in each
// turn the node takes beats and sends them, and it must do so often enough while it has very much to do, or others
// would take it for gone, with all groups that it leads.
const usualTurn = 4096

// LimitTurn bounds the requests in a turn. Without it, the bound suits real nodes.
func (in *Intake) LimitTurn(most int) { in.most = most }

// Take takes out what waits, but no more than is handled in a turn, and says whether more is left. The room of the
// batch before, which has been handled, is used again.
func (in *Intake) Take(t *Taken) (more bool) {
	in.recycle(&t.arrived)
	t.beats, in.beats = in.beats, t.beats[:0]
	if cap(t.requests) > manyRequests {
		t.requests = nil
	}
	in.takeRequests(t)
	in.arrived.moveTo(&t.arrived, usualTurn)
	return len(in.requests) > 0 || in.arrived.count > 0
}

func (in *Intake) takeRequests(t *Taken) {
	most := cmp.Or(in.most, usualTurn)
	if len(in.requests) <= most {
		if len(in.once) > manyRequests {
			in.once = make(map[Subject]int)
		}
		clear(in.once)
		t.requests, in.requests = in.requests, t.requests[:0]
		return
	}
	t.requests = append(t.requests[:0], in.requests[:most]...)
	clear(in.requests[:most])
	in.requests = in.requests[most:]
	for subject, at := range in.once {
		if at < most {
			delete(in.once, subject)
		} else {
			in.once[subject] = at - most
		}
	}
}

// Waiting is how many requests wait.
func (in *Intake) Waiting() int { return len(in.requests) }
