// The host's side of protocol.Edge: transport, disk, random numbers, metrics and log.

package elector

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// edge is a Host seen as a protocol.Edge. The loop calls its methods.
type edge Host

// Draw uses the process's own random numbers, because alarms need to differ, but need not
// be secret or repeatable.
func (h *edge) Draw(_ *protocol.Group, a protocol.Alarm) time.Duration {
	if a.Max <= a.Min {
		return a.Min
	}
	return a.Min + rand.N(a.Max-a.Min)
}

func (h *edge) Send(to string, batch []rpc.Message) {
	h.config.Transport.Send(to, batch)
	if f := h.metrics.Sent; f != nil {
		f(to, batch)
	}
}

// Save saves in a goroutine of its own, so that the loop need not wait for the disk.
func (h *edge) Save(batch []memberstate.Record) {
	host := (*Host)(h)
	go func() {
		r := protocol.Request{Subject: protocol.Subject{Kind: protocol.TellSaved}, Err: errExited}
		defer func() { host.request(r) }()
		began := host.elapsed()
		r.Err = h.store.Save(batch)
		if f := h.metrics.Saved; f != nil {
			f(len(batch), host.elapsed()-began, r.Err)
		}
	}()
}

// AskStalled calls the engine's Stalled in a goroutine of its own. Its context ends when the answer is overdue.
func (h *edge) AskStalled(within time.Duration) bool {
	if h.config.Stalled == nil {
		return false
	}
	host := (*Host)(h)
	go func() {
		r := protocol.Request{Subject: protocol.Subject{Kind: protocol.TellStalled}}
		defer func() { host.request(r) }()
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		r.Stalled = host.named(h.config.Stalled(ctx))
	}()
	return true
}

// Groups are the groups that have joined and have not ended.
func (h *edge) Groups() []*protocol.Group {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.intake.Groups()
}

func (h *edge) Drop(why protocol.Drop, n int) { (*Host)(h).drop(why, n) }

func (h *edge) Judge(g *protocol.Group, asked rpc.Mark, judged protocol.Judgement) {
	if f := h.metrics.Judged; f != nil {
		f(g.Name(), asked, judged)
	}
}

func (h *edge) Voting(g *protocol.Group, m *protocol.Message) {
	switch f := &h.metrics; {
	case m.Kind == rpc.VoteRequest && f.Asked != nil:
		f.Asked(g.Name(), m.Mark)
	case m.Kind == rpc.VoteResponse && f.Answered != nil:
		f.Answered(g.Name(), m.Mark, m.Result)
	}
}

func (h *edge) QuorumHeard(g *protocol.Group, took time.Duration) {
	if f := h.metrics.QuorumHeard; f != nil {
		f(g.Name(), took)
	}
}

func (h *edge) Rests(g *protocol.Group, cohort uint32) {
	if f := h.metrics.Rests; f != nil {
		f(g.Name(), cohort)
	}
}

func (h *edge) CohortHeard(cohort uint32, took time.Duration) {
	if f := h.metrics.CohortHeard; f != nil {
		f(cohort, took)
	}
}

// NotTransferred warns. What the node has begun of its own accord is logged as information only, because
// it is repeated.
func (h *edge) NotTransferred(_ *protocol.Group, failed *protocol.TransferError, repeated bool) {
	level := slog.LevelWarn
	if repeated {
		level = slog.LevelInfo
	}
	h.log.Log(context.Background(), level, "leadership was not transferred",
		"group", failed.Group, "term", uint64(failed.Term), "reason", failed.Reasons())
}

func (h *edge) LeadFailed(g *protocol.Group, term memberstate.Term, err error) {
	h.log.Warn("lead returned early, resigning", "group", g.Name(), "term", uint64(term), "error", err)
}

func (h *edge) Failed(g *protocol.Group, err error) {
	h.log.Error("stopped", "group", g.Name(), "term", uint64(electorOf(g).view.Load().Term), "error", err)
}

func (h *edge) TooFarApart(g *protocol.Group, peer string, term memberstate.Term, untold uint64) {
	h.log.Warn("the term of a peer is too far above this member's, so the peer's messages are dropped. "+
		"If this goes on, the two never agree; then stop this node and raise its term to the peer's",
		"group", g.Name(), "peer", peer, "peer_term", uint64(term), "term", uint64(g.Term),
		"most_apart", uint64(memberstate.MaxTermStep), "more_untold", untold)
}
