// Whatever arrives, in whatever order: no panic, no illegal transition, no term
// that falls, no vote that changes.

package protocol

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// FuzzMachine feeds one machine inputs that are made of the fuzzer's bytes.
func FuzzMachine(f *testing.F) {
	f.Add([]byte("a seed that is a few inputs long, to begin with something"), true)
	f.Add(make([]byte, 400), false)
	f.Fuzz(func(t *testing.T, tape []byte, leases bool) {
		r := benchRules()
		if leases {
			r.Lease = r.Timing.Detection()
		}
		m := NewMachine(r, memberstate.HardState{Term: 3})
		out := new(Output)
		m.Step(r, &Input{Kind: Start}, out)
		for i := range len(tape) / inputBytes {
			in := inputFrom(tape[i*inputBytes:][:inputBytes], &m)
			before := m
			m.Step(r, &in, out)
			for out.NeedLedger {
				in.HasLedger, in.LedgerTerm = true, out.LedgerTerm
				in.Ledger = memberstate.Position{Term: min(3, out.LedgerTerm), Index: uint64(i)}
				m.Step(r, &in, out)
			}
			checkAlone(t, &before, &m, out)
		}
	})
}

// inputBytes is how much of the tape one input takes.
const inputBytes = 20

// inputFrom makes an input of a stretch of tape. Terms and rounds are near the
// machine's own, or nothing would ever fit.
func inputFrom(tape []byte, m *Machine) Input {
	near := func(b byte) memberstate.Term { return m.Term + memberstate.Term(b%8) - 3 }
	in := Input{
		Kind:   InputKind(tape[0] % byte(Served+2)),
		Number: m.alarm + uint32(tape[1]%2),
		Seat:   memberstate.Seat(tape[2] % 5),
		Term:   near(tape[3]),
		Message: Message{
			From:   memberstate.Seat(tape[4] % 5),
			Leader: memberstate.Seat(tape[5] % 5),
			Body: rpc.Body{
				Kind:     rpc.Kind(tape[6] % 8),
				Result:   rpc.Result(tape[7] % 24),
				Mark:     rpc.Mark(tape[8] % 5),
				Promised: tape[9]%2 == 0,
				Round:    m.ballot + uint32(tape[10]%4) - 1,
				Term:     near(tape[11]),
				Asked:    near(tape[12]),
				Ledger:   memberstate.Position{Term: near(tape[13]), Index: uint64(tape[14])},
				Lease:    time.Duration(tape[15]) * time.Millisecond,
			},
		},
		RoundTrip: time.Duration(int8(tape[16])) * time.Millisecond,
	}
	if tape[17]%2 == 0 {
		in.Message.Round = m.office.beat - uint32(tape[18]%4)
	}
	if tape[17] == 255 {
		in.Message.Term = memberstate.Term(binary.BigEndian.Uint16(tape[18:])) << 48
	}
	return in
}

// checkAlone checks what can be seen at one machine.
func checkAlone(t *testing.T, before, m *Machine, out *Output) {
	t.Helper()
	switch {
	case out.Err != nil:
		t.Fatal(out.Err)
	case m.Term < before.Term:
		t.Fatalf("the term fell from %d to %d", before.Term, m.Term)
	case m.Term == before.Term && before.Vote != memberstate.Nobody && m.Vote != before.Vote:
		t.Fatalf("the vote changed from %d to %d", before.Vote, m.Vote)
	case m.HardState != before.HardState && !out.Save:
		t.Fatal("the hard state changed and is not saved")
	case m.Role == memberstate.Leader && m.Vote != 1:
		t.Fatal("it leads without its own vote")
	case m.Role == memberstate.Leader && before.Role != memberstate.Leader && m.Term == before.Term && before.Spent:
		t.Fatal("it leads a term that is spent")
	}
}
