// How much may come over a connection before it is understood.
//
// What came over a connection takes memory until somebody has taken it: in buffers
// of TLS and of gRPC, of which a frame of one byte fills one, and many streams of a
// connection have theirs. There are too many places to bound one by one. So bytes are
// counted where they come in. A connection has an allowance, which is full again
// whenever a packet was taken from it. One that uses it up is closed.

package grpcrpc

import (
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// strangerBytes is what may come from somebody of whom nothing is known:
	// certificates, the head of a call and a Hello.
	strangerBytes = 32 << 10
	// peerBytes is what may come from a peer between two packets. One may be on
	// its way behind the one that is being read.
	peerBytes = 2 * maxPacket
	// trickle is how much of the allowance comes back in a second by itself, for
	// what keeps an idle connection alive.
	trickle = 1 << 10
)

var errFlood = errors.New("more came than may wait to be understood")

// meter is a connection with an allowance.
type meter struct {
	net.Conn
	flooded func() // is told when the allowance is used up

	mu    sync.Mutex
	left  int
	off   bool      // nothing is spent
	full  int       // how much is left after a packet; 0: the allowance is never refilled
	since time.Time // how much of the trickle has come
	end   func()    // nil: nobody waits for it
	ended bool
}

// newMeter has the allowance of a stranger.
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

// spend takes from the allowance, and says whether it was enough.
func (m *meter) spend(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if come := int(min(now.Sub(m.since), time.Hour).Seconds() * trickle); come > 0 {
		m.left, m.since = max(m.left, min(m.left+come, m.full)), now
	}
	if !m.off {
		m.left -= n
	}
	return m.left >= 0
}

// allow makes an allowance this large, and fills it.
func (m *meter) allow(full int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.full, m.off = full, full, false
}

// pause has nothing be spent of the allowance: what comes is counted by calls.
func (m *meter) pause() { m.turn(true) }

// resume has it be spent again, from what was left.
func (m *meter) resume() { m.turn(false) }

func (m *meter) turn(off bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = off
}

// forbid has the allowance never filled again. What the call that has ended may have
// on its way still fits: if it were a flood, the connection would be closed before the
// other side could read why its call has ended.
func (m *meter) forbid() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left, m.full = min(m.left, window+strangerBytes), 0
}

// refill notes that what came has been taken.
func (m *meter) refill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = max(m.left, m.full)
}

// atEnd has this called when the connection is closed, or now if it is.
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
