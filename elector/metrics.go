// What happens at a host, told to those who measure.

package elector

import (
	"time"

	"github.com/hustings/hustings/rpc"
)

// Metrics holds the functions that are told what happens at a host. Any may be
// nil. They are called from the host's loop, which waits for them, and beside it:
// they must return at once, be safe for concurrent use, and must not call the
// host or its electors. Package metrics, a module of
// its own, has those that keep figures for Prometheus.
type Metrics struct {
	// Changed is told what a member is, after every change.
	Changed func(s Status)
	// Asked is told when a member begins a round: of pre-votes, if marked so, or
	// of votes.
	Asked func(group string, mark rpc.Mark)
	// Judged is told how such a round ended. One that was overtaken by another's
	// leadership is not judged.
	Judged func(group string, mark rpc.Mark, judged Judgement)
	// Answered is told what a member answered to a request for its vote.
	Answered func(group string, mark rpc.Mark, result rpc.Result)
	// QuorumHeard is told by a leader how long it took from sending a heartbeat
	// until a quorum had answered it.
	QuorumHeard func(group string, took time.Duration)
	// Saved is told how long the store took for a batch of so many records.
	Saved func(records int, took time.Duration, err error)
	// Sent is told of messages that the transport was given. It must not keep
	// the batch.
	Sent func(to string, batch []rpc.Message)
	// Dropped is told how many inputs were ignored, and why.
	Dropped func(why Drop, n int)
}
