// What a node says of itself, and knows of the others.

package operator

import (
	"cmp"
	"context"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/proto/electorpb"
	"github.com/hustings/hustings/rpc"
)

// Nodes is a node, and what it knows of the other nodes with which it shares groups.
type Nodes struct {
	// Self is the node's id, and Incarnation names its process; see Client.ForProcess. Zero: it takes part in no group yet.
	Self        string
	Incarnation uint64
	// Groups is how many groups have joined.
	Groups int
	// Progress is whether it serves, how many groups it leads, and whether it stays drained over restarts.
	Progress elector.Progress
	// Peers are the others, by id.
	Peers []Peer
}

// Peer is what a node knows of another one, with its address in the node's configuration.
type Peer struct {
	protocol.Peer
	Address string
}

// Nodes asks the node about itself and about the others.
func (c *Client) Nodes(ctx context.Context) (Nodes, error) {
	answer, err := c.calls.Nodes(ctx, new(electorpb.NodesRequest))
	if err != nil {
		return Nodes{}, c.explain(err)
	}
	return decodeNodes(answer), nil
}

// Nodes is the node's side.
func (s *service) Nodes(ctx context.Context, _ *electorpb.NodesRequest) (*electorpb.NodesResponse, error) {
	peers, err := s.host.Nodes(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	now := Nodes{Self: s.host.Self(), Incarnation: s.host.Incarnation(), Groups: len(s.host.Electors()), Progress: s.host.Progress()}
	for _, p := range peers {
		now.Peers = append(now.Peers, Peer{p, s.address(p.ID)})
	}
	return encodeNodes(&now), nil
}

func encodeNodes(n *Nodes) *electorpb.NodesResponse {
	answer := &electorpb.NodesResponse{Node: n.Self, Incarnation: n.Incarnation, Groups: uint64(n.Groups), Progress: encodeProgress(n.Progress)}
	for i := range n.Peers {
		p := &n.Peers[i]
		w := &electorpb.Peer{
			Id: p.ID, Address: p.Address, Groups: uint64(p.Groups), Incarnation: p.Incarnation, Lost: p.Lost, Follow: uint64(p.Follow), Lead: uint64(p.Lead),
			Led: uint64(p.Led), Weight: uint64(p.Weight), Capacity: uint32(p.Capacity),
		}
		if p.Known {
			w.State = states[p.Standing.State].Enum()
		}
		if p.Heard {
			silence := int64(p.Silence)
			w.SilenceNanos = &silence
		}
		answer.Peers = append(answer.Peers, w)
	}
	return answer
}

func decodeNodes(answer *electorpb.NodesResponse) Nodes {
	n := Nodes{
		Self: answer.GetNode(), Incarnation: answer.GetIncarnation(), Groups: int(answer.GetGroups()), Progress: decodeProgress(answer.GetProgress()),
	}
	for _, w := range answer.GetPeers() {
		p := protocol.Peer{
			ID: w.GetId(), Groups: int(w.GetGroups()), Known: w.State != nil, Incarnation: w.GetIncarnation(), Heard: w.SilenceNanos != nil,
			Silence: time.Duration(w.GetSilenceNanos()), Lost: w.GetLost(), Follow: int(w.GetFollow()), Lead: int(w.GetLead()),
			Led: int(w.GetLed()), Weight: int(w.GetWeight()), Capacity: int(w.GetCapacity()),
		}
		if p.Known {
			p.Standing.State = decodeState(w.GetState())
		}
		n.Peers = append(n.Peers, Peer{p, w.GetAddress()})
	}
	return n
}

var states = []electorpb.NodeState{
	rpc.Serving:  electorpb.NodeState_NODE_STATE_UNSPECIFIED,
	rpc.Starting: electorpb.NodeState_NODE_STATE_STARTING,
	rpc.Draining: electorpb.NodeState_NODE_STATE_DRAINING,
	rpc.Drained:  electorpb.NodeState_NODE_STATE_DRAINED,
}

// decodeState reads a state. One that this version does not know is that of a node which does not serve.
func decodeState(w electorpb.NodeState) rpc.NodeState {
	return foundOr(states, w, rpc.Starting)
}

var stucks = []electorpb.Stuck{
	protocol.StuckNoVoter:    electorpb.Stuck_STUCK_NO_VOTER,
	protocol.StuckLeaving:    electorpb.Stuck_STUCK_LEAVING,
	protocol.StuckNotAble:    electorpb.Stuck_STUCK_NOT_ABLE,
	protocol.StuckBehind:     electorpb.Stuck_STUCK_BEHIND,
	protocol.StuckRefused:    electorpb.Stuck_STUCK_REFUSED,
	protocol.StuckNotPaused:  electorpb.Stuck_STUCK_NOT_PAUSED,
	protocol.StuckNotElected: electorpb.Stuck_STUCK_NOT_ELECTED,
	protocol.StuckBusy:       electorpb.Stuck_STUCK_BUSY,
}

// decodeStuck reads a reason. One that this version does not know is counted with those that it knows least about.
func decodeStuck(w electorpb.Stuck) protocol.Stuck {
	return foundOr(stucks, w, protocol.StuckBusy)
}

func encodeProgress(p elector.Progress) *electorpb.Progress {
	w := &electorpb.Progress{
		State: states[p.Standing.State], Led: uint64(p.Led), Waiting: uint64(p.Waiting), Moving: uint64(p.Moving), Moved: uint64(p.Moved), Hopeless: p.Hopeless, Protected: p.Protected, Kept: p.Kept,
		Weight: uint64(p.Weight), Capacity: uint32(p.Capacity),
	}
	for why, groups := range p.Stuck {
		if groups > 0 {
			w.Stuck = append(w.Stuck, &electorpb.StuckCount{Why: stucks[why], Groups: uint64(groups)})
		}
	}
	return w
}

func decodeProgress(w *electorpb.Progress) elector.Progress {
	p := elector.Progress{
		Standing: rpc.Standing{State: decodeState(w.GetState())}, Led: int(w.GetLed()), Waiting: int(w.GetWaiting()), Moving: int(w.GetMoving()),
		Moved: int(w.GetMoved()), Hopeless: w.GetHopeless(), Protected: w.GetProtected(), Kept: w.GetKept(),
		Weight: int(cmp.Or(w.GetWeight(), w.GetLed())), Capacity: int(cmp.Or(w.GetCapacity(), protocol.UsualCapacity)),
	}
	for _, count := range w.GetStuck() {
		p.Stuck[decodeStuck(count.GetWhy())] += int(count.GetGroups())
	}
	return p
}
