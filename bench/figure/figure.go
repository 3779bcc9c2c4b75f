// Package figure is what a benchmark hands in: a figure of ours beside that of a
// peer, both measured in the same run.
package figure

import (
	"context"
	"strings"
)

// Figure is one line of the table. Smaller is better, unless the unit says "/s".
type Figure struct {
	// Section and Name say what was measured, Unit in what.
	Section string `json:"section"`
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	// Ours is the median of the repetitions, Peer that of the best peer: of
	// several versions of one library the faster. Peer is nil where no peer
	// can do this.
	Ours     float64  `json:"ours"`
	Peer     *float64 `json:"peer"`
	PeerName string   `json:"peer_name"`
	// Ratio is ours / peer, nil without a peer.
	Ratio *float64 `json:"ratio"`
	// Spread is (largest - smallest) / median of our repetitions, nil where it was not
	// measured: of one repetition, and of what only all of them together have.
	Spread *float64 `json:"spread"`
	// Figures with the same Chart are drawn in one, each at a place of its own. Those
	// without one are drawn with all others of the section that have their unit.
	Chart string `json:"chart,omitempty"`
	At    string `json:"at,omitempty"`
	// Detail keeps a figure out of the printed table and the charts, which would be too long
	// with it.
	Detail bool `json:"detail,omitempty"`
}

// Beside holds a peer's value against ours, unless a better peer has been.
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

// MoreIsBetter says whether the figure is a rate.
func (f *Figure) MoreIsBetter() bool { return strings.HasSuffix(f.Unit, "/s") }

// Section is one group of figures.
type Section struct {
	// Name is a word for the command line, Title what the table says.
	Name, Title string
	// Configured says how we and each peer were configured, one sentence each.
	Configured []string
	// Extent says how much of it all a run measures by a plan; nil if that needs no word.
	Extent func(p Plan) string
	// Measure takes the figures. It returns those that it has when ctx ends.
	Measure func(ctx context.Context, p Plan) ([]Figure, error)
}

// Plan says how thorough a run is, and is told how far it has come.
type Plan struct {
	// Quick asks for figures in a few seconds a section.
	Quick bool
	// Progress is told what is being done, and which share of the section is done.
	Progress func(what string, done float64)
}
