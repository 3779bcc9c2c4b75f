// The facts: all that the checks may look at. The world writes them down, and each check is a
// function of them and of what the checks remember.

package check

import (
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/ledger"
)

// Node is a process, over all its incarnations.
type Node struct {
	Index       int
	Seat        memberstate.Seat
	Alive       bool
	Incarnation uint32
	Paused      bool
	Hung        bool          // its save never returns
	Stuck       bool          // nor does any save of its disk for now
	Sluggish    time.Duration // how much longer everything takes
	Quick       int64         // since when it does not, if it ever did
	Saving      int64         // since when a save has been under way; 0: there is none
	Judging     int64         // since when its function that judges all engines has been running; 0: it is not
	Leaving     bool          // it was told to drain, and not to serve since
	Pace        int           // the most handovers that it may have under way because it drains
	Balances    bool          // it was told to balance
	Protected   int64         // since when it has been protected; 0: it is not
	// JudgedAsleep says that this function returned last while the process stood still, which has not heard of it then.
	JudgedAsleep bool

	exchanged exchanged
	received  int64 // when it took a message last
	quiet     int64 // until when none had come for a while, the first time in the newest question to that function
}

// Engine is the storage engine that a member's group has at its node.
type Engine struct {
	Ledger   ledger.Ledger        // durable at once: engines sync before they acknowledge
	Told     memberstate.Position // where it said last that its ledger ends
	Leading  memberstate.Term     // the term in which it serves; 0: it does not
	Running  memberstate.Term     // the term of a Lead that has not returned; 0: none
	Served   memberstate.Term     // the term that Lead was called for last, by this process; 0: none
	Stopped  bool                 // writes are paused for a handover
	Slow     int64                // the most nanoseconds that it takes to do what it is asked
	Hangs    bool                 // it does not do some of what it is asked
	Mute     int64                // since when it has not vouched for itself although it should; 0: it does
	Unwell   bool                 // it has said last that it is not well
	Barred   bool                 // its member was ordered not to lead
	Asking   int64                // since when its LedgerEnd has been running; 0: it is not
	Answered int64                // when a LedgerEnd returned last that had taken time
	Pausing  int64                // since when its Pause has been running; 0: it is not
	Ending   int64                // since when its Lead has been running although it was told to return
}

// Lease is what a leader holds until a true time.
type Lease struct {
	Term  memberstate.Term // 0: none
	Until int64
}

// Member is one group at a node, over all incarnations of the node.
type Member struct {
	Node    *Node
	Place   int // of its group
	Rules   *protocol.Rules
	Group   *protocol.Group
	Shown   protocol.View          // by this incarnation
	Durable *memberstate.HardState // what the disk has
	Engine  *Engine
	Lease   Lease

	// Of the step under way.

	Input    protocol.InputKind
	Local    time.Duration    // when it begins, by the node's clock, ...
	Detects  time.Duration    // ... and the detection time then: it may change while the step waits
	Saved    time.Duration    // when its disk kept its state last, by the node's clock
	Received int64            // when a message arrived for it last, and was taken at once
	Alarm    uint32           // the number of the alarm that is set
	Early    bool             // the step begins with an alarm that rings before that is due: it was replaced
	Stale    protocol.Machine // if it is early, the machine before the step

	// What the checks remember of it.

	asking   asking
	handing  handing
	ability  ability
	campaign campaign
	said     memberstate.HardState // what it has spoken with last, in any incarnation
	accepted memberstate.Term      // the largest term of an append in its ledger, in any incarnation
}

// Leads says whether the member considers itself the leader.
func (n *Member) Leads() bool { return n.Group.State().Role == memberstate.Leader && !n.Shown.Stopped }
