// Faults of processes, disks and clocks.

package simulation

import (
	"math/bits"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// crash kills a process. It is back after s.Lasts. One that is never back stays down at least until
// all is healed.
func crash(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive {
		return false
	}
	n.crash()
	if n.gone = s.Fault == NeverBack; !n.gone {
		n.comesBack(s.Lasts)
	}
	return true
}

// drawMinority strikes a node for good, as long as a majority is left.
func drawMinority(w *world, s *Strike) bool {
	s.Lasts = 0
	gone := 1
	for i := range w.nodes {
		if n := &w.nodes[i]; n.gone && !n.Alive {
			gone++
		}
	}
	return gone <= w.options.Members-w.check.Majority()
}

// doom has a process die when it next reaches a certain point of a step.
func doom(w *world, s *Strike) bool {
	n := w.struckBy(s)
	n.doomed, n.downFor, n.powerFor = s.Fault, s.Lasts, time.Duration(s.Count)
	return false
}

// drawKill has the power fail in half of the cases, while the next process runs.
func drawKill(w *world, s *Strike) bool {
	if w.swarm.random.IntN(2) == 0 {
		s.Count = 1 + int64(w.swarm.span(w.options.Timing.Detection()))
	}
	return true
}

// cutPower ends a process, and the disk loses what was not synced.
func cutPower(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive {
		return false
	}
	n.ends(n.cutPower)
	n.comesBack(s.Lasts)
	return true
}

// crashAll kills all processes. They come back one after the other.
func crashAll(w *world, s *Strike) bool {
	struck := false
	for i := range w.nodes {
		n := &w.nodes[(s.Node+i)%len(w.nodes)]
		if n.Alive {
			n.crash()
			n.comesBack(s.Lasts * time.Duration(i) / time.Duration(len(w.nodes)))
			struck = true
		}
	}
	return struck
}

// rollingRestart restarts all processes in turn, as for an upgrade.
func rollingRestart(w *world, s *Strike) bool {
	each := s.Lasts / time.Duration(len(w.nodes))
	for i := range w.nodes {
		w.follow(each*time.Duration(i), Strike{Fault: Crash, Node: (s.Node + i) % len(w.nodes), Lasts: each / 2})
	}
	return true
}

// pause pauses a process.
func pause(w *world, s *Strike) bool {
	n := w.struckBy(s)
	if !n.Alive || n.Paused {
		return false
	}
	n.Paused = true
	w.tracer.happened(n, trace.PauseBegan, "is paused")
	w.after(s.Lasts, pauseEnds, n, n.Incarnation)
	return true
}

func drawSlowNode(w *world, s *Strike) bool {
	s.Count = int64(w.swarm.span(w.options.Timing.Heartbeat))
	return s.Count > 0
}

// slowNode makes everything that a process does take s.Count nanoseconds longer.
func slowNode(w *world, s *Strike) bool {
	n := w.struckBy(s)
	n.Sluggish = time.Duration(s.Count)
	w.lasting(s, sluggishEnds)
	return true
}

// quickens ends that.
func (n *node) quickens() { n.Sluggish, n.Quick = 0, n.world.now }

// lasting ends a state of a node after a while.
func (w *world) lasting(s *Strike, kind eventKind) {
	w.tracer.lasts(s)
	w.after(s.Lasts, kind, w.struckBy(s), 0)
}

// breakDisk has the next save fail, or never return. The strike is counted then.
func breakDisk(w *world, s *Strike) bool {
	n := w.struckBy(s)
	n.trouble, n.downFor = s.Fault, s.Lasts
	return false
}

// slowDisk makes all saves take long.
func slowDisk(w *world, s *Strike) bool {
	w.struckBy(s).slowDisk = true
	w.lasting(s, diskRecovers)
	return true
}

// useFiles gives a node the store that is shipped, on a disk of which a crash may
// leave any part of what was not synced.
func useFiles(w *world, s *Strike) bool {
	w.struckBy(s).disk.UseStore()
	return false
}

// anyDrift is far beyond any margin, in parts in a million.
const anyDrift = 300_000

// mostDrift is the most by which a clock may differ from true time, in parts in a million, so that
// no two clocks drift apart by more than the margin in one lease: one may be slow by as much as
// another is fast. Without a margin there are no leases, and the default margin is used.
func mostDrift(t elector.Timing) int64 {
	if t.DriftMargin <= 0 {
		t = elector.DefaultTiming()
	}
	high, low := bits.Mul64(1_000_000, uint64(t.DriftMargin)) // the product may not fit in one word
	most, _ := bits.Div64(high, low, uint64(2*t.Detection()))
	return int64(min(most, anyDrift))
}

func drawRate(w *world, s *Strike) bool {
	most := mostDrift(w.options.Timing)
	if s.Fault == ClockBeyond {
		most = anyDrift
	}
	s.Count = w.swarm.random.Int64N(2*most+1) - most
	if w.swarm.random.IntN(2) == 0 { // as far as allowed
		s.Count = most
	}
	if w.swarm.random.IntN(2) == 0 {
		s.Count = -s.Count
	}
	return s.Count != 0
}

// setRate has a clock run too fast, by s.Count parts in a million.
func setRate(w *world, s *Strike) bool {
	w.struckBy(s).clock.SetRate(w.now, s.Count)
	if most := mostDrift(w.options.Timing); s.Count > most || s.Count < -most {
		w.check.Excuse(invariant.OneLease)
		w.check.Excuse(invariant.CreditBacked)
	}
	return true
}

func drawWall(w *world, s *Strike) bool {
	s.Lasts = 0
	s.Count = w.swarm.random.Int64N(int64(48*time.Hour)) - int64(24*time.Hour)
	return true
}

// jump sets the wall clock. Nothing may depend on it, and the process does not read it.
func jump(w *world, s *Strike) bool {
	w.struckBy(s).wall += time.Duration(s.Count)
	return true
}
