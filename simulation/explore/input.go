// The inputs of a node.

package explore

import (
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// inputID numbers an input; equal inputs have the same number.
type inputID uint32

type input struct {
	kind       inputKind
	message    messageID        // delivered
	seat       memberstate.Seat // of a transfer, or of a lost connection
	staleIndex int              // of stale: its place in the list of those
}

type inputKind uint8

const (
	none inputKind = iota
	alarmRings
	crashes
	delivered
	stale
	writes
	stands
	handsOver
	resigns
	losesConnection
	withdrawsTransfer    // an order to hand over is withdrawn
	withdrawsResignation // an order to resign is withdrawn
	leaseExpires
	leadReturns   // from Lead
	pauseDone     // its engine has paused its writes
	pauseFails    // its engine could not
	latePauseDone // its engine has paused them for an earlier handover
	clockTicks    // time passes, for all nodes
	isAble        // nothing keeps it from leading, in the order of inabilities
	isUnwell      // something does, but its engine answers
	hangs         // something of it hangs
	recovers      // nothing keeps it from leading, but not for long enough yet
)

func (m *model) input(in input) inputID {
	id, ok := m.byInput[in]
	if !ok {
		id = m.registry.input(in)
		m.sync()
	}
	return id
}

// delivery is the arrival of a message.
func (m *model) delivery(id messageID) inputID {
	for len(m.deliveries) <= int(id) {
		m.deliveries = append(m.deliveries, m.input(input{kind: delivered, message: messageID(len(m.deliveries))}))
	}
	return m.deliveries[id]
}

// ownInputs are the inputs of a node besides messages, and besides a crash where there are leases
// (successors.go).
func (m *model) ownInputs(i int) []inputID {
	own := []inputID{m.input(input{kind: alarmRings})}
	if !m.bounds.NoCrash && !m.bounds.Leases {
		own = append(own, m.crashInput)
	}
	if m.bounds.Leases {
		own = append(own, m.input(input{kind: leaseExpires}))
	}
	if m.bounds.Entries > 0 {
		own = append(own, m.input(input{kind: writes}))
	}
	if !m.bounds.NoTransfer {
		own = append(own, m.input(input{kind: stands}), m.input(input{kind: resigns}))
	}
	if m.bounds.Withdrawals {
		own = append(own, m.input(input{kind: leadReturns}), m.input(input{kind: withdrawsTransfer}), m.input(input{kind: withdrawsResignation}))
	}
	if m.bounds.Pauses {
		own = append(own, m.input(input{kind: pauseDone}), m.input(input{kind: pauseFails}), m.input(input{kind: latePauseDone}))
	}
	if m.bounds.Ability {
		for kind := isAble; kind <= recovers; kind++ {
			own = append(own, m.input(input{kind: kind}))
		}
	}
	for other := range m.bounds.Members {
		if other == i {
			continue
		}
		if !m.bounds.NoTransfer {
			own = append(own, m.input(input{kind: handsOver, seat: seatOf(other)}))
		}
		if !m.bounds.NoHints {
			own = append(own, m.input(input{kind: losesConnection, seat: seatOf(other)}))
		}
	}
	return own
}

// given translates an input into the session's, for members in other seats. It also returns the input's
// kind and the sender of its message.
func (m *model) given(in input, name renaming) (e protocol.Input, kind inputKind, from memberstate.Seat) {
	switch in.kind {
	case delivered:
		e = protocol.Input{Kind: protocol.Receive, Message: m.messages[in.message].body.Renamed(name.of)}
	case stale:
		e = protocol.Input{Kind: protocol.Receive, Message: m.registry.stale[in.staleIndex].Renamed(name.of)}
	case alarmRings:
		e = protocol.Input{Kind: protocol.Ring, Number: 1}
	case stands:
		e = protocol.Input{Kind: protocol.Stand}
	case handsOver:
		e = protocol.Input{Kind: protocol.Transfer, Seat: name.of(in.seat)}
	case resigns:
		e = protocol.Input{Kind: protocol.Resign}
	case losesConnection:
		e = protocol.Input{Kind: protocol.PeerLost, Seat: name.of(in.seat)}
	case isAble, isUnwell, hangs, recovers:
		e = protocol.Input{Kind: protocol.Ability, Inability: inabilityOf(in.kind)}
	default: // from the engine, or an order
	}
	return e, in.kind, e.Message.From
}

// seatName is the name of a seat for people.
func seatName(s memberstate.Seat) string { return fmt.Sprintf("n%d", int(s)-1) }

// describe is an input in words; name gives the members' names.
func (m *model) describe(in input, name renaming) string {
	called := func(s memberstate.Seat) string { return seatName(name.of(s)) }
	switch in.kind {
	case delivered:
		msg := &m.messages[in.message]
		if msg.engine {
			return describeAppend(msg, called)
		}
		return describeMessage(&msg.body, called)
	case stale:
		return describeMessage(&m.registry.stale[in.staleIndex], called) + ", which is stale"
	case alarmRings:
		return "its alarm rings"
	case crashes:
		return "it crashes, and starts again"
	case writes:
		return "it writes an entry"
	case stands:
		return "an operator orders it to stand"
	case handsOver:
		return "an operator orders it to hand over to " + called(in.seat)
	case resigns:
		return "an operator orders it to resign"
	case withdrawsTransfer:
		return "the order to hand over is withdrawn"
	case withdrawsResignation:
		return "the order to resign is withdrawn"
	case leaseExpires:
		return "its lease has run out"
	case leadReturns:
		return "its engine returns from Lead"
	case pauseDone:
		return "its engine has paused its writes"
	case pauseFails:
		return "its engine cannot pause its writes"
	case latePauseDone:
		return "its engine has paused its writes for an earlier handover"
	case isAble:
		return "it is able to lead"
	case isUnwell:
		return "it is not able to lead, but its engine answers"
	case hangs:
		return "it is not able to lead, because something of it hangs"
	case recovers:
		return "nothing keeps it from leading any more, but not for long enough yet"
	default:
		return "it receives a hint that its connection to " + called(in.seat) + " is lost"
	}
}

func describeAppend(msg *message, called func(memberstate.Seat) string) string {
	return fmt.Sprintf("its engine receives an append of %s in term %d", called(msg.body.From), msg.body.Term)
}

func describeMessage(b *protocol.Message, called func(memberstate.Seat) string) string {
	text := fmt.Sprintf("%v from %s in term %d", b.Kind, called(b.From), b.Term)
	if b.Result != 0 {
		text = fmt.Sprintf("%s, %v to term %d", text, b.Result, b.Asked)
	}
	if b.Mark != 0 {
		text += fmt.Sprintf(" (%v)", b.Mark)
	}
	return text
}
