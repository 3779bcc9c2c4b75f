// The host's side of protocol.BeatEdge: beats between nodes.

package elector

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// beatEdge is a Host seen as a protocol.BeatEdge. The loop calls its methods.
type beatEdge struct {
	host      *Host
	transport rpc.BeatTransport
}

// exchange has the node exchange beats, if its transport carries them and nobody objects. The node counts
// this start of its process first. Entering is held, and no loop runs.
func (h *Host) exchange() error {
	t, carries := h.config.Transport.(rpc.BeatTransport)
	if !carries || h.config.NoNodeBeats || h.exchanges {
		return nil
	}
	starts, err := memberstate.CountStart(&h.store, uint64(max(h.clock().Unix(), 1)))
	if err != nil {
		return fmt.Errorf("elector: counting the start of node %q: %w", h.config.Self, err)
	}
	h.exchanges = true
	h.node.Exchange(starts, uint16(rand.Uint32()), beatEdge{h, t})
	return nil
}

// ReceiveBeat takes a beat that the transport delivers.
func (h *Host) ReceiveBeat(b *rpc.Beat) {
	h.mu.Lock()
	kept := h.intake.ReceiveBeat(b)
	h.mu.Unlock()
	if !kept {
		h.drop(protocol.DropQueueFull, 1)
	}
	h.wakeLoop()
}

// SendBeat sends a beat to one node.
func (e beatEdge) SendBeat(to string, b *rpc.Beat) {
	e.transport.SendBeat(to, b)
	if f := e.host.metrics.BeatSent; f != nil {
		f(to)
	}
}

// HoldShared begins, extends or ends (zero) a lease that groups share.
func (e beatEdge) HoldShared(number uint32, until time.Duration) {
	h := e.host
	switch s := h.shared[number]; {
	case until == 0:
		delete(h.shared, number)
		s.End()
	case s == nil:
		h.shared[number] = office.NewShared(until, h.elapsed, func() {
			h.request(protocol.Request{Subject: protocol.Subject{Kind: protocol.TellSharedLeaseOver}, Number: number})
		})
	default:
		s.Extend(until, h.now)
	}
}

// Outdated reports that this node stops for good.
func (e beatEdge) Outdated(err error) {
	e.host.log.Error("this node stops for good, and its store must not be used again", "error", err)
}

// OlderProcess warns of a peer whose store was put back, or of which two processes run.
func (e beatEdge) OlderProcess(peer string, start, known uint64) {
	e.host.log.Warn("an earlier process of a peer speaks: its store was put back to an older copy, or two processes run under its id. It is ignored",
		"peer", peer, "start", start, "known_start", known)
}

// Group is the group of this name; nil if there is none.
func (e beatEdge) Group(name string) *protocol.Group {
	e.host.mu.Lock()
	defer e.host.mu.Unlock()
	return e.host.intake.Group(name)
}
