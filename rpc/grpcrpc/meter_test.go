// Allowances, and the counting of messages in packets.

package grpcrpc

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

func TestAnAllowanceIsSpentAndRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(nil, nil)
		assert.True(t, m.spend(strangerBytes))
		m.refill()
		<-time.After(time.Hour)
		assert.False(t, m.spend(1), "a stranger's allowance is never refilled")
		m.allow(100)
		assert.True(t, m.spend(100))
		m.refill()
		assert.True(t, m.spend(100))
		<-time.After(time.Second / 32)
		assert.True(t, m.spend(32))
		assert.False(t, m.spend(1), "without packets it comes back slowly")
		<-time.After(time.Hour)
		assert.True(t, m.spend(100))
		assert.False(t, m.spend(1), "it never exceeds its size")
		m.allow(peerBytes)
		m.forbid()
		assert.True(t, m.spend(64<<10), "it was on its way")
		assert.True(t, m.spend(strangerBytes))
		m.refill()
		assert.False(t, m.spend(1))
	})
}

// The documentation for operators has these figures.
func TestAllowancesHaveTheirDocumentedSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no time passes, in which the allowance would grow
		const stranger, peer = 32 << 10, 1408 << 10
		m := newMeter(nil, nil)
		assert.True(t, m.spend(stranger))
		assert.False(t, m.spend(1))
		ours, theirs := net.Pipe()
		m = newMeter(ours, nil)
		_, _, err := clientCreds{TransportCredentials: insecure.NewCredentials()}.ClientHandshake(t.Context(), "", m)
		require.NoError(t, err)
		assert.True(t, m.spend(peer))
		assert.False(t, m.spend(1))
		m.refill()
		assert.True(t, m.spend(peer))
		assert.False(t, m.spend(1))
		require.NoError(t, m.Close())
		require.NoError(t, theirs.Close())
	})
}

// The end may come before somebody waits for it.
func TestTheEndOfAConnectionIsToldOnce(t *testing.T) {
	for _, closedFirst := range []bool{true, false} {
		ours, _ := net.Pipe()
		m, ends := newMeter(ours, nil), 0
		if closedFirst {
			require.NoError(t, m.Close())
		}
		m.atEnd(func() { ends++ })
		if !closedFirst {
			assert.Zero(t, ends)
			require.NoError(t, m.Close())
		}
		assert.Equal(t, 1, ends)
	}
}

// Frequent calls of spend with small amounts must not prevent the refill by rounding.
func TestTheAllowanceComesBackBetweenFrequentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(nil, nil)
		m.allow(100)
		require.True(t, m.spend(100))
		for range 10_000 {
			<-time.After(time.Millisecond / 4)
			m.spend(0)
		}
		assert.True(t, m.spend(100))
	})
}

func TestAConnectionThatExceedsItsAllowanceIsClosed(t *testing.T) {
	here, there := net.Pipe()
	floods := 0
	m := newMeter(here, func() { floods++ })
	go func() { _, _ = there.Write(make([]byte, 2*strangerBytes)) }()
	n, err := io.Copy(io.Discard, m)
	assert.ErrorIs(t, err, errFlood)
	assert.LessOrEqual(t, n, int64(strangerBytes))
	assert.Equal(t, 1, floods)
	_, err = there.Write([]byte{0})
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}

// A batch and a beat exclude each other: decoding keeps the last one, and merges those that come one
// after the other.
func TestMessagesAndLeavingsAreCountedAsTheyAreDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var packet []byte
		parts := rapid.SampledFrom([]string{"batches", "beats", "both"}).Draw(t, "parts")
		for range rapid.IntRange(0, 5).Draw(t, "number of parts") {
			if rapid.Bool().Draw(t, "an unknown field") {
				packet = protowire.AppendTag(packet, 99, protowire.VarintType)
				packet = protowire.AppendVarint(packet, 7)
			}
			one := drawBatch
			if parts == "beats" || parts == "both" && rapid.Bool().Draw(t, "a beat") {
				one = drawBeat
			}
			part, err := proto.Marshal(one(t))
			if err != nil {
				t.Fatal(err)
			}
			packet = append(packet, part...)
		}
		packet = packet[:len(packet)-rapid.IntRange(0, min(3, len(packet))).Draw(t, "cut off")]
		var decoded electorpb.Packet
		if proto.Unmarshal(packet, &decoded) != nil {
			return
		}
		messages, leavings := count(packet, batchField, messagesField), count(packet, beatField, leavingsField)
		if parts == "both" {
			assert.LessOrEqual(t, len(decoded.GetBatch().GetMessages()), messages)
			assert.LessOrEqual(t, len(decoded.GetBeat().GetLeavings()), leavings)
			return
		}
		assert.Equal(t, len(decoded.GetBatch().GetMessages()), messages)
		assert.Equal(t, len(decoded.GetBeat().GetLeavings()), leavings)
	})
}

