// The memory that attackers cost, with and without a member's certificate. They write HTTP/2
// frames, because gRPC would keep the rules.

package grpcrpc_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

// tolerable bounds the memory that an attack may cost, including the attacker's own.
const tolerable = 64 << 20

// memory is the memory in use after a garbage collection.
func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// allocated is the memory that was ever allocated, in use or not.
func allocated() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.TotalAlloc)
}

const (
	dataFrame, headersFrame, settingsFrame = 0, 1, 4
	endHeaders                             = 4
)

// attacker is a connection that keeps no rules.
type attacker struct {
	net.Conn
	streams uint32
	out     []byte
}

// attack connects to b, with a certificate if there is one.
func (s *besieged) attack(files *grpcrpc.TLS) *attacker {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addresses["b"])
	require.NoError(s.t, err)
	if files != nil {
		own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		require.NoError(s.t, err)
		c = tls.Client(c, &tls.Config{
			InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{own},
		})
	}
	s.t.Cleanup(func() { _ = c.Close() })
	x := &attacker{Conn: c}
	x.out = append(x.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"...)
	x.frame(settingsFrame, 0, 0, nil)
	return x
}

func (x *attacker) frame(kind, flags byte, stream uint32, payload []byte) {
	n := len(payload)
	x.out = append(x.out, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	x.out = binary.BigEndian.AppendUint32(x.out, stream)
	x.out = append(x.out, payload...)
}

// call opens a stream.
func (x *attacker) call(method string) (stream uint32) {
	var head []byte
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "b"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		head = append(head, 0, byte(len(h[0])))
		head = append(head, h[0]...)
		head = append(head, byte(len(h[1])))
		head = append(head, h[1]...)
	}
	stream = 2*x.streams + 1
	x.streams++
	x.frame(headersFrame, endHeaders, stream, head)
	return stream
}

const exchange = "/hustings.v1.MemberService/Exchange"

// announce begins a message of this size.
func (x *attacker) announce(stream uint32, size int) {
	x.frame(dataFrame, 0, stream, binary.BigEndian.AppendUint32([]byte{0}, uint32(size)))
}

func (x *attacker) say(t *testing.T, stream uint32, p *electorpb.Packet) {
	t.Helper()
	wire, err := proto.Marshal(p)
	require.NoError(t, err)
	x.announce(stream, len(wire))
	x.frame(dataFrame, 0, stream, wire)
}

// drip sends n bytes, each in a frame of its own, which costs most.
func (x *attacker) drip(stream uint32, n int) {
	for range n {
		x.frame(dataFrame, 0, stream, []byte{0})
	}
}

// send writes the frames so far, and says whether that succeeded.
func (x *attacker) send() bool {
	_, err := x.Write(x.out)
	x.out = x.out[:0]
	return err == nil
}

// ends waits until the other side has hung up.
func (x *attacker) ends() { _, _ = io.Copy(io.Discard, x) }

func helloFromA2() *electorpb.Packet {
	return &electorpb.Packet{Content: &electorpb.Packet_Hello{Hello: &electorpb.Hello{From: "a2", To: "b", Incarnation: 7}}}
}

// attackAsPeer is an attacker that has sent a Hello and is connected.
func (s *besieged) attackAsPeer(files *grpcrpc.TLS) (x *attacker, stream uint32) {
	s.t.Helper()
	x = s.attack(files)
	return x, s.connects(x)
}

// connects lets an attacker send a Hello, and waits until it is connected.
func (s *besieged) connects(x *attacker) (stream uint32) {
	s.t.Helper()
	before := s.b.Stats().Connected
	stream = x.call(exchange)
	x.say(s.t, stream, helloFromA2())
	require.True(s.t, x.send())
	s.eventually("it is connected", func() bool { return s.b.Stats().Connected > before })
	return stream
}

// inBothWays runs an attack with and without TLS. With it the attacker has a
// member's certificate.
func inBothWays(t *testing.T, attack func(*besieged, *grpcrpc.TLS)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { attack(besiege(t, newCluster), nil) })
	t.Run("TLS", func(t *testing.T) {
		s := besiege(t, newClusterWithTLS)
		attack(s, s.issue(s.authority, grpcrpc.Member, "a2", "a2", 1e12))
	})
}

// The packet is small on the network and large in memory: an empty message takes two bytes on
// the network.
func TestAPacketOfEmptyMessagesIsNotDecoded(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	member := s.issue(s.authority, grpcrpc.Member, "a2", "a2", 1e12)
	packet := packetOf(make([]*electorpb.Message, 300_000)...)
	before := allocated()
	err := s.exchange(member, "a2", "b", packet)
	assert.Less(t, allocated()-before, tolerable/4)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), err)
	assert.ErrorContains(t, err, "a packet has 300000 messages, and may have 1024")
	s.holds(grpcrpc.RefusedPeer, 1)
}

