// Any inputs in any order: no panic, no illegal transition, no term
// that falls, no vote that changes.

package check

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// FuzzMachine gives one machine inputs made of the fuzzer's bytes.
func FuzzMachine(f *testing.F) {
	f.Add([]byte("a seed that is a few inputs long, to begin with something"), true)
	f.Add(make([]byte, 400), false)
	f.Fuzz(func(t *testing.T, tape []byte, leases bool) {
		voters := memberstate.SetOf(1, 2, 3)
		r := &protocol.Rules{Self: 1, Voters: voters, All: voters, Timing: protocol.DefaultTiming(), PreVote: true, Ranks: true}
		if leases {
			r.Lease = r.Timing.Detection()
		}
		m, alarm := protocol.NewMachine(r, memberstate.HardState{Term: 3}), uint32(0)
		x := &protocol.Step{Input: protocol.Input{Kind: protocol.Start}}
		for i := 0; ; i++ {
			before := m
			m.Step(r, &x.Input, &x.Output)
			for in := &x.Input; x.Output.NeedLedger; m.Step(r, in, &x.Output) {
				in.HasLedger, in.LedgerTerm = true, x.Output.LedgerTerm
				in.Ledger = memberstate.Position{Term: min(3, x.Output.LedgerTerm), Index: uint64(i)}
			}
			for broken, what := range Step(r, &before.State, &m, x).All() {
				t.Fatalf("%v: %s, from %+v to %+v", broken, what, before, m)
			}
			if m.Role == memberstate.Leader && before.Role != memberstate.Leader && m.Term == before.Term && before.Spent {
				t.Fatal("it leads a term that is spent")
			}
			if x.Output.Alarm.Number != 0 {
				alarm = x.Output.Alarm.Number
			}
			if len(tape) < inputBytes {
				return
			}
			x.Input, tape = inputFrom(tape[:inputBytes], &m, alarm), tape[inputBytes:]
		}
	})
}

// inputBytes is how much of the tape one input takes.
const inputBytes = 20

// inputFrom makes an input of a stretch of tape. Terms and rounds are near the
// machine's own, or nothing would ever fit.
func inputFrom(tape []byte, m *protocol.Machine, alarm uint32) protocol.Input {
	near := func(b byte) memberstate.Term { return m.Term + memberstate.Term(b%8) - 3 }
	in := protocol.Input{
		Kind:   protocol.InputKind(tape[0] % byte(protocol.Served+2)),
		Number: alarm + uint32(tape[1]%2),
		Seat:   memberstate.Seat(tape[2] % 5),
		Term:   near(tape[3]),
		Message: protocol.Message{
			From:   memberstate.Seat(tape[4] % 5),
			Leader: memberstate.Seat(tape[5] % 5),
			Body: rpc.Body{
				Kind:     rpc.Kind(tape[6] % 8),
				Result:   rpc.Result(tape[7] % 24),
				Mark:     rpc.Mark(tape[8] % 5),
				Promised: tape[9]%2 == 0,
				Round:    m.Ballot() + uint32(tape[10]%4) - 1,
				Term:     near(tape[11]),
				Asked:    near(tape[12]),
				Ledger:   memberstate.Position{Term: near(tape[13]), Index: uint64(tape[14])},
				Lease:    time.Duration(tape[15]) * time.Millisecond,
			},
		},
		RoundTrip: time.Duration(int8(tape[16])) * time.Millisecond,
	}
	if tape[17]%2 == 0 {
		in.Message.Round = m.Beat() - uint32(tape[18]%4)
	}
	if tape[17] == 255 {
		in.Message.Term = memberstate.Term(binary.BigEndian.Uint16(tape[18:])) << 48
	}
	return in
}
