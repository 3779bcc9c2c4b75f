// What can go wrong, and how much of it goes wrong in a run.

package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Fault is a kind of trouble.
type Fault uint8

// The faults.
const (
	Loss Fault = iota
	Delay
	Duplicate
	StaleMessage
	OneWayCut
	Partition
	Isolation
	LeaderCut
	Crash
	CrashInStep
	CrashAll
	Pause
	SlowDisk
	SaveFails
	ClockRate
	TrueHint
	FalseHint
	Transfer
	Resign
	Stand

	faults
)

var faultNames = [faults]string{
	"loss", "delay", "duplicate", "stale message", "one-way cut", "partition", "isolation", "leader cut",
	"crash", "crash in a step", "crash of all", "pause", "slow disk", "save fails", "clock rate",
	"true hint", "false hint", "transfer", "resign", "stand",
}

// String names the fault.
func (f Fault) String() string {
	if f < faults {
		return faultNames[f]
	}
	return "unknown fault"
}

// Faults lists all kinds.
func Faults() []Fault {
	all := make([]Fault, faults)
	for i := range all {
		all[i] = Fault(i)
	}
	return all
}

// swarm is the part of all faults that a run has. Each seed enables some, so that
// rare combinations occur, and none hides behind a frequent one.
type swarm struct {
	enabled  [faults]bool
	striking []Fault // those that strike at a time; the others are in every message, or in the clocks
	every    time.Duration
	struck   [faults]uint64
}

func drawSwarm(r *rand.Rand, o *Options) swarm {
	var s swarm
	for f := range faults {
		s.enabled[f] = o.Faults&(1<<f) != 0 && r.IntN(2) == 0
		if s.enabled[f] && f != Loss && f != Delay && f != Duplicate && f != ClockRate {
			s.striking = append(s.striking, f)
		}
	}
	d := int64(o.Timing.Detection())
	s.every = time.Duration(d/4 + r.Int64N(4*d))
	return s
}

func (s *swarm) has(f Fault) bool { return s.enabled[f] }

// drawRate is how much too fast a clock runs, in parts in a million: so much that a
// lease differs by less than its margin.
func (s *swarm) drawRate(r *rand.Rand) int64 {
	if !s.has(ClockRate) {
		return 0
	}
	s.struck[ClockRate]++
	const most = 20_000
	return r.Int64N(2*most+1) - most
}

// schedule draws when the next fault strikes.
func (s *swarm) schedule(w *world) {
	if len(s.striking) > 0 {
		w.events.push(event{at: w.now + 1 + int64(w.draw(2*s.every)), kind: faultStrikes})
	}
}

func (s *swarm) strike(w *world) {
	if w.calm {
		return
	}
	f := s.striking[w.random.IntN(len(s.striking))]
	if s.inflict(w, f, &w.nodes[w.random.IntN(len(w.nodes))]) {
		s.struck[f]++
	}
	s.schedule(w)
}

// inflict does what the fault is, mostly to one node, and says whether it could.
func (s *swarm) inflict(w *world, f Fault, n *node) bool {
	detection := w.options.Timing.Detection()
	lasts := detection/8 + w.draw(4*detection)
	switch f {
	case StaleMessage:
		return s.replay(w)
	case OneWayCut, Partition, Isolation, LeaderCut:
		links := w.linksOf(f, n)
		w.network.cut(links, lasts)
		return len(links) > 0
	case Crash, CrashAll:
		return s.crash(w, f, n, lasts)
	case CrashInStep: // counted when it does
		n.crashIn = 1 + w.random.IntN(6)
		return false
	case SlowDisk:
		n.disk.slow = !n.disk.slow
	case SaveFails: // counted when it does
		n.disk.failing = true
		return false
	default:
		return s.command(w, f, n, lasts)
	}
	return true
}

func (s *swarm) crash(w *world, f Fault, n *node, lasts time.Duration) bool {
	struck := false
	for i := range w.nodes {
		if v := &w.nodes[i]; v.alive && (v == n || f == CrashAll) {
			v.crash()
			w.after(w.draw(lasts), nodeRestarts, v, 0)
			struck = true
		}
	}
	return struck
}

// command does what is done to a living process, from outside.
func (s *swarm) command(w *world, f Fault, n *node, lasts time.Duration) bool {
	if !n.alive {
		return false
	}
	drawn := memberstate.Seat(1 + w.random.IntN(len(w.nodes)))
	switch f {
	case Pause:
		if n.paused {
			return false
		}
		n.paused = true
		w.after(lasts, pauseEnds, n, n.incarnation)
	case TrueHint, FalseHint:
		leader := n.machine.Leader
		if leader == memberstate.Nobody || leader == n.seat || w.nodes[leader-1].alive == (f == TrueHint) {
			return false
		}
		n.give(&elector.Input{Kind: elector.PeerLost, Seat: leader}, memberstate.Nobody)
	case Transfer:
		n.give(&elector.Input{Kind: elector.Transfer, Seat: drawn}, memberstate.Nobody)
	case Resign:
		n.give(&elector.Input{Kind: elector.Resign}, memberstate.Nobody)
	case Stand:
		n.give(&elector.Input{Kind: elector.Stand}, memberstate.Nobody)
	default: // the others are no commands
		return false
	}
	return true
}

// replay delivers something that was said long ago once more.
func (s *swarm) replay(w *world) bool {
	p := w.network.old[w.random.IntN(oldParcels)]
	if p.message.Kind == 0 {
		return false
	}
	w.network.launch(&p, w.network.takes())
	return true
}

// linksOf are the links that a fault cuts.
func (w *world) linksOf(f Fault, n *node) (links [][2]uint8) {
	var side func(*node) bool // whether a node is on the one side of the cut
	switch f {
	case LeaderCut: // what the leader says does not arrive, and it hears everything
		for i := range w.nodes {
			if w.nodes[i].machine.Role == memberstate.Leader && w.nodes[i].alive {
				n = &w.nodes[i]
			}
		}
		for i := range w.nodes {
			links = append(links, [2]uint8{uint8(n.index), uint8(i)})
		}
		return links
	case OneWayCut:
		return [][2]uint8{{uint8(n.index), uint8(w.random.IntN(len(w.nodes)))}}
	case Isolation:
		side = func(o *node) bool { return o == n }
	default: // a partition in two halves
		mask := w.random.Uint64()
		side = func(o *node) bool { return mask>>o.index&1 == 1 }
	}
	for i := range w.nodes {
		for j := range w.nodes {
			if side(&w.nodes[i]) != side(&w.nodes[j]) {
				links = append(links, [2]uint8{uint8(i), uint8(j)})
			}
		}
	}
	return links
}
