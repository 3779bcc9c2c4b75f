// Carrying out what a step asks for, in the one order that is safe. The Host,
// the simulator and the explorer all do it by this code, and differ only in
// where its effects go.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Execution is one input on its way through a machine. It may have to wait, for
// the end of the ledger and then for the disk; until it is done the machine must
// not be given another input. It is a value, like the machine.
type Execution struct {
	Input  Input
	Output Output
	need   Need
}

// MachineEffects are where an Execution takes effect. Each method is called by the
// Execution itself, in the order that they are listed in here.
type MachineEffects interface {
	// Withdraw tells the engine that this member leads no more. It is called
	// before the disk is waited for: a slow disk must not prolong an office.
	Withdraw()
	// Publish makes known what the machine's State is now.
	Publish()
	// Reply answers the message that was the input.
	Reply(m *Message)
	// Send sends a message to each of a set of members.
	Send(to memberstate.Set, m *Message)
	// Arm replaces the member's alarm.
	Arm(a Alarm)
	// Judge counts a round of this member's that has ended.
	Judge(asked rpc.Mark, judged Judgement)
	// Drop counts an input that was ignored.
	Drop(why Drop)
}

// Begin gives the machine x.Input.
func (x *Execution) Begin(m *Machine, r *Rules, fx MachineEffects) Need {
	m.Step(r, &x.Input, &x.Output)
	switch {
	case x.Output.NeedLedger:
		x.need = NeedLedger
	case x.Output.Err != nil:
		x.need = NeedStop
	default:
		if x.Output.Lost {
			fx.Withdraw()
		}
		if x.Output.Save {
			x.need = NeedSave
		} else {
			x.finish(fx)
		}
	}
	return x.need
}

// Ledger goes on after NeedLedger.
func (x *Execution) Ledger(m *Machine, r *Rules, fx MachineEffects, end memberstate.Position) Need {
	if x.need != NeedLedger {
		return x.need
	}
	x.Input.HasLedger, x.Input.LedgerTerm, x.Input.Ledger = true, x.Output.LedgerTerm, end
	return x.Begin(m, r, fx)
}

// Saved goes on after NeedSave. Whoever could not save must stop instead.
func (x *Execution) Saved(fx MachineEffects) Need {
	if x.need == NeedSave {
		x.finish(fx)
	}
	return x.need
}

// finish does what had to wait for the disk. What changed is published before
// anything is sent, so that nobody hears of a vote while the engine still
// believes in the office that it ended.
func (x *Execution) finish(fx MachineEffects) {
	x.need = NeedNothing
	out := &x.Output
	if out.Changed {
		fx.Publish()
	}
	if out.Replied {
		fx.Reply(&out.Reply)
	}
	if out.To != 0 {
		fx.Send(out.To, &out.Send)
	}
	if out.Alarm.Number != 0 {
		fx.Arm(out.Alarm)
	}
	if out.Ended {
		fx.Judge(out.Asked, out.Judged)
	}
	if out.Dropped != 0 {
		fx.Drop(out.Dropped)
	}
}
