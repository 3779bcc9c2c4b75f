// Package trace is a run in every detail: what happened at each node and to each message, and
// what led to a violation. The simulator and the explorer write traces; package picture draws
// them, and [Trace.WriteText] prints them. A trace knows nothing of the world that it was
// written in.
package trace

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/invariant"
)

// Trace is a run in every detail. Where nodes have several groups, a trace is of one of them: its
// moments, messages and bands are those of the group's members, and of their nodes. Times are true
// times since the beginning of the run; nodes are numbered from 0, and the numbers -1 and nil stand
// for nobody and nothing.
type Trace struct {
	Scenario string        // the text of what was played, with all that was drawn; empty if there is none
	Group    string        // of several groups, the one that this trace is of; empty if there is only one
	Nodes    int           // how many, observers included
	Voters   int           // how many of them, the first ones, are voters
	Moments  []Moment      // in the order in which they happened
	Passages []Passage     // all messages of the election, in the order in which they were sent
	Bands    []Band        // all that lasted, in the order in which it began
	End      time.Duration // of the run

	// How the run ended.

	Events, Elections uint64               // the steps of machines, and the elections that were won
	Virtual           time.Duration        // how long the run was
	Converged         time.Duration        // how long a healed majority took to have a leader; 0 if that was not demanded
	Violation         *invariant.Violation // nil if all invariants held
	Unmet             []string             // what the scenario expects and the run did not do
	Tallies           []Tally              // what was counted; nil if nothing was
}

// Tally is how often things of one kind happened.
type Tally struct {
	Title, Unit string
	Counts      []Count
}

// Count is how often one of them did.
type Count struct {
	Name  string
	Times uint64
}

// Moment is something that happened at a node: one step of its machine, or something that was done
// to its process.
type Moment struct {
	At   time.Duration
	Node int
	// What says in a few words what happened: "alarm rings", "receives vote from n1".
	What string
	// Kind chooses the mark in a drawing.
	Kind MomentKind
	// Passage is the place in Trace.Passages of the message that was received, or -1.
	Passage int
	// Cause is the place in Trace.Moments of the moment that led to this one, or -1: the sending of
	// the message, the step that set the alarm, or the step that asked for the save.
	Cause int
	// State is the node's state after this.
	State NodeState
	// Past says that this moment led to the violation, see MarkCauses.
	Past bool
}

// MomentKind sorts moments.
type MomentKind uint8

// The kinds of moments.
const (
	Stepped    MomentKind = iota // the machine had an input
	SaveDone                     // the disk has finished, and the step takes effect
	Started                      // an incarnation begins
	Crashed                      // an incarnation ends
	PauseBegan                   // the process stands still
	PauseEnded                   // it goes on
	Struck                       // another fault struck here
	Violated                     // an invariant did not hold
	Ticked                       // its clock ticked, where time is ticks
)

// NodeState is the state of a node at a moment.
type NodeState struct {
	Up, Paused, Saving bool
	Incarnation        uint32
	Role               memberstate.Role
	Term               memberstate.Term
	Vote, Leader       int
	Durable            memberstate.Term // term on the disk
	DurableVote        int              // and the vote in it
	Ledger             memberstate.Position
	Asking             string // the round under way: "", "pre-vote", "vote"
	Accepts            int    // how many members have accepted in it, this node included
	Serving            memberstate.Term
}

// Passage is a message on its way, once: a message that is delivered twice has two.
type Passage struct {
	From, To        int
	Kind            rpc.Kind
	Mark            rpc.Mark
	Result          rpc.Result // in answers
	Term            memberstate.Term
	Round           uint32
	Sent, Arrived   time.Duration // Arrived is zero if it never did
	Fate            Fate
	Again           bool // a second copy, or one from long ago
	SentBy, HeardBy int  // places in Trace.Moments, or -1
}

// Fate says how a message ended.
type Fate uint8

// The fates.
const (
	Underway   Fate = iota // the run ended first
	Delivered              // the node received it
	Lost                   // the network lost it
	Severed                // the link was cut
	Unanswered             // its addressee was down
	Refused                // its addressee refused it as malformed or as a stranger's
)

var fateNames = [...]string{"under way", "delivered", "lost", "link cut", "addressee down", "refused"}

// String names the fate.
func (f Fate) String() string { return fateNames[f] }

// Band is something that lasted.
type Band struct {
	Kind     BandKind
	Node     int      // or -1
	Links    [][2]int // the links that it concerns, by sender and receiver
	From, To time.Duration
	// What is the name of the fault, or what else it was.
	What string
	Term memberstate.Term
	// Local is how long a lease lasted by its holder's clock.
	Local time.Duration
}

// BandKind sorts bands.
type BandKind uint8

// The kinds of bands.
const (
	FaultBand  BandKind = iota // a fault: a cut, a slow disk
	DownBand                   // the process was dead
	PauseBand                  // the process stood still
	SaveBand                   // a save, from the request until it is durable
	LeaseBand                  // a lease
	OfficeBand                 // an engine's Lead
)
