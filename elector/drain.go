// Taking a node out of service without loss: Drain hands over all that it leads, Serve (keep.go) takes it back.

package elector

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/rpc"
)

// Progress is how far a node has come with handing over what it leads.
type Progress = protocol.Progress

// StuckError says that a node still leads groups, because nobody can take them over for now.
type StuckError struct {
	Progress Progress
	// Cause is why Drain did not wait any longer; nil: because all that are left have been tried several times.
	Cause error
}

func (e *StuckError) Error() string {
	p := &e.Progress
	text := fmt.Sprintf("elector: the node still leads %d groups", p.Led)
	switch p.Led {
	case 0:
		text = "elector: the node leads nothing, but not yet for a heartbeat"
	case 1:
		text = "elector: the node still leads 1 group"
	}
	var parts []string
	if under := p.Waiting + p.Moving; under > 0 {
		parts = append(parts, fmt.Sprintf("%d to be handed over", under))
	}
	for why, n := range p.Stuck {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", n, protocol.Stuck(why)))
		}
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *StuckError) Unwrap() error { return e.Cause }

// Drain has this node lead nothing. It hands over each group that it leads to a voter that is caught up and whose
// node serves, 128 groups at a time, while service goes on. From then on no leader hands over to this node, and
// it leads only what nobody else can. It votes and follows as ever. That lasts until Serve or Undrain, or until the process ends:
// a new one serves, unless KeepDrained says otherwise.
//
// Drain returns nil once the node has led nothing for a heartbeat. It returns a *StuckError when all groups that are
// left have been tried three times, or when the context ends. Even then the node goes on draining, and groups that could not
// be handed over are led, and tried again, ever more rarely, or as soon as somebody can take them over. If the node leads
// something while it is protected, the error wraps ErrProtected, and the node goes on once that is over. Calls may overlap.
func (h *Host) Drain(ctx context.Context) error {
	return h.DrainInFlight(ctx, 0, false)
}

// DrainPatiently does what Drain does, and goes on waiting for groups whose other voters are able to lead and cannot take over yet:
// they may be catching up. It returns a *StuckError when the context ends, or when nobody is there to take over any of
// the groups that are left, which have been tried three times.
func (h *Host) DrainPatiently(ctx context.Context) error {
	return h.DrainInFlight(ctx, 0, true)
}

// DrainInFlight does what Drain does, or DrainPatiently, and hands over so many groups at a time; 0: 128. Fewer spare engines
// whose handovers cost much. A drain under way goes on with the new number, also with that of Close, which hands over 128 at a time.
func (h *Host) DrainInFlight(ctx context.Context, groups int, patiently bool) error {
	if groups < 0 || groups > math.MaxInt32 {
		return &ConfigError{Field: "DrainInFlight", Problem: fmt.Sprintf("is %d, want 0 to %d", groups, math.MaxInt32)}
	}
	if err := h.ordered(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskDrain}, Number: uint32(groups)}); err != nil {
		return err
	}
	enough := func(p *Progress) bool { return p.Hopeless && (!patiently || p.Deserted()) }
	for p := range h.WatchProgress(ctx) {
		switch {
		case p.Standing.State == rpc.Drained:
			return nil
		case p.Standing.State == rpc.Serving:
			return ErrServing
		case p.Protected && p.Led > 0:
			return &StuckError{p, ErrProtected}
		case enough(&p):
			return &StuckError{Progress: p}
		}
	}
	return &StuckError{h.progress.Load(), context.Cause(ctx)}
}

// Protect has this node hand over nothing of its own accord, or do so again: a Drain waits, and preferred members are offered
// nothing. It is for operators who want a cluster to hold still until they know what is wrong. Handovers under way
// end as usual, orders for one group are done, and a leader that is not able to lead hands over as ever. It lasts until
// Protect(false), Close, or the end of the process.
func (h *Host) Protect(on bool) error {
	return h.ordered(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskProtect}, Never: !on})
}

// Progress is how far the node has come with handing over what it leads, now.
func (h *Host) Progress() Progress { return h.progress.Load() }

// WatchProgress yields the node's progress, now and after every change, until the context ends. A slow reader skips changes, but
// never the latest.
func (h *Host) WatchProgress(ctx context.Context) iter.Seq[Progress] {
	return h.progress.Watch(ctx, func(Progress) bool { return false })
}

// handOver drains a node that leads more groups than are handed over at a time, and returns when nobody can take over those
// that are left. It says whether the node drains now and did not before.
func (h *Host) handOver(ctx context.Context) (drains bool) {
	_ = h.Protect(false) // all is given up anyway, and better a few at a time
	before := h.progress.Load()
	if ctx.Err() != nil || before.Led <= protocol.UsualMoves || h.order(protocol.AskDrain) != nil {
		return false
	}
	for p := range h.WatchProgress(ctx) {
		if p.Protected {
			_ = h.Protect(false) // it was ordered meanwhile
		}
		if p.Waiting+p.Moving == 0 {
			break
		}
	}
	return before.Standing.State == rpc.Serving
}

// standAsBefore has a node whose groups have all ended lead those that join later: it is protected no more, and serves if it has drained only
// to be closed.
func (h *Host) standAsBefore(drains bool) error {
	if !drains && !h.progress.Load().Protected {
		return nil
	}
	if err := h.claim(); err != nil {
		return err
	}
	defer h.release()
	if !h.awaitLoop() { // a loop that was started meanwhile runs, and the node is its own; no other one is started now
		return nil
	}
	h.node.Protect(false) // the order came when no loop ran to end it, or while the groups ended
	if drains {
		h.node.Serve()
	}
	return nil
}

// order gives the node an order that concerns all groups, and returns when it has been taken.
func (h *Host) order(kind protocol.RequestKind) error {
	return h.ordered(protocol.Request{Subject: protocol.Subject{Kind: kind}})
}

func (h *Host) ordered(r protocol.Request) error {
	taken := make(chan struct{})
	r.Then = func() { close(taken) }
	if !h.request(r) {
		return h.runsNoGroup()
	}
	<-taken
	return nil
}

func (h *Host) runsNoGroup() error {
	return protocol.Say(ErrStopped, "node %q runs no group", h.config.Self)
}

// Progress publishes how far the node has come. What the store remembers, only the host knows.
func (h *edge) Progress(p protocol.Progress) {
	h.progress.Update(func(before Progress) (Progress, bool) { p.Kept = before.Kept; return p, true })
}