// More connections than are allowed. Each begins the largest Hello, and never ends it.
func TestManyIncompleteHellosCostLittle(t *testing.T) {
	inBothWays(t, func(s *besieged, files *grpcrpc.TLS) {
		before := memory()
		const crowd = 300
		for range crowd {
			x := s.attack(files)
			stream := x.call(exchange)
			x.announce(stream, 2<<10)
			x.drip(stream, 2<<10-1)
			x.send()
		}
		s.holds(grpcrpc.RefusedCrowd, crowd/2)
		cost := memory() - before
		s.t.Logf("%d MB", cost>>20)
		assert.Less(s.t, cost, tolerable)
		assert.Zero(s.t, s.b.Stats().Refused[grpcrpc.RefusedFlood])
	})
}

// Many exchanges over each of many connections. A connection is refused once, even if several of
// its calls are refused.
func TestManyExchangesOverManyConnectionsCostLittle(t *testing.T) {
	inBothWays(t, func(s *besieged, files *grpcrpc.TLS) {
		before := memory()
		const crowd = 300
		for range crowd {
			x := s.attack(files)
			for range 60 {
				stream := x.call(exchange)
				x.announce(stream, 600<<10)
				x.drip(stream, 20)
			}
			x.send()
		}
		var refused uint64
		s.eventually("all are refused", func() bool {
			refused = 0
			for _, n := range s.b.Stats().Refused {
				refused += n
			}
			return refused >= crowd
		})
		s.reaches(s.a, "b", s.ear)
		assert.EqualValues(s.t, crowd, refused)
		cost := memory() - before
		s.t.Logf("%d MB", cost>>20)
		assert.Less(s.t, cost, tolerable)
	})
}

func TestAStrangerThatExceedsItsAllowanceIsDisconnected(t *testing.T) {
	inBothWays(t, func(s *besieged, files *grpcrpc.TLS) {
		before := memory()
		var attacking sync.WaitGroup
		for range 60 {
			x := s.attack(files)
			stream := x.call(exchange)
			x.announce(stream, 600<<10)
			x.drip(stream, 50_000)
			x.send()
			attacking.Go(x.ends)
		}
		attacking.Wait()
		s.holds(grpcrpc.RefusedFlood, 60)
		cost := memory() - before
		s.t.Logf("%d MB", cost>>20)
		assert.Less(s.t, cost, tolerable)
	})
}

func TestAPeerThatNeverEndsItsPacketIsDisconnected(t *testing.T) {
	inBothWays(t, func(s *besieged, files *grpcrpc.TLS) {
		x, stream := s.attackAsPeer(files)
		before := memory()
		x.announce(stream, 600<<10)
		x.drip(stream, 60_000)
		x.send()
		cost := memory() - before
		s.t.Logf("%d MB", cost>>20)
		assert.Less(s.t, cost, tolerable/2)
		x.drip(stream, 90_000)
		x.send()
		x.ends()
		s.holds(grpcrpc.RefusedFlood, 1)
	})
}

func TestASecondExchangeOverOneConnectionIsRefused(t *testing.T) {
	inBothWays(t, func(s *besieged, files *grpcrpc.TLS) {
		x, _ := s.attackAsPeer(files)
		x.call(exchange)
		x.send()
		s.holds(grpcrpc.RefusedPeer, 1)
	})
}

// The bounds for a peer that is called are those for a peer that calls.
func TestAPeerThatIsCalledIsBoundedToo(t *testing.T) {
	for what, says := range map[string]*electorpb.Packet{
		"a packet has 2000 messages":       packetOf(make([]*electorpb.Message, 2000)...),
		"received message larger than max": packetOf(&electorpb.Message{Group: strings.Repeat("g", 1<<20)}),
	} {
		w := newCluster(t, "a", "b")
		w.serveAsBefore(says)
		a, _ := w.serve("a")
		w.eventually("it is counted", func() bool { return a.Stats().Refused[grpcrpc.RefusedPeer] > 0 })
		w.eventually("it is logged", func() bool { return strings.Contains(w.log.String(), what) })
	}
}

func TestALargeHelloIsRefused(t *testing.T) {
	s := besiege(t, newClusterWithTLS)
	c := s.issue(s.authority, grpcrpc.Member, "a2", "a2", 1e12)
	err := s.exchange(c, strings.Repeat("a", 3<<10), "b")
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), err)
	s.holds(grpcrpc.RefusedPeer, 1)
}
