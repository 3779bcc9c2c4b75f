// Package measure measures CPU time and memory, and makes figures of repeated measurements.
package measure

import (
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/hustings/hustings/bench/figure"
)

// CPU returns the processor time that this process has used, in user and system mode.
func CPU() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for RUSAGE_SELF
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Memory returns the live bytes on the heap and in stacks.
func Memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // twice, because the first run starts finalizers and frees stacks
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Unclocked makes garbage collection rarer until restore is called, to speed up measurements in
// virtual time.
func Unclocked() (restore func()) {
	percent := debug.SetGCPercent(1000)
	return func() { debug.SetGCPercent(percent) }
}

// Quantile returns the value below which this share of the values lies; zero if there are none.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Median returns the value in the middle.
func Median(values []float64) float64 {
	if n := len(values); n%2 == 0 && n > 0 {
		sorted := slices.Sorted(slices.Values(values))
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return Quantile(values, 0.5)
}

// Spread returns the range of the values, divided by a median. It is nil if there are fewer than
// two values, or the median is zero.
func Spread(values []float64, median float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	apart := slices.Max(values) - slices.Min(values)
	switch {
	case apart == 0: // even if the median is zero
	case median == 0:
		return nil
	default:
		apart /= median
	}
	return &apart
}

// Pair gathers the repetitions of one figure, ours beside a peer's.
type Pair struct {
	Name, Unit string
	Ours, Peer []float64
}

// Figure makes a line of the table from the repetitions. The peer is left out if it has no value.
func (p *Pair) Figure(section, peer string) figure.Figure {
	f := figure.Figure{Section: section, Name: p.Name, Unit: p.Unit, Ours: Median(p.Ours)}
	f.Spread = Spread(p.Ours, f.Ours)
	if len(p.Peer) > 0 {
		middle := Median(p.Peer)
		f.Peer, f.PeerName = &middle, peer
		if middle != 0 {
			ratio := f.Ours / middle
			f.Ratio = &ratio
		}
	}
	return f
}

// Table gathers pairs in the order in which they first get a value.
type Table struct{ pairs []*Pair }

// Pair returns the pair of a name and a unit; it makes a missing one.
func (t *Table) Pair(name, unit string) *Pair {
	for _, p := range t.pairs {
		if p.Name == name && p.Unit == unit {
			return p
		}
	}
	p := &Pair{Name: name, Unit: unit}
	t.pairs = append(t.pairs, p)
	return p
}

// Figures returns the lines of those pairs that have a value of ours.
func (t *Table) Figures(section, peer string) (lines []figure.Figure) {
	for _, p := range t.pairs {
		if len(p.Ours) > 0 {
			lines = append(lines, p.Figure(section, peer))
		}
	}
	return lines
}
