// Encoding and decoding of bonds and beats.

package grpcrpc

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// A Bond arrives, whichever of its fields are set.
func TestEveryBondArrivesAndNoneIsSentWithoutOne(t *testing.T) {
	for _, bond := range []rpc.Bond{
		{}, {Session: rpc.Session{Incarnation: 1}}, {Session: rpc.Session{Of: 1}}, {Count: 1}, {After: 1}, {Epoch: 1}, {Taken: true},
	} {
		m := rpc.Message{Group: "g", Bond: &bond, Body: rpc.Body{Kind: rpc.Heartbeat}}
		again, err := decode(encode(&m), "", "")
		require.NoError(t, err)
		assert.Equal(t, m, again)
	}
	w := encode(&rpc.Message{Group: "g", Body: rpc.Body{Kind: rpc.Heartbeat}})
	assert.Nil(t, w.Bond)
	m, err := decode(w, "a", "b")
	require.NoError(t, err)
	assert.Nil(t, m.Bond)
}

// wireBeat is a beat as it arrives, with two leavings.
func wireBeat() *electorpb.Beat {
	return encodeBeat(&rpc.Beat{
		Session: rpc.Session{Incarnation: 1, Of: 2}, Number: 3, Deaf: true,
		Leads: 4, Extra: 5, Capacity: 200,
		Leavings: []rpc.Leaving{{Group: "g", Term: 1, Number: 1, Released: true}, {Group: "h", Term: 2, Number: 1}},
	}).GetBeat()
}

func TestABeatThatNoNodeSendsIsRefused(t *testing.T) {
	for why, spoil := range map[string]func(*electorpb.Beat){
		"no incarnation":    func(w *electorpb.Beat) { w.Incarnation = 0 },
		"too many leavings": func(w *electorpb.Beat) { w.Leavings = slices.Repeat(w.Leavings[:1], rpc.MaxLeavings+1) },
		"no group":          func(w *electorpb.Beat) { w.Leavings[1].Group = "" },
		"a long group":      func(w *electorpb.Beat) { w.Leavings[1].Group = strings.Repeat("g", rpc.MaxGroupLength+1) },
		"no term":           func(w *electorpb.Beat) { w.Leavings[1].Term = 0 },
		"no number":         func(w *electorpb.Beat) { w.Leavings[0].Number = 0 },
	} {
		w := wireBeat()
		spoil(w)
		b, err := decodeBeat(w, "a", "b")
		require.ErrorContains(t, err, "no node sends such a beat: number 3 of incarnation", why)
		assert.Nil(t, b, why)
	}
	b, err := decodeBeat(wireBeat(), "a", "b")
	require.NoError(t, err)
	assert.True(t, b.Deaf)
	assert.Zero(t, b.Standing, "older versions say nothing of themselves, and serve")
	assert.Equal(t, [2]string{"a", "b"}, [2]string{b.From, b.To}, "the Hellos have named both")
}

func TestAHelloSaysWhetherItsSenderTakesBeats(t *testing.T) {
	assert.True(t, takesBeats(hello("a", "b", 1).GetHello()))
	for features, takes := range map[uint32]bool{0: false, 1: true, 2: false, 3: true} {
		assert.Equal(t, takes, takesBeats(&electorpb.Hello{Features: features}), features)
	}
}

// FuzzDecodeBeat: a decoded beat is well formed, and encoding and decoding it again does not change it.
func FuzzDecodeBeat(f *testing.F) {
	for _, w := range []*electorpb.Beat{
		wireBeat(),
		{},
		{Incarnation: 1},
		{Incarnation: 1, Leavings: []*electorpb.Leaving{{}}},
		{Incarnation: 1, Leads: math.MaxUint32, Extra: math.MaxUint32, Capacity: math.MaxUint32},
	} {
		wire, err := proto.Marshal(&electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: w}})
		require.NoError(f, err)
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var p electorpb.Packet
		if proto.Unmarshal(wire, &p) != nil || p.GetBeat() == nil {
			return
		}
		b, err := decodeBeat(p.GetBeat(), "a", "b")
		if err != nil {
			return
		}
		assert.True(t, b.WellFormed())
		assert.LessOrEqual(t, len(b.Leavings), count(wire, beatField, leavingsField))
		again, err := decodeBeat(encodeBeat(b).GetBeat(), "a", "b")
		assert.NoError(t, err)
		assert.Equal(t, b, again)
	})
}

// What is usual takes no room, so a cluster that knows nothing of weights and capacities does not pay for them.
func TestABeatIsAsLongAsBeforeIfAllIsUsual(t *testing.T) {
	length := func(b *rpc.Beat) int { return proto.Size(encodeBeat(b)) }
	b := rpc.Beat{Session: rpc.Session{Incarnation: 1, Of: 2}, Number: 3, Leads: 4}
	usual := length(&b)
	w := &electorpb.Beat{Incarnation: 1, Of: 2, Number: 3, Leads: 4}
	assert.Equal(t, proto.Size(&electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: w}}), usual)
	b.Extra, b.Capacity = 5, 50
	assert.Equal(t, usual+5, length(&b))
}

// Only a later version can send it, and its node is no less there for that.
func TestACapacityThatIsTooLargeIsTheLargest(t *testing.T) {
	w := wireBeat()
	w.Capacity = math.MaxUint16 + 1
	b, err := decodeBeat(w, "a", "b")
	require.NoError(t, err)
	assert.Equal(t, uint16(math.MaxUint16), b.Capacity)
}

// A later version may know more states. Whatever they are, its node does not serve as this version does.
func TestANodeInAStateThatIsNotKnownDoesNotServe(t *testing.T) {
	for w, want := range map[electorpb.NodeState]rpc.NodeState{
		0: rpc.Serving, 1: rpc.Starting, 2: rpc.Draining, 3: rpc.Drained, 4: rpc.Starting, 256: rpc.Starting, -1: rpc.Starting,
	} {
		assert.Equal(t, want, decodeState(w), "%d", w)
	}
}
