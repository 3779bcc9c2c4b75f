// A node that was started as a service tells the service manager how it is, by sd_notify, as services of systemd with Type=notify
// do: when it is ready, what it waits for, that it stops and how far its drain has come, and, if it is asked to, that it still
// runs. Where nobody listens, nothing is said.

package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the service manager says to the node, and the node to its program, in the environment: where to speak, how often, and
// which process alone is to speak so often.
const (
	socketVariable  = "NOTIFY_SOCKET="
	periodVariable  = "WATCHDOG_USEC="
	processVariable = "WATCHDOG_PID="
)

// Things that only a node says.
const (
	sayStatus = "STATUS="
	sayExtend = "EXTEND_TIMEOUT_USEC="
)

// withoutNotify takes out of an environment what the service manager has said to this node. A process that the node starts must not
// speak in its place.
func withoutNotify(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		return strings.HasPrefix(variable, socketVariable) || strings.HasPrefix(variable, periodVariable) || strings.HasPrefix(variable, processVariable)
	})
}

// service is how the node speaks to the service manager; nil: nobody listens.
type service struct {
	to     io.WriteCloser // each write is a message
	period time.Duration  // within which it has to be told that the node runs; 0: it need not

	mu       sync.Mutex // so that what was looked at last is said last
	ready    bool       // it was told so
	stopping bool
	status   string // that was said last
}

// newService is the one that the environment names.
func newService() (*service, error) {
	address := os.Getenv(strings.TrimSuffix(socketVariable, "="))
	if address == "" {
		return nil, nil
	}
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("cannot speak to the service manager that has started this node: %w", err)
	}
	return &service{to: impatient{to}, period: askedPeriod()}, nil
}

// impatient is a socket whose messages are lost if nobody reads them. Otherwise a service manager that hangs would have the node hang, too.
type impatient struct{ *net.UnixConn }

// waitsToSay is how long a message waits for the manager to read earlier ones.
const waitsToSay = 100 * time.Millisecond

func (s impatient) Write(message []byte) (int, error) {
	_ = s.SetWriteDeadline(time.Now().Add(waitsToSay)) // it fails only if the socket is closed
	return s.UnixConn.Write(message)
}

// askedPeriod is within what time the manager wants to hear that this process runs; 0: it does not.
func askedPeriod() time.Duration {
	if of := os.Getenv(strings.TrimSuffix(processVariable, "=")); of != "" && of != strconv.Itoa(os.Getpid()) {
		return 0
	}
	period, _ := strconv.ParseUint(os.Getenv(strings.TrimSuffix(periodVariable, "=")), 10, 40) // 40 bits are twelve days
	return time.Duration(period) * time.Microsecond
}

func (s *service) close() {
	if s != nil {
		_ = s.to.Close() // nothing waits to be sent
	}
}

// say sends a message. It may be lost, as if the manager had not listened: the node goes on.
func (s *service) say(lines ...string) { _, _ = io.WriteString(s.to, strings.Join(lines, "\n")) }

// follow tells how the member is, now and after every change, until the context ends, and how long it runs. alive returns nil
// when it has seen the election at work.
func (s *service) follow(ctx context.Context, m *member, alive func(context.Context) error) {
	if s == nil {
		return
	}
	var following sync.WaitGroup
	following.Go(func() { m.eachChange(ctx, func() { s.look(m) }) })
	if s.period > 0 {
		following.Go(func() { s.vouch(ctx, alive) })
	}
	following.Wait()
}

// vouch says that the node runs, twice in the period, as long as its election is seen at work.
func (s *service) vouch(ctx context.Context, alive func(context.Context) error) {
	again := time.NewTicker(s.period / 2)
	defer again.Stop()
	for {
		if alive(ctx) == nil {
			s.say(sayAlive)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// look says how the member is, if that is new.
func (s *service) look(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ready := m.readiness()
	if s.stopping {
		text, ready = m.stops(), false
	}
	var lines []string
	if ready && !s.ready {
		s.ready = true
		lines = append(lines, sayReady)
	}
	if text != s.status {
		s.status = text
		lines = append(lines, sayStatus+text)
	}
	if len(lines) > 0 {
		s.say(lines...)
	}
}

// stop says that the node stops, and how long that may take.
func (s *service) stop(m *member, within time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.stopping = true
	s.say(sayStopping, fmt.Sprint(sayExtend, within.Microseconds()))
	s.mu.Unlock()
	s.look(m)
}

// stops says how far a node has come that is to stop.
func (m *member) stops() string {
	if m.host == nil {
		return "stopping"
	}
	switch p := m.host.Progress(); {
	case m.drained():
		return fmt.Sprintf("stopping: drained, %d of %d groups were handed over", p.Moved, p.Moved)
	case p.Led+p.Moved == 0:
		return "stopping"
	default:
		return fmt.Sprintf("stopping: %d of %d groups are handed over", p.Moved, p.Moved+p.Led)
	}
}
