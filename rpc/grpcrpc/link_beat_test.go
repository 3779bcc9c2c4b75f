// What a link sends to a peer that takes beats, and to one that does not; and what it does with beats
// that arrive.

package grpcrpc

import (
	"context"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// tape is a stream that records what is sent, and ends its sender after so many packets.
type tape struct {
	packets
	room int
	end  context.CancelFunc
	sent []*electorpb.Packet
}

func (s *tape) Send(p *electorpb.Packet) error {
	s.sent = append(s.sent, p)
	if len(s.sent) == s.room {
		s.end()
	}
	return nil
}

// linkWithPeer is the link of linkTo, over which its transport sends.
func linkWithPeer(t *testing.T) *link {
	t.Helper()
	l, _ := linkTo(t)
	l.transport.mu.Lock()
	defer l.transport.mu.Unlock()
	l.transport.links["a"] = l
	return l
}

// recorded queues two votes and two beats, and returns what the link sends until it has sent so
// many packets.
func recorded(t *testing.T, l *link, takesBeats bool, packets int) []*electorpb.Packet {
	t.Helper()
	l.transport.Send("a", []rpc.Message{vote(1), vote(2)})
	b := new(rpc.Beat)
	for b.Number = 6; b.Number < 8; b.Number++ { // the transport keeps copies
		l.transport.SendBeat("a", b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &tape{room: packets, end: cancel}
	require.ErrorIs(t, l.sendAll(ctx, s, takesBeats), context.Canceled)
	return s.sent
}

func TestTheNewestBeatIsSentBeforeTheMessages(t *testing.T) {
	l := linkWithPeer(t)
	sent := recorded(t, l, true, 2)
	require.Len(t, sent, 2)
	assert.EqualValues(t, 7, sent[0].GetBeat().GetNumber())
	assert.Len(t, sent[1].GetBatch().GetMessages(), 2)
	assert.EqualValues(t, 3, l.transport.Stats().Sent)
	assert.EqualValues(t, 1, l.transport.Stats().Dropped, "the older beat")
}

func TestAPeerThatTakesNoBeatsIsSentMessagesOnly(t *testing.T) {
	l := linkWithPeer(t)
	sent := recorded(t, l, false, 1)
	require.Len(t, sent, 1)
	assert.Len(t, sent[0].GetBatch().GetMessages(), 2)
	assert.EqualValues(t, 2, l.transport.Stats().Sent)
	assert.EqualValues(t, 2, l.transport.Stats().Dropped, "both beats")
}

// The sender takes the beat, sends nothing, and waits for the next message.
func TestABeatAloneForAPeerThatTakesNoneEndsNothing(t *testing.T) {
	l := linkWithPeer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, over := &tape{room: 1, end: cancel}, make(chan error, 1)
	l.transport.SendBeat("a", new(rpc.Beat))
	go func() { over <- l.sendAll(ctx, s, false) }()
	for l.transport.Stats().Dropped == 0 {
		select {
		case err := <-over:
			require.FailNow(t, "the sender has ended", err)
		default:
			runtime.Gosched()
		}
	}
	l.transport.Send("a", []rpc.Message{vote(1)})
	require.ErrorIs(t, <-over, context.Canceled)
	assert.Len(t, s.sent[0].GetBatch().GetMessages(), 1)
}

func TestBeatsThatCouldNotBeSentCountAsDropped(t *testing.T) {
	l := linkWithPeer(t)
	l.transport.Send("a", []rpc.Message{vote(1), vote(2)})
	l.transport.SendBeat("a", new(rpc.Beat))
	require.ErrorIs(t, l.sendAll(t.Context(), broken{}, true), io.EOF)
	assert.EqualValues(t, 3, l.transport.Stats().Dropped, "and what waits behind it")
	l.transport.SendBeat("nobody", new(rpc.Beat))
	assert.EqualValues(t, 4, l.transport.Stats().Dropped, "it is no peer")
	assert.Zero(t, l.transport.Stats().Sent)
}

// script is a stream on which these packets arrive.
type script struct {
	packets
	left []*electorpb.Packet
}

func (s *script) RecvMsg(into any) error {
	if len(s.left) == 0 {
		return status.Error(codes.Unavailable, "the stream has ended")
	}
	into.(*incoming).packet.Content, s.left = s.left[0].Content, s.left[1:]
	return nil
}

// arrive lets packets arrive, and returns how the stream has ended.
func arrive(l *link, packets ...*electorpb.Packet) codes.Code {
	return status.Code(l.receiveAll(&script{left: packets}, newMeter(nil, nil)))
}

// beats is a handler that records beats.
type beats struct {
	losses
	heard []*rpc.Beat
}

func (h *beats) ReceiveBeat(b *rpc.Beat) { h.heard = append(h.heard, b) }

// serveBeats replaces the handler of a link's transport.
func serveBeats(l *link) *beats {
	h := new(beats)
	l.transport.handling.Lock()
	defer l.transport.handling.Unlock()
	l.transport.handler = h
	return h
}

func TestAMalformedBeatIsRefusedAndTheNextOneArrives(t *testing.T) {
	l, _ := linkTo(t)
	h := serveBeats(l)
	malformed := &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: new(electorpb.Beat)}}
	good := &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: wireBeat()}}
	assert.Equal(t, codes.Unavailable, arrive(l, malformed, good, malformed))
	require.Len(t, h.heard, 1)
	assert.EqualValues(t, 3, h.heard[0].Number)
	assert.Equal(t, [2]string{"a", "b"}, [2]string{h.heard[0].From, h.heard[0].To})
	assert.EqualValues(t, 2, l.transport.Stats().Refused[RefusedMessage])
	assert.EqualValues(t, 1, l.transport.Stats().Received)
	assert.Zero(t, l.transport.Stats().Refused[RefusedPeer])
}

