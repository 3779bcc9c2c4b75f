// Decoding. The tests are inside the package, because malformed messages cannot be sent in another
// way.

package grpcrpc

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

func answer() *electorpb.Message {
	return encode(&rpc.Message{Group: "g", Leader: "n1", Voters: 5, Body: rpc.Body{
		Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyVoted, Mark: rpc.Won, Round: 3, Term: 7, Asked: 6,
		Ledger: memberstate.Position{Term: 2, Index: 9}, Lease: time.Second, RoundTrip: time.Millisecond,
	}})
}

func TestTheErrorOfAMalformedMessageNamesTheField(t *testing.T) {
	long := string(make([]byte, 256))
	for says, spoil := range map[string]func(*electorpb.Message){
		"the kind is 0":                   func(m *electorpb.Message) { m.Kind = 0 },
		"the kind is 258":                 func(m *electorpb.Message) { m.Kind = 258 }, // a kind, if cut to a byte
		"the kind is -254":                func(m *electorpb.Message) { m.Kind = -254 },
		"does not go with the kind":       func(m *electorpb.Message) { m.Result = electorpb.Result_RESULT_SUCCESS },
		"the result 257 does":             func(m *electorpb.Message) { m.Result = 257 },
		"the mark is 5":                   func(m *electorpb.Message) { m.Mark = 5 },
		"the mark is 256":                 func(m *electorpb.Message) { m.Mark = 256 },
		"the group's name has 0 bytes":    func(m *electorpb.Message) { m.Group = "" },
		"the group's name has 256 bytes":  func(m *electorpb.Message) { m.Group = long },
		"the leader's id has 256 bytes":   func(m *electorpb.Message) { m.Leader = long },
		"a duration is negative: lease -": func(m *electorpb.Message) { m.LeaseNanos = -1 },
		"9223372036854776 microseconds":   func(m *electorpb.Message) { m.DetectionMicros = 9223372036854776 }, // more than a Duration has
		"round trip -1":                   func(m *electorpb.Message) { m.RoundTripNanos = -1 },
	} {
		m := answer()
		spoil(m)
		_, err := decode(m, "n0", "n2")
		assert.ErrorContains(t, err, says)
	}
	_, err := decode(answer(), "n0", "n2")
	assert.NoError(t, err)
}

// A detection time must not become shorter on the wire: followers that wait for less long than their
// leader expects take it for dead.
func TestADetectionTimeIsRoundedUp(t *testing.T) {
	for sent, arrives := range map[time.Duration]time.Duration{
		0: 0, 1: time.Microsecond, time.Microsecond: time.Microsecond, time.Microsecond + 1: 2 * time.Microsecond,
		math.MaxInt64 / 1000 * 1000: math.MaxInt64 / 1000 * 1000,
	} {
		m, err := decode(encode(&rpc.Message{Group: "g", Body: rpc.Body{Kind: rpc.Heartbeat, Detection: sent}}), "a", "b")
		assert.NoError(t, err)
		assert.Equal(t, arrives, m.Detection)
	}
}

// A leader counts on its followers for the whole lease.
func TestALeaseArrivesToTheNanosecond(t *testing.T) {
	sent := rpc.Body{Kind: rpc.Heartbeat, Lease: time.Second - 1, RoundTrip: time.Millisecond + 1}
	m, err := decode(encode(&rpc.Message{Group: "g", Body: sent}), "a", "b")
	assert.NoError(t, err)
	assert.Equal(t, sent, m.Body)
}

// FuzzDecode: a decoded message is valid, and encoding and decoding it again does not change it.
func FuzzDecode(f *testing.F) {
	for _, m := range []*electorpb.Message{answer(), {}, {Kind: 3, Group: "g", LeaseNanos: 1, DetectionMicros: 1}} {
		wire, err := proto.Marshal(&electorpb.Packet{Content: &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: []*electorpb.Message{m}}}})
		assert.NoError(f, err)
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var p electorpb.Packet
		if proto.Unmarshal(wire, &p) != nil {
			return
		}
		for _, w := range p.GetBatch().GetMessages() {
			m, err := decode(w, "a", "b")
			if err != nil {
				continue
			}
			assert.True(t, m.Kind.Valid() && m.Mark.Valid() && m.Result.Answers(m.Kind))
			again, err := decode(encode(&m), "a", "b")
			assert.NoError(t, err)
			assert.Equal(t, m, again)
		}
	})
}
