// A group at a node: a session, the inputs that wait for it, and its engine.

package protocol

import (
	"slices"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Group is one group at a node. It is kept small, because there may be a great many. Before it is restored, it has
// neither a desk nor anything packed.
type Group struct {
	*desk               // while it is open, see desk.go
	packed      *packed // while it is packed, see packed.go
	*Electorate         // shared
	Rules       *Rules  // the electorate's, or others since they have changed; shared, too
	cohort      *cohort // in which the leader rests; nil: it does not rest
	engine      Engine
	name        string
	alarm       uint32 // number of the alarm that is set
	working     uint32 // calls of the engine's functions that have not returned, and watchers
	place       int32  // in the list that the group is in, from 1; 0: in none. See places.go
	running     bool   // it takes part: from its start to its end
	extra       uint8  // by how much its weight is more than the usual 1, see weight.go
	notes       flags  // the node's
	life        life   // the intake's
}

// What a node notes of a group.
const (
	toLook  flags = 1 << iota // its ability is to be looked at when the turn ends
	toPack                    // it is among those that may be packed
	isLed                     // it is counted among those that this node leads
	toMove                    // it is handed over, or waits for that, because the node drains
	used                      // something has happened to it since the node last thought of packing it
	leaving                   // it ends as soon as it does not lead
)

// flags are up to eight things that are so or not.
type flags uint8

func (f flags) has(one flags) bool { return f&one != 0 }

func (f *flags) set(one flags, is bool) {
	if *f &^= one; is {
		*f |= one
	}
}

// transient is what most groups do not have, or not for long.
type transient struct {
	busy      *pending      // the step that waits for the ledger or the disk
	waits     time.Duration // since when, for the ledger
	queue     []waiting     // inputs that came while a step waited
	first     int           // of these, the next one
	messages  int           // how many of them are messages
	orders    []*Order      // to hand over, that stand
	awaitHeir []*Order      // that have been carried out, and wait until the heir leads
	attempt   *attempt      // the handover under way
	err       error         // that has ended the group
	place     time.Duration // until when its campaign keeps others waiting at most; 0: it does not. See muster.go
	repeats   time.Duration // how long it may ask again without waiting itself; 0: its campaign is over
	vain      time.Duration // when the alarm of its campaign was due, if that waits among those in which others have a leader
}

// pending is a step on its way, with its purpose.
type pending struct {
	Step
	purpose
}

// waiting is an input that no step has begun with yet.
type waiting struct {
	Input
	purpose
}

// purpose is what an input is for.
type purpose struct {
	from    string    // the node that is answered
	offered *rpc.Bond // by the heartbeat that is the input; nil: none
	then    func()    // called when it is done, if not nil
	order   *Order    // that it carries out, if any
}

// maxQueued bounds the messages that wait for a group's disk.
const maxQueued = 256

// NewGroup is a group that has not started.
func NewGroup(e *Electorate, name string, engine Engine) Group {
	if e.Rules.Maintenance == nil {
		e.Rules.Maintenance = &e.maintenance
	}
	return Group{Electorate: e, Rules: &e.Rules, name: name, engine: engine}
}

// Restore sets the group up with what its store has kept, and compares that with the ledger, which
// ends at end. It comes before Node.Start. If the store did not know the group, the group's Record
// must be saved before the start.
func (g *Group) Restore(r memberstate.Record, known bool, end memberstate.Position) error {
	if known && r.Voters != g.Members.Digest() {
		return Say(ErrOtherVoters, "the store knows group %q with other voters: a quorum of the old ones may have elected someone", g.name)
	}
	vote := g.Members.Seat(r.Vote)
	if vote != memberstate.Nobody && !g.Rules.Voters.Has(vote) {
		return Say(ErrOtherVoters, "the store knows group %q with other voters: it voted for %q", g.name, r.Vote)
	}
	if known && end.Term > r.Term {
		return Say(ErrStoreBehindLedger, "the store is older than the ledger of group %q: the ledger ends in term %d, the store knows terms up to %d",
			g.name, end.Term, r.Term)
	}
	asked := r.Term
	hard := memberstate.HardState{Term: r.Term, Vote: vote, Promise: r.Promise}
	if !known && end.Term > 0 {
		// A new member beside an existing ledger: it has voted in no term that the ledger has
		// seen the end of.
		hard.Term = end.Term
	}
	g.desk = &desk{Session: NewSession(g.Rules, hard, end, asked)}
	g.lot = lotOf(g.name)
	return nil
}

// Engine is the one that the group was made with.
func (g *Group) Engine() Engine { return g.engine }

// Leaves says whether the group ends as soon as it does not lead.
func (g *Group) Leaves() bool { return g.notes.has(leaving) }

// Name is the group's.
func (g *Group) Name() string { return g.name }

// Record is the group's hard state as a store keeps it.
func (g *Group) Record() memberstate.Record {
	s := g.State()
	return memberstate.Record{
		Group: g.name, Term: s.Term, Vote: g.Members.ID(s.Vote), Promise: s.Promise, Voters: g.Members.Digest(),
	}
}

// busy is the step that waits, if any.
func (g *Group) busy() *pending {
	if x := g.transient(); x != nil {
		return x.busy
	}
	return nil
}

// Waits says whether a step of the group waits, for the ledger or for the disk.
func (g *Group) Waits() bool { return g.busy() != nil }

// Queued is how much waits for the step under way, and how many messages are among it.
func (g *Group) Queued() (all, messages int) {
	x := g.transient()
	if x == nil {
		return 0, 0
	}
	return len(x.queue) - x.first, x.messages
}

// add keeps an input until the step under way is done. The queue is bounded: Deliver bounds the
// messages, each order belongs to a caller who waits, and of the few other kinds of input equal ones
// are kept once. That changes nothing: hearing the same leader twice, or being told twice to stand,
// does what once does.
func (x *transient) add(p *waiting) {
	if p.Kind == Receive {
		x.messages++
	} else if i := slices.IndexFunc(x.queue[x.first:], p.isSame); i >= 0 {
		i += x.first
		x.queue[i].then = both(x.queue[i].then, p.then)
		return
	}
	x.queue = append(x.queue, *p)
}

// isSame says whether the two are the same input, and no order. Of two equal inputs, both are orders or neither is.
func (p *waiting) isSame(other waiting) bool { return p.Input == other.Input && p.order == nil }

// both calls two functions, either of which may be nil.
func both(first, second func()) func() {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func() {
		first()
		second()
	}
}

// next takes out the input that has waited longest.
func (x *transient) next(p *pending) {
	next := &x.queue[x.first]
	if next.Kind == Receive {
		x.messages--
	}
	p.Input = next.Input
	p.purpose = next.purpose
	*next = waiting{}
	x.first++
	x.rewind()
}

// drop takes out the input that would carry out an order, if it waits.
func (x *transient) drop(o *Order) {
	rest := slices.DeleteFunc(x.queue[x.first:], func(p waiting) bool { return p.order == o })
	x.queue = x.queue[:x.first+len(rest)]
	x.rewind()
}

// rewind has a queue begin anew when it is empty. A group with a queue that has a length neither rests nor is packed.
func (x *transient) rewind() {
	if x.first == len(x.queue) {
		x.queue, x.first = x.queue[:0], 0
	}
}
