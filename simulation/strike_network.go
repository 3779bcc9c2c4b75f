// Faults of the network.

package simulation

import (
	"math"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/choice"
)

// drawLink strikes a message of one link.
func drawLink(w *world, s *Strike) {
	s.Lasts = 0
	s.Other = (s.Node + 1 + w.swarm.random.IntN(max(len(w.nodes)-1, 1))) % len(w.nodes)
}

func drawSlowLink(w *world, s *Strike) bool {
	lasts := s.Lasts
	drawLink(w, s)
	s.Lasts, s.Count = lasts, int64(w.swarm.span(w.options.Timing.Detection()))
	return s.Node != s.Other && s.Count > 0
}

// slowDown makes every message of a link take longer, by s.Count nanoseconds.
func slowDown(w *world, s *Strike) bool {
	w.network.begin(trouble{links: [][2]int{{s.Node, s.Other}}, slow: time.Duration(s.Count), lasts: s.Lasts}, s.Fault)
	return true
}

func drawStale(w *world, s *Strike) bool {
	p := &w.network.old[w.swarm.random.IntN(oldParcels)]
	s.Node, s.Other, s.Count, s.Lasts = int(p.from), int(p.to), int64(p.number), 0
	return p.number != 0 && !p.engine
}

// message is the one that is sent again: number s.Count of a link.
func (s *Strike) message() choice.Address {
	return choice.Address{Kind: choice.Fate, Node: uint8(s.Node), To: uint8(s.Other), Number: uint32(s.Count)}
}

// replay delivers once more a message that was sent long ago.
func replay(w *world, s *Strike) bool {
	p := w.network.wanted[s.message()]
	for i := range w.network.old {
		if o := &w.network.old[i]; p == nil && !o.engine && o.number == uint32(s.Count) && int(o.from) == s.Node && int(o.to) == s.Other {
			p = o
		}
	}
	if p == nil {
		w.misses(s, "no such message was sent before")
		return false
	}
	w.network.again(p, defaultDelay)
	return true
}

func drawCorrupt(w *world, s *Strike) bool {
	drawLink(w, s)
	s.Count = 1 + w.swarm.random.Int64N(damages)
	return s.Node != s.Other
}

// corrupt has the next message of a link damaged. The strike is counted when the message is refused.
func corrupt(w *world, s *Strike) bool {
	w.network.links[s.Node][s.Other].damage = uint8(s.Count)
	w.check.Ambiguous = true
	return false
}

const damages = 6

// damage damages a message in a way that its addressee must notice.
func damage(m *rpc.Body, how uint8) {
	switch how {
	case 1:
		m.Kind = rpc.TakeLeadershipResponse + 1
	case 2:
		m.Mark = rpc.Vouched + 1
	case 3:
		m.Result ^= 0x80
	case 4:
		m.Lease = -1
	case 5:
		m.Term = math.MaxUint64
	default:
		m.RoundTrip = -1
	}
}

// drawCut draws the links that are cut.
func drawCut(w *world, s *Strike) bool {
	r := w.swarm.random
	switch s.Fault {
	case OneWayCut:
		if other := r.IntN(len(w.nodes)); other != s.Node {
			s.Links = [][2]int{{s.Node, other}}
		}
	case LeaderMute: // no message from the leader arrives, and all messages to it do
		if leader := w.leader(s.Group); leader != nil {
			s.Links = w.linksBetween(func(from, _ int) bool { return from == leader.Index })
		}
	case LeaderMinority:
		if leader := w.leader(s.Group); leader != nil {
			with := w.swarm.minority(len(w.nodes), leader.Index)
			s.Links = w.linksBetween(func(from, to int) bool { return with[from] != with[to] })
		}
	case Isolation:
		s.Links = w.linksBetween(func(from, to int) bool { return (from == s.Node) != (to == s.Node) })
	case NeighboursOnly: // every node reaches two others
		at := r.Perm(len(w.nodes))
		s.Links = w.linksBetween(func(from, to int) bool {
			apart := (at[from] - at[to] + len(at)) % len(at)
			return apart != 1 && apart != len(at)-1
		})
	case Bridge: // two parts, and one node that both can reach
		mask := r.Uint64()
		s.Links = w.linksBetween(func(from, to int) bool {
			return from != s.Node && to != s.Node && mask>>from&1 != mask>>to&1
		})
	default: // Partition: in two parts
		mask := r.Uint64()
		s.Links = w.linksBetween(func(from, to int) bool { return mask>>from&1 != mask>>to&1 })
	}
	return len(s.Links) > 0
}

