// A packet's size, messages and leavings are checked before it is decoded, because an empty
// message takes two bytes on the network and a hundred times as many in memory.

package grpcrpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec for all other types
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

const (
	// maxPacket bounds a packet, in bytes. It has room for maxBatch messages of the
	// largest size, and so for the largest beat, which is smaller.
	maxPacket = 704 << 10
	// maxHello bounds the packets that come before the peer is known.
	maxHello = 2 << 10
)

// bounds bound a packet.
type bounds struct{ bytes, messages, leavings int }

// fromPeers are the bounds of packets of a peer that is known.
var fromPeers = bounds{bytes: maxPacket, messages: maxBatch, leavings: rpc.MaxLeavings}

// incoming is a packet that is about to be read, and its bounds.
type incoming struct {
	bounds
	packet electorpb.Packet
	err    error // it exceeds a bound
}

// receive reads a packet within these bounds.
func receive(s packets, within bounds) (*electorpb.Packet, error) {
	in := incoming{bounds: within}
	if err := s.RecvMsg(&in); err != nil {
		return nil, err
	}
	return &in.packet, in.err
}

// receiveHello reads a packet of a peer that is not known yet.
func receiveHello(s packets) (*electorpb.Packet, error) { return receive(s, bounds{bytes: maxHello}) }

// excess is the error of a packet that exceeds a bound.
type excess struct {
	what       string
	has, limit int
}

func (e *excess) Error() string {
	return fmt.Sprintf("a packet has %d %s, and may have %d", e.has, e.what, e.limit)
}

// codec decodes an incoming with its bounds, and everything else as gRPC does.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() > in.bytes {
		in.err = &excess{"bytes", data.Len(), in.bytes}
		return nil
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	if n := count(buffer.ReadOnlyData(), batchField, messagesField); n > in.messages {
		in.err = &excess{"messages", n, in.messages}
		return nil
	}
	if n := count(buffer.ReadOnlyData(), beatField, leavingsField); n > in.leavings {
		in.err = &excess{"leavings", n, in.leavings}
		return nil
	}
	return protobuf.Unmarshal(buffer.ReadOnlyData(), &in.packet)
}

var (
	batchField    = fieldNumber(new(electorpb.Packet), "batch")
	messagesField = fieldNumber(new(electorpb.Batch), "messages")
	beatField     = fieldNumber(new(electorpb.Packet), "beat")
	leavingsField = fieldNumber(new(electorpb.Beat), "leavings")
)

func fieldNumber(m protobuf.Message, name string) protowire.Number {
	for i, fields := 0, m.ProtoReflect().Descriptor().Fields(); i < fields.Len(); i++ {
		if string(fields.Get(i).Name()) == name {
			return fields.Get(i).Number()
		}
	}
	panic("the wire has no field " + name) // found by any test
}

// count counts the parts of a packet's content, such as the messages of its batch. It ends
// where the packet is malformed, as decoding does.
func count(packet []byte, content, part protowire.Number) (n int) {
	each(packet, content, func(of []byte) {
		each(of, part, func([]byte) { n++ })
	})
	return n
}

// each calls do with every value of a field. A field that is not repeated may occur several
// times, too; decoding merges its values.
func each(of []byte, field protowire.Number, do func([]byte)) {
	for len(of) > 0 {
		number, kind, n := protowire.ConsumeTag(of)
		if n < 0 {
			return
		}
		of = of[n:]
		if n = protowire.ConsumeFieldValue(number, kind, of); n < 0 {
			return
		}
		if number == field && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(of)
			do(value)
		}
		of = of[n:]
	}
}
