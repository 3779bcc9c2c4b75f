// What a host knows of itself and of other nodes, for operators: it is read from the loop's node on request.

package elector

import (
	"context"
	"math/rand/v2"

	"github.com/hustings/hustings/elector/protocol"
)

// Nodes returns what this node knows of every other node with which it shares groups that take part, by id. There are
// none while no group runs. It waits until the host's loop has time for it.
func (h *Host) Nodes(ctx context.Context) ([]protocol.Peer, error) {
	peers, _, err := ask(ctx, h, protocol.Subject{Kind: protocol.AskPeers}, func(s protocol.Shown) []protocol.Peer { return s.Peers })
	return peers, err
}

// StuckGroups names groups that a Drain cannot hand over for now: for each reason at most 100, those that it has tried most
// often first. It waits until the host's loop has time for it.
func (h *Host) StuckGroups(ctx context.Context) ([]protocol.StuckGroup, error) {
	stuck, _, err := ask(ctx, h, protocol.Subject{Kind: protocol.AskStuck}, func(s protocol.Shown) []protocol.StuckGroup { return s.Stuck })
	return stuck, err
}

// Self is the id of this node.
func (h *Host) Self() string { return h.config.Self }

// Incarnation names this process among those of its node, so that a command can be meant for it alone; 0: no group
// has been started yet. If the node exchanges beats, they carry it.
func (h *Host) Incarnation() uint64 { return h.incarnation.Load() }

// nameProcess names this process when its first group is about to take part.
func (h *Host) nameProcess() {
	own := h.node.Incarnation()
	if own == 0 { // it exchanges no beats
		own = rand.Uint64()>>16 | 1 // as many bits as programs can read in JSON
	}
	h.incarnation.CompareAndSwap(0, own)
}