// In memory they are a hundred times as large as on the network.
func TestAPacketWithMessagesIsNotDecodedForAStranger(t *testing.T) {
	in := incoming{bounds: bounds{bytes: maxHello}}
	packet, err := proto.Marshal(encodeBatch(make([]rpc.Message, 2)))
	require.NoError(t, err)
	require.NoError(t, newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(packet)}, &in))
	assert.EqualError(t, in.err, "a packet has 2 messages, and may have 0")
	assert.Nil(t, in.packet.GetBatch())
}

func drawBatch(t *rapid.T) *electorpb.Packet {
	batch := electorpb.Batch{Messages: make([]*electorpb.Message, rapid.IntRange(0, 5).Draw(t, "messages"))}
	for i := range batch.Messages {
		batch.Messages[i] = &electorpb.Message{Group: rapid.StringN(0, 3, 9).Draw(t, "group")}
	}
	return &electorpb.Packet{Content: &electorpb.Packet_Batch{Batch: &batch}}
}

func drawBeat(t *rapid.T) *electorpb.Packet {
	beat := electorpb.Beat{Number: 1, Leavings: make([]*electorpb.Leaving, rapid.IntRange(0, 5).Draw(t, "leavings"))}
	for i := range beat.Leavings {
		beat.Leavings[i] = &electorpb.Leaving{Group: rapid.StringN(0, 3, 9).Draw(t, "group")}
	}
	return &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: &beat}}
}

func TestTheLargestBatchBeatAndHelloAreWithinTheBounds(t *testing.T) {
	long := string(make([]byte, max(rpc.MaxGroupLength, memberstate.MaxIDLength)))
	all, most := ^uint64(0), ^uint32(0)
	session := rpc.Session{Incarnation: all, Of: all}
	batch := make([]rpc.Message, maxBatch)
	for i := range batch {
		batch[i] = rpc.Message{
			Group: long, Leader: long, Voters: all, Bond: &rpc.Bond{Session: session, Count: most, After: all, Epoch: most, Taken: true},
			Body: rpc.Body{
				Kind: rpc.VoteResponse, Result: rpc.RejectTakingLeadership, Mark: rpc.Vouched, Promised: true, Round: most,
				Term: memberstate.Term(all), Asked: memberstate.Term(all),
				Ledger: memberstate.Position{Term: memberstate.Term(all), Index: all},
				Lease:  1<<63 - 1, RoundTrip: 1<<63 - 1, Detection: 1<<63 - 1, Unable: memberstate.Set(all),
			},
		}
	}
	assert.LessOrEqual(t, proto.Size(encodeBatch(batch)), maxPacket)
	beat := &rpc.Beat{
		Session: session, Number: all, Answers: all, Epoch: most, Released: most, Departed: most, SeenReleased: most, SeenDeparted: most, Deaf: true,
		Leavings: make([]rpc.Leaving, rpc.MaxLeavings),
	}
	for i := range beat.Leavings {
		beat.Leavings[i] = rpc.Leaving{Group: long, Term: memberstate.Term(all), Number: most, Released: true}
	}
	assert.LessOrEqual(t, proto.Size(encodeBeat(beat)), maxPacket)
	assert.LessOrEqual(t, proto.Size(hello(long, long, all)), maxHello)
	t.Logf("the largest batch has %d bytes, the largest beat %d", proto.Size(encodeBatch(batch)), proto.Size(encodeBeat(beat)))
}
