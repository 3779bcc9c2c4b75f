// Package measure holds what every section measures by: CPU time, memory, and the
// repetitions of which the median is told.
package measure

import (
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/hustings/hustings/bench/figure"
)

// CPU is the processor time that this process has used, its own and the system's
// for it.
func CPU() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for RUSAGE_SELF
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Memory is what is alive now: bytes on the heap and in stacks.
func Memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first has finalizers run, and lets stacks go
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Unclocked has garbage collected less often, until restored: for what is measured by
// neither time nor memory, and is over sooner so.
func Unclocked() (restore func()) {
	percent := debug.SetGCPercent(1000)
	return func() { debug.SetGCPercent(percent) }
}

// Quantile is the value below which this share of the values lies; zero without any.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Median is the value in the middle.
func Median(values []float64) float64 {
	if n := len(values); n%2 == 0 && n > 0 {
		sorted := slices.Sorted(slices.Values(values))
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return Quantile(values, 0.5)
}

// Spread is how far the values lie apart, against their median or what stands for it. Nil:
// there are no two of them, or nothing to hold them against.
func Spread(values []float64, median float64) *float64 {
	if len(values) < 2 {
		return nil
	}
	apart := slices.Max(values) - slices.Min(values)
	switch {
	case apart == 0: // though all may be nothing
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

// Figure is the line of the table that the repetitions make. Without a value of the
// peer's it is ours alone.
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

// Pair is the one of a name and a unit, made if there is none yet.
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

// Figures are the lines of those pairs that have a value of ours.
func (t *Table) Figures(section, peer string) (lines []figure.Figure) {
	for _, p := range t.pairs {
		if len(p.Ours) > 0 {
			lines = append(lines, p.Figure(section, peer))
		}
	}
	return lines
}
