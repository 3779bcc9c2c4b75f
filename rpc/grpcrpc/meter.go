// A bound on the bytes that arrive over a connection before they are processed.
//
// Bytes that have arrived take memory until they are processed: in buffers of TLS and of
// gRPC. A frame of one byte fills one such buffer, and each of many streams has buffers of
// its own. There are too many places to bound one by one, so bytes are counted where they
// arrive. A connection has an allowance, which is refilled whenever a packet was processed.
// A connection that uses up its allowance is closed.

package grpcrpc

import (
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// strangerBytes is the allowance of a stranger: for certificates, the head of a call
	// and a Hello.
	strangerBytes = 32 << 10
	// peerBytes is the allowance of a peer between two packets. The next packet may
	// arrive while one is being read.
	peerBytes = 2 * maxPacket
	// refillRate is how much of the allowance comes back in a second without packets, for
	// the pings of an idle connection.
	refillRate = 1 << 10
)

var errFlood = errors.New("too many bytes arrived before they could be processed")

// meter is a connection with an allowance.
type meter struct {
	net.Conn
	flooded func() // called when the allowance is used up

	mu    sync.Mutex
	left  int
	off   bool      // bytes are not counted
	full  int       // the allowance after a packet; 0: it is never refilled
	since time.Time // of the last refill by time
	end   func()    // called at the end, if not nil
	ended bool
}

// newMeter makes a connection with the allowance of a stranger.
func newMeter(c net.Conn, flooded func()) *meter {
	return &meter{Conn: c, flooded: flooded, left: strangerBytes, since: time.Now()}
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if !m.spend(n) {
		m.flooded()
		_ = m.Conn.Close()
		return 0, errFlood
	}
	return n, err
}

// spend subtracts from the allowance, and says whether it was enough.
func (m *meter) spend(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if refill := int(min(now.Sub(m.since), time.Hour).Seconds() * refillRate); refill > 0 {
		m.left, m.since = max(m.left, min(m.left+refill, m.full)), now
	}
	if !m.off {
		m.left -= n
	}
	return m.left >= 0
}

// allow sets the allowance, and fills it.
func (m *meter) allow(full int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.full, m.off = full, full, false
}

// pause stops counting, because calls counts the bytes instead.
func (m *meter) pause() { m.turn(true) }

// resume counts again, from what was left.
func (m *meter) resume() { m.turn(false) }

func (m *meter) turn(off bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = off
}

// forbid ends all refills. The bytes of the ended call that are still on their way fit into
// the rest of the allowance; otherwise the connection would be closed before the other side
// could read why its call has ended.
func (m *meter) forbid() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.full = min(m.left, window+strangerBytes), 0
}

// refill fills the allowance after a packet was processed.
func (m *meter) refill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = max(m.left, m.full)
}

// atEnd calls end when the connection is closed, or now if it is closed already.
func (m *meter) atEnd(end func()) {
	m.mu.Lock()
	m.end = end
	ended := m.ended
	m.mu.Unlock()
	if ended {
		end()
	}
}

// Close ends the connection.
func (m *meter) Close() error {
	m.mu.Lock()
	end := m.end
	m.ended = true
	m.mu.Unlock()
	if end != nil {
		end()
	}
	return m.Conn.Close()
}
