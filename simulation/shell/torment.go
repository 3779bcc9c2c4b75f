// This file strikes nodes, links and disks with faults, and sets the weather on the network.

package shell

import (
	"time"

	"github.com/hustings/hustings/rpc"
)

// strike makes one fault strike, which ends by itself.
func (w *world) strike() {
	n := w.nodes[w.drawn64()%uint64(len(w.nodes))]
	f := []Fault{Weather, Weather, Partition, OneWay, Isolate, Hint, Hint, Flood, Forged, Stall, SlowDisk, HangingDisk, FullDisk, BrokenDisk}[w.drawn64()%14]
	lasts := w.drawn(4 * w.plan.longest)
	switch f {
	case Weather:
		w.weather(true)
	case Partition, OneWay, Isolate:
		w.cut(f, n.index, lasts)
	case Hint:
		w.hint(n)
	case Flood:
		if p := n.process.Load(); p != nil {
			p.tap.flood()
		}
	case Forged:
		if p := n.process.Load(); p != nil {
			other := w.nodes[w.drawn64()%uint64(len(w.nodes))]
			w.work.Go(func() { p.tap.forge(other.name, w.plan.groups[w.drawn64()%uint64(len(w.plan.groups))]) })
		}
	case Stall:
		p := n.process.Load()
		if p == nil {
			return
		}
		p.still.Store(int64(w.drawn(2 * w.plan.longest)))
	case SlowDisk:
		n.disk.set(func() { n.disk.slow = lasts / 2 })
		w.after(lasts, n.disk.heal)
	case HangingDisk:
		release := n.disk.hangs()
		w.work.Go(func() {
			timer := time.NewTimer(lasts)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-w.calm:
			}
			release()
		})
	case FullDisk:
		n.disk.set(func() { n.disk.full = true })
		w.after(lasts, n.disk.heal)
	default: // BrokenDisk
		n.disk.set(func() { n.disk.breaks = 1 + int(w.drawn64()%6) })
	}
	w.judge.struckAt(f, n.name)
}

// weather makes all links good, or, if bad, draws their new quality and keeps the cut ones cut.
func (w *world) weather(bad bool) {
	base := min(w.plan.beat/20, 5*time.Millisecond)
	l := rpc.Link{Delay: base / 2, Jitter: base}
	echo := false
	if bad && w.drawn64()%4 > 0 {
		l.Delay += w.drawn(w.plan.beat) >> (w.drawn64() % 5)
		l.Jitter += w.drawn(w.plan.beat) >> (w.drawn64() % 4)
		l.Loss, l.Duplicate, l.Reorder = w.share(), w.share(), w.share()
		echo = w.drawn64()%2 == 0
	}
	w.relink(func(_, _ int, old rpc.Link) rpc.Link {
		l.Cut = bad && old.Cut
		return l
	})
	w.mu.Lock()
	w.echo = echo
	w.mu.Unlock()
}

// share is a probability, small in most cases.
func (w *world) share() float64 {
	x := float64(w.drawn64()>>11) / (1 << 53)
	return 0.4 * x * x
}

// relink changes links.
func (w *world) relink(change func(from, to int, l rpc.Link) rpc.Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.links {
		for k := range w.links[i] {
			if i != k {
				w.links[i][k] = change(i, k, w.links[i][k])
				w.net.SetLink(nodeName(i), nodeName(k), w.links[i][k])
			}
		}
	}
}

// cut cuts links for a while.
func (w *world) cut(f Fault, node int, lasts time.Duration) {
	half, other := w.drawn64(), int(w.drawn64()%uint64(len(w.nodes)))
	w.relink(func(from, to int, l rpc.Link) rpc.Link {
		switch f {
		case Partition:
			l.Cut = half>>from&1 != half>>to&1
		case OneWay:
			l.Cut = from == node && to == other
		default:
			l.Cut = from == node || to == node
		}
		return l
	})
	w.after(lasts, func() {
		w.relink(func(_, _ int, l rpc.Link) rpc.Link {
			l.Cut = false
			return l
		})
	})
}

// hint tells a node that a process is gone, which may be true.
func (w *world) hint(n *node) {
	p := n.process.Load()
	if p == nil {
		return
	}
	gone := nodeName(int(w.drawn64() % uint64(len(w.nodes))))
	for _, other := range w.nodes {
		if other != n && other.process.Load() == nil && w.drawn64()%2 == 0 {
			gone = other.name
		}
	}
	p.tap.hint(gone)
}

// echoes says whether a batch arrives once more, later.
func (w *world) echoes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.echo && w.random.IntN(16) == 0
}

// travel is how long an engine's message takes from node to node, and whether it arrives.
func (w *world) travel(from, to int) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.links[from][to]
	return l.Delay + upTo(w.random, l.Jitter), !l.Cut && w.random.Float64() >= l.Loss
}

// heal ends all faults of the network and the disks.
func (w *world) heal() {
	w.weather(false)
	w.relink(func(_, _ int, l rpc.Link) rpc.Link {
		l.Cut = false
		return l
	})
	for _, n := range w.nodes {
		n.disk.heal()
	}
	w.judge.tell("all faults are over")
}