// linksBetween are the links for which severed holds.
func (w *world) linksBetween(severed func(from, to int) bool) (links [][2]int) {
	for i := range w.nodes {
		for j := range w.nodes {
			if i != j && severed(i, j) {
				links = append(links, [2]int{i, j})
			}
		}
	}
	return links
}

// minority draws less than half of the nodes, including a given one.
func (s *swarm) minority(nodes, one int) []bool {
	in := make([]bool, nodes)
	in[one] = true
	size := s.random.IntN((nodes + 1) / 2)
	for _, i := range s.random.Perm(nodes)[:size] {
		in[i] = in[i] || size > 1
	}
	return in
}

func drawFlap(w *world, s *Strike) bool {
	s.Fault = Partition
	drawCut(w, s)
	s.Fault = Flap
	s.Count = 2 + 2*w.swarm.random.Int64N(5)
	return len(s.Links) > 0
}

// cut cuts links for a while. A flapping link comes back and is cut again, s.Count times
// in all.
func cut(w *world, s *Strike) bool {
	flaps := 0
	if s.Fault == Isolation && len(s.Links) == 0 { // a scenario may leave them out
		s.Links = w.linksBetween(func(from, to int) bool { return (from == s.Node) != (to == s.Node) })
	}
	if s.Fault == Flap {
		flaps = int(s.Count) &^ 1
	}
	w.network.begin(trouble{links: s.Links, flaps: flaps, lasts: s.Lasts / time.Duration(flaps+1)}, s.Fault)
	return len(s.Links) > 0
}

// drawLeader strikes the leader.
func drawLeader(w *world, s *Strike) bool {
	leader := w.leader(s.Group)
	if leader != nil {
		s.Node = leader.Index
	}
	return leader != nil
}

// crashAndTell crashes a node. The nodes that it could reach notice that their connections break: at
// once, or when the node may have been back for long.
func crashAndTell(w *world, s *Strike) bool {
	if !crash(w, s) {
		return false
	}
	told := defaultDelay
	if s.Fault == LateHint {
		told += s.Lasts
	}
	for i := range w.nodes {
		if i != s.Node && w.network.links[s.Node][i].cuts == 0 {
			w.follow(told, Strike{Fault: FalseHint, Node: i, Other: s.Node})
		}
	}
	return true
}

func drawFalseHint(w *world, s *Strike) bool {
	leader := w.nodes[s.Node].members[s.Group].group.State().Leader
	if s.Lasts = 0; leader == memberstate.Nobody || leader == w.nodes[s.Node].Seat {
		return false
	}
	s.Other = int(leader) - 1
	s.Count = w.swarm.random.Int64N(4)
	return w.nodes[s.Other].Alive
}

// hint tells a node that its connection to another one is lost. If s.Count is 1 or 3 it tells all
// nodes, and if it is 2 or 3 the other node is also cut off.
func hint(w *world, s *Strike) bool {
	if s.Other < 0 {
		return false
	}
	if s.Count&2 != 0 {
		links := w.linksBetween(func(from, to int) bool { return (from == s.Other) != (to == s.Other) })
		w.network.begin(trouble{links: links, lasts: w.options.Timing.Detection()}, s.Fault)
	}
	told, lost := false, w.nodes[s.Other].name()
	for i := range w.nodes {
		if n := &w.nodes[i]; n.Alive && i != s.Other && (i == s.Node || s.Count&1 != 0) {
			n.ask(protocol.Request{Subject: protocol.Subject{Kind: protocol.TellPeerLost, Node: lost}})
			told = true
		}
	}
	return told
}
