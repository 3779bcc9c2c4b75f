// What the transport counts, and how it tells of what it refuses.

package grpcrpc

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refusal is why someone, or something, was turned away.
type Refusal uint8

const (
	// RefusedHandshake: the certificate was missing, wrong or out of date, or
	// what came was no TLS at all.
	RefusedHandshake Refusal = iota
	// RefusedSilence: a connection ended before it had said anything of use.
	RefusedSilence
	// RefusedCrowd: too many connections that had made no call, or too many of
	// those that had made one and are no peers; the oldest went.
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
	// RefusedFlood: more came over a connection than may wait to be understood.
	RefusedFlood
	// RefusedCertificate: the certificate of an open connection is out of date, or
	// its authority is not believed any more.
	RefusedCertificate
	// RefusedReload: this node's own certificates have changed and cannot be
	// used, so those before go on being used.
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
	// Dropped counts messages for which there was no peer, no room or no handler,
	// and heartbeats that a newer one superseded before they were sent.
	Dropped uint64
	// Connected counts connections to peers that came about.
	Connected uint64
	// TwoProcesses counts how often two processes were found to claim one id:
	// a peer's, or this node's own, as a peer has told.
	TwoProcesses uint64
	// Refused counts what was turned away, by reason.
	Refused map[Refusal]uint64
}

type counts struct {
	sent, received, dropped, connected, twoProcesses atomic.Uint64

	refused [refusals]atomic.Uint64
}

// Stats counts what the transport has done.
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

// refuse counts and tells.
func (t *Transport) refuse(why Refusal, attributes ...any) {
	t.counts.refused[why].Add(1)
	t.log.refusal(why, attributes...)
}

// reportTwo tells that two processes claim to be a peer, and returns what to tell
// the one that is turned away.
func (t *Transport) reportTwo(l *link, one, other *connection) error {
	t.counts.twoProcesses.Add(1)
	if _, due := l.toldTwo.over(tellTwoEvery); due {
		t.log.Warn("two processes claim to be "+l.peer, "peer", l.peer, "one", one.remote, "other", other.remote)
	}
	return status.Errorf(codes.AlreadyExists, "node %s is called by two processes that claim to be %s, from %s and %s",
		t.self, l.peer, one.remote, other.remote)
}

// reportTwoOfUs tells that another process claims to be this node, as a peer says.
func (t *Transport) reportTwoOfUs(by string, err error) {
	t.counts.twoProcesses.Add(1)
	if _, due := t.toldTwo.over(tellTwoEvery); due {
		t.log.Warn("two processes claim to be "+t.self, "peer", by, "error", status.Convert(err).Message())
	}
}

// quietLog is a logger that tells of each kind of refusal once in a while, so
// that whoever floods the port does not flood the log.
type quietLog struct {
	*slog.Logger
	told [refusals]lull
}

const (
	tellEvery    = time.Second
	tellTwoEvery = time.Minute
)

func newQuietLog(l *slog.Logger) *quietLog { return &quietLog{Logger: l} }

func (q *quietLog) refusal(why Refusal, attributes ...any) {
	untold, due := q.told[why].over(tellEvery)
	if !due {
		return
	}
	attributes = append(attributes, "reason", why.String())
	if untold > 0 {
		attributes = append(attributes, "more_untold", untold)
	}
	q.Warn("refused", attributes...)
}

// lull is the time after something was told in which it is not told again.
type lull struct {
	mu     sync.Mutex
	last   time.Time
	untold uint64 // since then
}

// over says whether to tell now, and how much went untold before.
func (l *lull) over(every time.Duration) (untold uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < every {
		l.untold++
		return 0, false
	}
	untold = l.untold
	l.last, l.untold = now, 0
	return untold, true
}
