// The encoding of messages, and the checks on arrival.

package grpcrpc

import (
	"fmt"
	"math"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// encodeBatch makes the packet for a batch.
func encodeBatch(batch []rpc.Message) *electorpb.Packet {
	messages := make([]*electorpb.Message, len(batch))
	for i := range batch {
		messages[i] = encode(&batch[i])
	}
	return &electorpb.Packet{Content: &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: messages}}}
}

func encode(m *rpc.Message) *electorpb.Message {
	return &electorpb.Message{
		Group: m.Group, Leader: m.Leader, Voters: m.Voters,
		Kind: electorpb.Kind(m.Kind), Result: electorpb.Result(m.Result), Mark: electorpb.Mark(m.Mark),
		Promised: m.Promised, Round: m.Round, Term: uint64(m.Term), Asked: uint64(m.Asked),
		LedgerTerm: uint64(m.Ledger.Term), LedgerIndex: m.Ledger.Index,
		LeaseNanos: int64(m.Lease), RoundTripNanos: int64(m.RoundTrip), Unable: uint64(m.Unable),
		DetectionMicros: microsUp(m.Detection), Bond: encodeBond(m.Bond),
	}
}

// microsUp rounds a duration up to microseconds.
func microsUp(d time.Duration) uint64 {
	up := uint64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		up++
	}
	return up
}

// decode reads a message from a peer. It refuses messages that no elector sends; the elector
// checks the rest.
func decode(w *electorpb.Message, from, to string) (rpc.Message, error) {
	kind, result, mark := rpc.Kind(w.Kind), rpc.Result(w.Result), rpc.Mark(w.Mark)
	switch {
	case !fitsByte(w.Kind) || !kind.Valid():
		return rpc.Message{}, fmt.Errorf("the kind is %d", w.Kind)
	case !fitsByte(w.Result) || !result.Answers(kind):
		return rpc.Message{}, fmt.Errorf("the result %d does not go with the kind %v", w.Result, kind)
	case !fitsByte(w.Mark) || !mark.Valid():
		return rpc.Message{}, fmt.Errorf("the mark is %d", w.Mark)
	case w.Group == "" || len(w.Group) > rpc.MaxGroupLength:
		return rpc.Message{}, fmt.Errorf("the group's name has %d bytes", len(w.Group))
	case len(w.Leader) > memberstate.MaxIDLength:
		return rpc.Message{}, fmt.Errorf("the leader's id has %d bytes", len(w.Leader))
	case w.DetectionMicros > math.MaxInt64/uint64(time.Microsecond):
		return rpc.Message{}, fmt.Errorf("the detection time has %d microseconds", w.DetectionMicros)
	case w.LeaseNanos < 0 || w.RoundTripNanos < 0:
		return rpc.Message{}, fmt.Errorf("a duration is negative: lease %d, round trip %d", w.LeaseNanos, w.RoundTripNanos)
	}
	return rpc.Message{
		Group: w.Group, From: from, To: to, Leader: w.Leader, Voters: w.Voters, Bond: decodeBond(w.Bond),
		Body: rpc.Body{
			Kind: kind, Result: result, Mark: mark, Promised: w.Promised,
			Round: w.Round, Term: memberstate.Term(w.Term), Asked: memberstate.Term(w.Asked),
			Ledger: memberstate.Position{Term: memberstate.Term(w.LedgerTerm), Index: w.LedgerIndex},
			Lease:  time.Duration(w.LeaseNanos), RoundTrip: time.Duration(w.RoundTripNanos), Unable: memberstate.Set(w.Unable),
			Detection: time.Duration(w.DetectionMicros) * time.Microsecond,
		},
	}, nil
}

// fitsByte says whether a number fits into a byte, so that the conversion does not truncate it.
func fitsByte[E ~int32](e E) bool { return e >= 0 && e <= math.MaxUint8 }

func hello(from, to string, incarnation uint64) *electorpb.Packet {
	return &electorpb.Packet{Content: &electorpb.Packet_Hello{
		Hello: &electorpb.Hello{From: from, To: to, Incarnation: incarnation, Confirms: true, Features: understood},
	}}
}

func confirm() *electorpb.Packet {
	return &electorpb.Packet{Content: &electorpb.Packet_Confirm{Confirm: new(electorpb.Confirm)}}
}
