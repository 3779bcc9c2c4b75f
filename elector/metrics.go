// What happens at a host, told to those who measure.

package elector

import (
	"time"

	"github.com/hustings/hustings/memberstate"
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

// quorumHeard is the last beat that a leader's quorum was seen to have answered.
type quorumHeard struct {
	term memberstate.Term
	beat uint32
}

// countQuorum looks whether a quorum has answered another beat. The first look in
// a term only takes note, for then no beat has been answered yet.
func (h *Host) countQuorum(g *group) {
	m := &g.machine
	if h.metrics.QuorumHeard == nil || m.Role != memberstate.Leader || g.sent == nil {
		return
	}
	before, now := g.sent.heard, quorumHeard{m.Term, m.heardBeat}
	g.sent.heard = now
	if now.term != before.term || now.beat == before.beat {
		return
	}
	if sent, known := g.sent.beat(m, now.beat); known {
		h.metrics.QuorumHeard(g.name, h.now-sent)
	}
}

// timedSave saves, and tells how long it took.
func (h *Host) timedSave(batch []memberstate.Record) error {
	began := h.elapsed()
	err := h.config.Store.Save(batch)
	if f := h.metrics.Saved; f != nil {
		f(len(batch), h.elapsed()-began, err)
	}
	return err
}

func (h *Host) countSent(to string, batch []rpc.Message) {
	if f := h.metrics.Sent; f != nil {
		f(to, batch)
	}
}

func (fx *effects) countVoting(m *Message) {
	f := &fx.host.metrics
	switch {
	case m.Kind == rpc.VoteRequest && f.Asked != nil:
		f.Asked(fx.group.name, m.Mark)
	case m.Kind == rpc.VoteResponse && f.Answered != nil:
		f.Answered(fx.group.name, m.Mark, m.Result)
	}
}

func (fx *effects) Judge(asked rpc.Mark, judged Judgement) {
	if f := fx.host.metrics.Judged; f != nil {
		f(fx.group.name, asked, judged)
	}
}