// batches is a handler that records messages.
type batches struct {
	losses
	heard []rpc.Message
}

func (h *batches) Receive(batch []rpc.Message) { h.heard = append(h.heard, batch...) }

// The handler relies on it that every message is well formed. The others of the batch are none the worse.
func TestAMalformedMessageIsLeftOutOfItsBatch(t *testing.T) {
	l, _ := linkTo(t)
	h := new(batches)
	l.transport.handling.Lock()
	l.transport.handler = h
	l.transport.handling.Unlock()
	p := encodeBatch([]rpc.Message{heartbeatOfGroup(1), heartbeatOfGroup(2), heartbeatOfGroup(3)})
	p.GetBatch().Messages[1].Kind = 99
	nothingGood := &electorpb.Packet{Content: &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: []*electorpb.Message{{}}}}}
	assert.Equal(t, codes.Unavailable, arrive(l, p, nothingGood))
	require.Len(t, h.heard, 2)
	for i, round := range []uint32{1, 3} {
		want := heartbeatOfGroup(round)
		want.From, want.To = "a", "b"
		assert.Equal(t, want, h.heard[i])
	}
	assert.EqualValues(t, 2, l.transport.Stats().Refused[RefusedMessage])
	assert.EqualValues(t, 2, l.transport.Stats().Received)
}

// They are counted together with malformed messages.
func TestTooManyMalformedBeatsEndTheConnection(t *testing.T) {
	l, _ := linkTo(t)
	h := serveBeats(l)
	messages := make([]*electorpb.Message, maxMalformed/2)
	for i := range messages {
		messages[i] = new(electorpb.Message)
	}
	packets := []*electorpb.Packet{{Content: &electorpb.Packet_Batch{Batch: &electorpb.Batch{Messages: messages}}}}
	for range maxMalformed / 2 {
		packets = append(packets, &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: new(electorpb.Beat)}})
	}
	assert.Equal(t, codes.Unavailable, arrive(l, packets...), "as many as are tolerated")
	packets = append(packets, packets[1])
	assert.Equal(t, codes.InvalidArgument, arrive(l, packets...))
	assert.EqualValues(t, 1, l.transport.Stats().Refused[RefusedPeer])
	assert.Empty(t, h.heard)
}

func TestABeatThatTheHandlerDoesNotTakeIsDropped(t *testing.T) {
	l, _ := linkTo(t) // its handler takes none
	good := &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: wireBeat()}}
	votes := encodeBatch([]rpc.Message{{Group: "g", Body: rpc.Body{Kind: rpc.VoteRequest, Term: 1}}})
	assert.Equal(t, codes.Unavailable, arrive(l, good, votes))
	assert.EqualValues(t, 1, l.transport.Stats().Dropped)
	assert.EqualValues(t, 1, l.transport.Stats().Received, "the vote")
	l.transport.handling.Lock()
	l.transport.handler = nil
	l.transport.handling.Unlock()
	assert.Equal(t, codes.Unavailable, arrive(l, good))
	assert.EqualValues(t, 2, l.transport.Stats().Dropped, "there is no handler")
	for why, n := range l.transport.Stats().Refused {
		assert.Zero(t, n, why)
	}
}

// A peer that sends beats and nothing else does not exhaust its allowance.
func TestABeatRefillsTheAllowance(t *testing.T) {
	l, _ := linkTo(t)
	m := newMeter(nil, nil)
	m.allow(100)
	require.True(t, m.spend(100))
	good := &electorpb.Packet{Content: &electorpb.Packet_Beat{Beat: wireBeat()}}
	require.Error(t, l.receiveAll(&script{left: []*electorpb.Packet{good}}, m))
	assert.True(t, m.spend(100))
}
