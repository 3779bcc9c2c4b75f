// The encoding of beats and bonds, and the checks on arrival.

package grpcrpc

import (
	"fmt"
	"math"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// understood is what this version understands.
const understood = uint32(electorpb.Feature_FEATURE_BEATS)

// takesBeats says whether the sender of a Hello understands beats. Older versions do not.
func takesBeats(h *electorpb.Hello) bool {
	return h.GetFeatures()&uint32(electorpb.Feature_FEATURE_BEATS) != 0
}

// encodeBeat makes the packet for a beat. The Hello has told the names of both nodes.
func encodeBeat(b *rpc.Beat) *electorpb.Packet {
	w := &electorpb.Beat{
		Incarnation: b.Incarnation, Of: b.Of, Number: b.Number, Answers: b.Answers, Epoch: b.Epoch,
		Released: b.Released, Departed: b.Departed, SeenReleased: b.SeenReleased, SeenDeparted: b.SeenDeparted, Deaf: b.Deaf,
		State: electorpb.NodeState(b.Standing.State), Changes: b.Standing.Changes, Leads: b.Leads, Extra: b.Extra, Capacity: uint32(b.Capacity),
	}
	for i := range b.Leavings {
		of := &b.Leavings[i]
		w.Leavings = append(w.Leavings, &electorpb.Leaving{Group: of.Group, Term: uint64(of.Term), Number: of.Number, Released: of.Released})
	}
	return &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: w}}
}

// decodeBeat reads a beat from a peer. It refuses beats that no node sends.
func decodeBeat(w *electorpb.Beat, from, to string) (*rpc.Beat, error) {
	b := &rpc.Beat{
		From: from, To: to, Session: rpc.Session{Incarnation: w.Incarnation, Of: w.Of},
		Number: w.Number, Answers: w.Answers, Epoch: w.Epoch,
		Released: w.Released, Departed: w.Departed, SeenReleased: w.SeenReleased, SeenDeparted: w.SeenDeparted, Deaf: w.Deaf,
		Standing: rpc.Standing{State: decodeState(w.State), Changes: w.Changes}, Leads: w.Leads, Extra: w.Extra,
		Capacity: uint16(min(w.Capacity, math.MaxUint16)), // later versions may know larger ones
	}
	for _, of := range w.Leavings {
		b.Leavings = append(b.Leavings, rpc.Leaving{Group: of.Group, Term: memberstate.Term(of.Term), Number: of.Number, Released: of.Released})
	}
	if !b.WellFormed() {
		return nil, fmt.Errorf("no node sends such a beat: number %d of incarnation %d, with %d leavings", b.Number, b.Incarnation, len(b.Leavings))
	}
	return b, nil
}

// decodeState reads a node's state. One that this version does not know is that of a node which does not serve.
func decodeState(w electorpb.NodeState) rpc.NodeState {
	if s := rpc.NodeState(w & 255); s.Valid() && electorpb.NodeState(s) == w {
		return s
	}
	return rpc.Starting
}

func encodeBond(b *rpc.Bond) *electorpb.Bond {
	if b == nil {
		return nil
	}
	return &electorpb.Bond{Incarnation: b.Incarnation, Of: b.Of, Count: b.Count, After: b.After, Epoch: b.Epoch, Taken: b.Taken}
}

func decodeBond(w *electorpb.Bond) *rpc.Bond {
	if w == nil {
		return nil
	}
	return &rpc.Bond{Session: rpc.Session{Incarnation: w.Incarnation, Of: w.Of}, Count: w.Count, After: w.After, Epoch: w.Epoch, Taken: w.Taken}
}
