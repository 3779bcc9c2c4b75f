// Callbacks for metrics.

package elector

import (
	"time"

	"github.com/hustings/hustings/rpc"
)

// Metrics holds functions that a host calls when something happens. Any may be
// nil. The host's loop calls them and waits for them, and other goroutines call them
// at the same time: they must return at once, be safe for concurrent use, and must
// not call the host or its electors. Package metrics, a module of its own, provides
// functions that feed Prometheus.
type Metrics struct {
	// Changed receives a member's status after every change.
	Changed func(s Status)
	// Asked is called when a member begins a round of votes, or of pre-votes if
	// mark says so.
	Asked func(group string, mark rpc.Mark)
	// Judged receives the outcome of such a round. It is not called for a round
	// that ends because another member leads.
	Judged func(group string, mark rpc.Mark, judged Judgement)
	// Answered receives a member's answer to a request for its vote.
	Answered func(group string, mark rpc.Mark, result rpc.Result)
	// QuorumHeard receives, on a leader, the time from sending a heartbeat until
	// a quorum had answered it.
	QuorumHeard func(group string, took time.Duration)
	// Rests is called when a leader begins to leave its heartbeats to its node, in the cohort of this
	// number, and with 0 when it sends them itself again. QuorumHeard is not called meanwhile. The leaders of
	// a cohort have the same quorums.
	Rests func(group string, cohort uint32)
	// CohortHeard does what QuorumHeard does, for all leaders of a cohort at once: it receives the
	// time from sending a beat of the node until a quorum had answered it.
	CohortHeard func(cohort uint32, took time.Duration)
	// Saved receives the size of a batch of records, and how long the store took to save it.
	Saved func(records int, took time.Duration, err error)
	// Sent receives the messages that were passed to the transport. It must not
	// keep the batch.
	Sent func(to string, batch []rpc.Message)
	// BeatSent is called for each beat that was passed to the transport, for all groups that the node shares
	// with another one.
	BeatSent func(to string)
	// Dropped receives how many inputs were ignored, and why.
	Dropped func(why Drop, n int)
}
