// What the transport counts, and how it tells of what it refuses.

package grpcrpc

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Refusal is why someone, or something, was turned away.
type Refusal uint8

const (
	// RefusedHandshake: the certificate was missing, wrong or out of date, or
	// what came was no TLS at all.
	RefusedHandshake Refusal = iota
	// RefusedSilence: a connection ended before it had said anything of use.
	RefusedSilence
	// RefusedCrowd: too many connections that had said nothing; the oldest went.
	RefusedCrowd
	// RefusedRole: the certificate does not allow the call.
	RefusedRole
	// RefusedIdentity: a node claims to be another, is none of the peers, or
	// looks for another.
	RefusedIdentity
	// RefusedMessage: a message was malformed.
	RefusedMessage
	// RefusedPeer: a peer sent too much that was malformed, or too large.
	RefusedPeer
	// RefusedReload: this node's own certificates have changed and cannot be
	// used, so those before go on being used.
	RefusedReload

	refusals
)

var refusalNames = [refusals]string{"handshake", "silence", "crowd", "role", "identity", "message", "peer", "reload"}

// String names the refusal for logs and metrics.
func (r Refusal) String() string {
	if r < refusals {
		return refusalNames[r]
	}
	return "unknown"
}

// Refusals lists all there are.
func Refusals() []Refusal {
	all := make([]Refusal, refusals)
	for i := range all {
		all[i] = Refusal(i)
	}
	return all
}

// Stats counts since the transport was made.
type Stats struct {
	// Sent and Received count messages.
	Sent, Received uint64
	// Dropped counts messages for which there was no peer, no room or no handler.
	Dropped uint64
	// Connected counts connections to peers that came about.
	Connected uint64
	// Refused counts what was turned away, by reason.
	Refused map[Refusal]uint64
}

type counts struct {
	sent, received, dropped, connected atomic.Uint64
	refused                            [refusals]atomic.Uint64
}

// Stats counts what the transport has done.
func (t *Transport) Stats() Stats {
	s := Stats{
		Sent: t.counts.sent.Load(), Received: t.counts.received.Load(),
		Dropped: t.counts.dropped.Load(), Connected: t.counts.connected.Load(),
		Refused: make(map[Refusal]uint64, refusals),
	}
	for r := range refusals {
		s.Refused[r] = t.counts.refused[r].Load()
	}
	return s
}

// refuse counts and tells.
func (t *Transport) refuse(why Refusal, attributes ...any) {
	t.counts.refused[why].Add(1)
	t.log.refusal(why, attributes...)
}

// quietLog is a logger that tells of each kind of refusal once in a while, so
// that whoever floods the port does not flood the log.
type quietLog struct {
	*slog.Logger
	mu   sync.Mutex
	told [refusals]struct {
		last  time.Time
		count uint64 // since then
	}
}

const tellEvery = time.Second

func newQuietLog(l *slog.Logger) *quietLog { return &quietLog{Logger: l} }

func (q *quietLog) refusal(why Refusal, attributes ...any) {
	q.mu.Lock()
	told := &q.told[why]
	now := time.Now()
	if !told.last.IsZero() && now.Sub(told.last) < tellEvery {
		told.count++
		q.mu.Unlock()
		return
	}
	untold := told.count
	told.last, told.count = now, 0
	q.mu.Unlock()
	attributes = append(attributes, "reason", why.String())
	if untold > 0 {
		attributes = append(attributes, "more_untold", untold)
	}
	q.Warn("refused", attributes...)
}
