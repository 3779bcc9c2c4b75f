// Package figure defines a benchmark's results: our figure beside that of a peer, both measured
// in the same run.
package figure

import (
	"context"
	"strings"
)

// Figure is one line of the table. Smaller is better, unless the unit says "/s".
type Figure struct {
	// Section and Name say what was measured, Unit in which unit.
	Section string `json:"section"`
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	// Ours is the median of the repetitions, Peer that of the best peer, for
	// example of the faster of two versions of a library. Peer is nil if no peer
	// can do this; if the only one fails, PeerName says so.
	Ours     float64  `json:"ours"`
	Peer     *float64 `json:"peer"`
	PeerName string   `json:"peer_name"`
	// Ratio is ours / peer, nil without a peer.
	Ratio *float64 `json:"ratio"`
	// Spread is (largest - smallest) / median of our repetitions; nil for a single
	// repetition, and for a figure of all repetitions together.
	Spread *float64 `json:"spread"`
	// Figures with the same Chart are drawn in one chart, At names their places in it.
	// Figures without one are drawn with all others of the section and their unit.
	Chart string `json:"chart,omitempty"`
	At    string `json:"at,omitempty"`
	// Detail keeps a figure out of the printed table and the charts, to keep them short.
	Detail bool `json:"detail,omitempty"`
}

// Beside compares a peer's value with ours, unless a better peer's is already there.
func (f *Figure) Beside(name string, value float64) {
	if f.Peer != nil && (value == *f.Peer || value > *f.Peer != f.MoreIsBetter()) {
		return
	}
	f.Peer, f.PeerName, f.Ratio = &value, name, nil
	if value != 0 {
		ratio := f.Ours / value
		f.Ratio = &ratio
	}
}

// MoreIsBetter reports whether the figure is a rate.
func (f *Figure) MoreIsBetter() bool { return strings.HasSuffix(f.Unit, "/s") }

// Section is one group of figures.
type Section struct {
	// Name is a word for the command line, Title the headline in the table.
	Name, Title string
	// Configured says how our library and each peer were configured.
	Configured []string
	// Extent says how much a run measures by a plan; nil: nothing needs to be said.
	Extent func(p Plan) string
	// Measure takes the figures. When ctx ends, it returns those that it has.
	Measure func(ctx context.Context, p Plan) ([]Figure, error)
}

// Plan says how thorough a run is, and receives its progress.
type Plan struct {
	// Quick limits a section to a few seconds.
	Quick bool
	// Long asks for what takes long, too, such as very many groups.
	Long bool
	// Progress gets the present activity, and the share of the section that is done.
	Progress func(what string, done float64)
}
