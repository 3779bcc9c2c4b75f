// The inputs of a node.

package explore

import (
	"fmt"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// inputID names an input; equal inputs have the same.
type inputID uint32

type input struct {
	kind    inputKind
	message messageID        // delivered
	seat    memberstate.Seat // of a transfer, or of a lost connection
	late    int              // of stale: its place in the list of those
}

type inputKind uint8

const (
	none inputKind = iota
	rings
	crashes
	delivered
	stale
	writes
	stands
	handsOver
	resigns
	loses
	callsOff // an order to hand over is withdrawn
	stays    // an order to resign is withdrawn
	lapses
	returns // from Lead
	pauses  // its engine has paused its writes
	fails   // its engine could not
	lags    // its engine has paused them for an earlier handover
	passes  // time; it happens to all
)

func (m *model) input(in input) inputID {
	id, ok := m.byInput[in]
	if !ok {
		id = m.registry.input(in)
		m.learn()
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
	own := []inputID{m.input(input{kind: rings})}
	if !m.bounds.NoCrash && !m.bounds.Leases {
		own = append(own, m.crashing)
	}
	if m.bounds.Leases {
		own = append(own, m.input(input{kind: lapses}))
	}
	if m.bounds.Entries > 0 {
		own = append(own, m.input(input{kind: writes}))
	}
	if !m.bounds.NoTransfer {
		own = append(own, m.input(input{kind: stands}), m.input(input{kind: resigns}))
	}
	if m.bounds.Withdrawals {
		own = append(own, m.input(input{kind: returns}), m.input(input{kind: callsOff}), m.input(input{kind: stays}))
	}
	if m.bounds.Pauses {
		own = append(own, m.input(input{kind: pauses}), m.input(input{kind: fails}), m.input(input{kind: lags}))
	}
	for other := range m.bounds.Members {
		if other == i {
			continue
		}
		if !m.bounds.NoTransfer {
			own = append(own, m.input(input{kind: handsOver, seat: seatOf(other)}))
		}
		if !m.bounds.NoHints {
			own = append(own, m.input(input{kind: loses, seat: seatOf(other)}))
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
		e = protocol.Input{Kind: protocol.Receive, Message: m.registry.stale[in.late].Renamed(name.of)}
	case rings:
		e = protocol.Input{Kind: protocol.Ring, Number: 1}
	case stands:
		e = protocol.Input{Kind: protocol.Stand}
	case handsOver:
		e = protocol.Input{Kind: protocol.Transfer, Seat: name.of(in.seat)}
	case resigns:
		e = protocol.Input{Kind: protocol.Resign}
	case loses:
		e = protocol.Input{Kind: protocol.PeerLost, Seat: name.of(in.seat)}
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
		return describeMessage(&m.registry.stale[in.late], called) + ", which is stale"
	case rings:
		return "its alarm rings"
	case crashes:
		return "it crashes, and starts again"
	case writes:
		return "it writes an entry"
	case stands:
		return "it is told to stand"
	case handsOver:
		return "it is told to hand over to " + called(in.seat)
	case resigns:
		return "it is told to resign"
	case callsOff:
		return "its order to hand over is withdrawn"
	case stays:
		return "its order to resign is withdrawn"
	case lapses:
		return "its lease has run out"
	case returns:
		return "its engine returns from Lead"
	case pauses:
		return "its engine has paused its writes"
	case fails:
		return "its engine cannot pause its writes"
	case lags:
		return "its engine has paused its writes for an earlier handover"
	default:
		return "it is told that its connection to " + called(in.seat) + " is lost"
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
