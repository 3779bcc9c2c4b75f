// The memory that attackers cost that keep calls open while other calls of theirs are answered,
// and attackers that never read an answer. Each attack runs once without TLS, and once with
// a certificate.
//
// The answer to a call shows that everything before it was read, so no test here depends on
// time.

package grpcrpc_test

import (
	"context"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

const (
	check      = "/grpc.health.v1.Health/Check"
	resetFrame = 3
	endStream  = 1
)

// besiegeHealthy is besiege with the health service at b.
func besiegeHealthy(t *testing.T, build func(*testing.T, ...string) *cluster) *besieged {
	t.Helper()
	w := build(t, "a", "a2", "b", "c")
	s := &besieged{cluster: w}
	s.b = w.patient("b")
	grpc_health_v1.RegisterHealthServer(s.b.Registrar(), health.NewServer())
	s.ear = w.listenTo(s.b)
	s.a, _ = w.serve("a")
	w.reaches(s.a, "b", s.ear)
	return s
}

// hoarding runs an attack with and without TLS, and checks the memory in use. With TLS the
// attacker has a certificate of this role.
func hoarding(t *testing.T, role grpcrpc.Role, attack func(*besieged, *grpcrpc.TLS)) {
	t.Helper()
	run := func(s *besieged, files *grpcrpc.TLS) {
		before := memory()
		attack(s, files)
		cost := memory() - before
		s.t.Logf("%d MB", cost>>20)
		assert.Less(s.t, cost, tolerable)
		s.reaches(s.a, "b", s.ear)
	}
	t.Run("plain", func(t *testing.T) { run(besiegeHealthy(t, newCluster), nil) })
	t.Run("TLS", func(t *testing.T) {
		effort.Long(t)
		s := besiegeHealthy(t, newClusterWithTLS)
		run(s, s.issue(s.authority, role, "a2", "a2", 1e12))
	})
}

// asked makes a whole call, and says whether it was answered.
func (x *attacker) asked() bool {
	stream := x.call(check)
	x.frame(dataFrame, endStream, stream, make([]byte, 5))
	return x.send() && x.answered(stream)
}

// answered waits until a call has ended, and says whether it has.
func (x *attacker) answered(stream uint32) bool {
	for {
		head, err := x.skip()
		if err != nil {
			return false
		}
		if head[3] == headersFrame && head[4]&endStream != 0 && binary.BigEndian.Uint32(head[5:]) == stream {
			return true
		}
	}
}

// hoard opens calls and sends a part of each request in rounds, but never a whole request. After
// each round another call is answered.
func (x *attacker) hoard(calls, rounds, each int) (stayed bool) {
	streams := make([]uint32, calls)
	for i := range streams {
		streams[i] = x.call(check)
		x.announce(streams[i], 600<<10)
	}
	for range rounds {
		for _, stream := range streams {
			x.drip(stream, each)
		}
		if !x.asked() {
			return false
		}
	}
	return true
}

// Answers to other calls of the caller do not help it.
func TestACallerThatHoldsTooMuchIsDisconnected(t *testing.T) {
	hoarding(t, grpcrpc.Operator, func(s *besieged, files *grpcrpc.TLS) {
		const crowd = 32
		for range crowd {
			x := s.attack(files)
			require.True(s.t, x.asked())
			assert.False(s.t, x.hoard(15, 20, 300))
		}
		s.holds(grpcrpc.RefusedFlood, crowd)
	})
}

// There are more callers than are allowed, and each holds as much as is allowed.
func TestManyCallersCostLittle(t *testing.T) {
	hoarding(t, grpcrpc.Operator, func(s *besieged, files *grpcrpc.TLS) {
		for range 150 {
			x := s.attack(files)
			require.True(s.t, x.asked())
			require.True(s.t, x.hoard(15, 1, 400))
		}
	})
}

// One more call is refused, and the sixteen go on.
func TestAConnectionHasSixteenCallsAtOnce(t *testing.T) {
	s := besiegeHealthy(t, newCluster)
	x := s.attack(nil)
	for range 16 {
		x.call(check)
	}
	require.True(t, x.send())
	beyond := x.call(check)
	require.True(t, x.send())
	assert.Equal(t, beyond, x.reset())
	x.frame(dataFrame, endStream, 1, make([]byte, 5))
	require.True(t, x.send())
	assert.True(t, x.answered(1))
	assert.True(t, x.asked(), "there is room for another one")
	assert.Zero(t, s.b.Stats().Refused[grpcrpc.RefusedFlood])
}

// reset returns the stream of the next call that is refused; 0: the connection has ended.
func (x *attacker) reset() (stream uint32) {
	for {
		head, err := x.skip()
		if err != nil {
			return 0
		}
		if head[3] == resetFrame {
			return binary.BigEndian.Uint32(head[5:])
		}
	}
}

// skip reads a frame, and returns its head.
func (x *attacker) skip() (head [9]byte, err error) {
	if _, err := io.ReadFull(x, head[:]); err != nil {
		return head, err
	}
	_, err = io.CopyN(io.Discard, x, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
	return head, err
}

func TestAPeerMayBeginNoCallBesideItsExchange(t *testing.T) {
	hoarding(t, grpcrpc.Member, func(s *besieged, files *grpcrpc.TLS) {
		x, _ := s.attackAsPeer(files)
		assert.False(s.t, x.hoard(14, 85, 7000))
		s.holds(grpcrpc.RefusedPeer, 1)
	})
}

func TestAPeerMayBeginNoExchangeBesideACall(t *testing.T) {
	hoarding(t, grpcrpc.Member, func(s *besieged, files *grpcrpc.TLS) {
		x := s.attack(files)
		x.announce(x.call(check), 600<<10)
		x.say(s.t, x.call(exchange), helloFromA2())
		x.send()
		s.holds(grpcrpc.RefusedPeer, 1)
	})
}

// A peer makes many connections and reads nothing, so a packet waits on each of them. Each Hello
// ends the exchange of the previous connection.
func TestManyFormerPeersCostLittle(t *testing.T) {
	hoarding(t, grpcrpc.Member, func(s *besieged, files *grpcrpc.TLS) {
		batch := make([]rpc.Message, 500)
		for i := range batch {
			batch[i] = vote(uint32(i))
			batch[i].Group = strings.Repeat("g", rpc.MaxGroupLength)
		}
		for range 100 {
			x := s.attack(files)
			x.frame(settingsFrame, 0, 0, []byte{0, 4, 0, 0, 0, 0}) // its windows are closed
			s.connects(x)
			before := s.b.Stats().Sent
			s.eventually("it is sent", func() bool {
				if s.b.Stats().Sent > before {
					return true
				}
				s.b.Send("a2", batch) // the exchange of the previous connection may take it, and end
				return false
			})
		}
	})
}

// echoed is the head of a call whose refusal repeats it at four times its size, and
// again the same head, which takes a byte.
var echoed, echoedAgain = append([]byte("\x40\x0ccontent-type\x7f\xb9\x0d"), strings.Repeat("\xff", 1848)...), []byte{0x80 | 62}

func TestAnAttackerThatReadsNoAnswersIsDisconnected(t *testing.T) {
	for what, say := range map[string]func(x *attacker){
		"refused": func(x *attacker) { x.head(echoedAgain) },
		"reset": func(x *attacker) {
			x.head(echoedAgain)
			x.frame(resetFrame, 0, 2*x.streams-1, make([]byte, 4))
		},
	} {
		t.Run(what, func(t *testing.T) {
			hoarding(t, grpcrpc.Operator, func(s *besieged, files *grpcrpc.TLS) {
				var attacking sync.WaitGroup
				for range 32 {
					x := s.attack(files)
					x.frame(settingsFrame, 0, 0, []byte{0, 1, 0, 0, 0, 0}) // answers are not to be shortened
					require.True(s.t, x.asked())
					x.head(echoed)
					for range 3000 { // their answers, of 7 KiB each, are more than the buffers of the network take
						say(x)
					}
					attacking.Go(func() { x.send() })
				}
				attacking.Wait()
				s.holds(grpcrpc.RefusedFlood, 32)
			})
		})
	}
}

// head begins a call that is complete.
func (x *attacker) head(of []byte) {
	x.frame(headersFrame, endHeaders|endStream, 2*x.streams+1, of)
	x.streams++
}

// An honest gRPC client is not taken for an attacker: it may make any number of calls, many at
// once, give up calls, and send requests of the largest size. Between two answers each
// goroutine resets at most two calls, which is less than maxUnsent.
func TestAnHonestCallerIsNotRefused(t *testing.T) {
	s := besiegeHealthy(t, newClusterWithTLS)
	client := grpc_health_v1.NewHealthClient(s.caller(s.issue(s.authority, grpcrpc.Operator, "alice", "alice", time.Hour)))
	large := &grpc_health_v1.HealthCheckRequest{Service: strings.Repeat("s", 60<<10)}
	var calling sync.WaitGroup
	for range 24 {
		calling.Go(func() {
			for range 50 {
				_, err := client.Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
				assert.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				_, err = client.Watch(ctx, new(grpc_health_v1.HealthCheckRequest))
				assert.NoError(t, err)
				cancel()
			}
		})
	}
	calling.Wait()
	for range 20 {
		_, err := client.Check(t.Context(), large)
		assert.Equal(t, codes.NotFound, status.Code(err), err)
	}
	assert.Zero(t, s.b.Stats().Refused[grpcrpc.RefusedFlood])
}
