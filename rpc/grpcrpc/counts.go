// The transport's counters, and the log of refusals.

package grpcrpc

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refusal is the reason why a connection, a call or a message was refused.
type Refusal uint8

const (
	// RefusedHandshake: the certificate was missing, wrong or out of date, or the
	// other side did not use TLS.
	RefusedHandshake Refusal = iota
	// RefusedSilence: a connection ended before it had made a call.
	RefusedSilence
	// RefusedCrowd: there were too many connections without a call, or too many
	// connections with calls that were not from peers; the oldest was closed.
	RefusedCrowd
	// RefusedRole: the certificate does not allow the call.
	RefusedRole
	// RefusedIdentity: a node claims to be another, is not among the peers, or
	// expects another node here.
	RefusedIdentity
	// RefusedMessage: a message or a beat was malformed.
	RefusedMessage
	// RefusedPeer: a peer sent too much that was malformed, or too large.
	RefusedPeer
	// RefusedFlood: too many bytes arrived over a connection before they could be
	// processed.
	RefusedFlood
	// RefusedCertificate: the certificate of an open connection is out of date, or
	// its authority is no longer trusted.
	RefusedCertificate
	// RefusedReload: this node's own certificates have changed and cannot be
	// used, so the node goes on with the previous ones.
	RefusedReload

	refusals
)

var refusalNames = [refusals]string{"handshake", "silence", "crowd", "role", "identity", "message", "peer", "flood", "certificate", "reload"}

// String names the refusal for logs and metrics.
func (r Refusal) String() string {
	if r < refusals {
		return refusalNames[r]
	}
	return "unknown"
}

// Refusals lists all reasons.
func Refusals() []Refusal {
	all := make([]Refusal, refusals)
	for i := range all {
		all[i] = Refusal(i)
	}
	return all
}

// Stats has counts since the transport was made. A beat counts as a message.
type Stats struct {
	// Sent and Received count messages.
	Sent, Received uint64
	// Dropped counts messages without a peer, room, a connection or a handler,
	// heartbeats that a newer one superseded before they were sent, and beats for a node
	// that takes none. What still waits when a peer is removed, or at Close, counts, too.
	Dropped uint64
	// Connected counts connections that were made with peers.
	Connected uint64
	// TwoProcesses counts how often two processes claimed the same id: a peer's, or
	// this node's own, as a peer has reported.
	TwoProcesses uint64
	// Refused counts refusals, by reason.
	Refused map[Refusal]uint64
}

type counts struct {
	sent, received, dropped, connected, twoProcesses atomic.Uint64

	refused [refusals]atomic.Uint64
}

// Stats returns the transport's counts.
func (t *Transport) Stats() Stats {
	s := Stats{
		Sent: t.counts.sent.Load(), Received: t.counts.received.Load(),
		Dropped: t.counts.dropped.Load(), Connected: t.counts.connected.Load(),
		TwoProcesses: t.counts.twoProcesses.Load(),
		Refused:      make(map[Refusal]uint64, refusals),
	}
	for r := range refusals {
		s.Refused[r] = t.counts.refused[r].Load()
	}
	return s
}

// refuse counts and logs a refusal.
func (t *Transport) refuse(why Refusal, attributes ...any) {
	t.counts.refused[why].Add(1)
	t.log.refusal(why, attributes...)
}

// reportTwo counts and logs that two processes claim to be a peer. It returns the error for the
// process that is refused.
func (t *Transport) reportTwo(l *link, one, other *connection) error {
	t.counts.twoProcesses.Add(1)
	if _, due := l.twoLimit.allow(tellTwoEvery); due {
		t.log.Warn("two processes claim to be "+l.peer, "peer", l.peer, "one", one.remote, "other", other.remote)
	}
	return status.Errorf(codes.AlreadyExists, "node %s is called by two processes that claim to be %s, from %s and %s",
		t.self, l.peer, one.remote, other.remote)
}

// reportTwoOfUs counts and logs that, according to a peer, another process claims to be this node.
func (t *Transport) reportTwoOfUs(by string, err error) {
	t.counts.twoProcesses.Add(1)
	if _, due := t.twoLimit.allow(tellTwoEvery); due {
		t.log.Warn("two processes claim to be "+t.self, "peer", by, "error", status.Convert(err).Message())
	}
}

// quietLog is a logger that limits the rate of each kind of refusal, so that a flood of the port
// does not flood the log.
type quietLog struct {
	*slog.Logger
	limits [refusals]rateLimit
}

const (
	tellEvery    = time.Second
	tellTwoEvery = time.Minute
)

func newQuietLog(l *slog.Logger) *quietLog { return &quietLog{Logger: l} }

func (q *quietLog) refusal(why Refusal, attributes ...any) {
	untold, due := q.limits[why].allow(tellEvery)
	if !due {
		return
	}
	attributes = append(attributes, "reason", why.String())
	if untold > 0 {
		attributes = append(attributes, "more_untold", untold)
	}
	q.Warn("refused", attributes...)
}

// rateLimit limits how often something is logged.
type rateLimit struct {
	mu     sync.Mutex
	last   time.Time
	untold uint64 // how often it was not logged since then
}

// allow says whether to log now, and how often it was not logged since the last time.
func (l *rateLimit) allow(every time.Duration) (untold uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.last) < every {
		l.untold++
		return 0, false
	}
	untold = l.untold
	l.last, l.untold = now, 0
	return untold, true
}
