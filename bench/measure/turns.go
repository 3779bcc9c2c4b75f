// Measuring libraries in turns, so that other work of the machine affects all of them equally.

package measure

import (
	"context"
	"runtime"
	"time"

	"github.com/hustings/hustings/bench/figure"
)

// Row is one library: how to measure it, and its results so far. The first of several is ours.
type Row[R any] struct {
	Name    string
	Measure func() (R, error)
	Results []R
}

// Turn measures each library once. If ctx ends early, the results of this turn are dropped.
func Turn[R any](ctx context.Context, rows []Row[R]) error {
	results := make([]R, len(rows))
	for i := range rows {
		var err error
		if results[i], err = rows[i].Measure(); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	for i := range rows {
		rows[i].Results = append(rows[i].Results, results[i])
	}
	return nil
}

// Compare makes a figure of one aspect of all results.
func Compare[R any](section, name, unit string, rows []Row[R], of func(R) float64) figure.Figure {
	f := figure.Figure{Section: section, Name: name, Unit: unit}
	for i, row := range rows {
		values := make([]float64, len(row.Results))
		for j, r := range row.Results {
			values[j] = of(r)
		}
		median := Median(values)
		if i == 0 {
			f.Ours, f.Spread = median, Spread(values, median)
		} else {
			f.Beside(row.Name, median)
		}
	}
	return f
}

// UnlessOver returns err, or nil if ctx has ended, because then the results so far count.
func UnlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Use is the resources that a process has used.
type Use struct {
	CPU                time.Duration
	Bytes, Allocations uint64
}

// UseOf returns the resources that run uses. The clock does not run while memory is measured,
// because that stops the world.
func UseOf(run func() error) (Use, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := CPU()
	err := run()
	used := CPU() - began
	runtime.ReadMemStats(&after)
	return Use{used, after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}, err
}

// Add adds more to u.
func (u *Use) Add(more Use) {
	u.CPU += more.CPU
	u.Bytes += more.Bytes
	u.Allocations += more.Allocations
}
