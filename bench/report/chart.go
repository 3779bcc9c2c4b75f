// The charts: for each place two bars, ours above the peer's.

package report

import "github.com/hustings/hustings/bench/figure"

// chart is one plot. Lengths are those of its SVG.
type chart struct {
	Title  string
	Height int
	Rows   []row
	Unit   string
	Marks  []mark
}

// row is the drawing of one figure.
type row struct {
	At         string
	Y          int
	Ours, Peer bar
}

type bar struct {
	Width float64
	Label string
	Title string
}

// mark is a line at a round number.
type mark struct {
	X     float64
	Label string
}

// The beginning of bars and their largest length, which the page's template uses, too.
const (
	barsFrom  = 375
	barsWidth = 400
	rowHeight = 34
	headroom  = 22
)

// charts makes the charts of a section, in the order of its figures.
func charts(figures []figure.Figure) (all []*chart) {
	byTitle, most := map[string]*chart{}, map[*chart]float64{}
	for pass := range 2 { // the first pass finds the lengths of the bars
		for i := range figures {
			f := &figures[i]
			if f.Detail {
				continue
			}
			title, at := f.Chart, f.At
			if title == "" {
				title = f.Unit
			}
			if at == "" {
				at = f.Name
			}
			c, ok := byTitle[title]
			if !ok {
				c = &chart{Title: title, Unit: f.Unit, Height: headroom}
				byTitle[title], all = c, append(all, c)
			}
			if pass == 0 {
				most[c] = max(most[c], f.Ours, peerValue(f))
				continue
			}
			c.add(f, at, most[c])
		}
	}
	for _, c := range all {
		c.Marks = marks(most[c])
	}
	return all
}

func peerValue(f *figure.Figure) float64 {
	if f.Peer == nil {
		return 0
	}
	return *f.Peer
}

func (c *chart) add(f *figure.Figure, at string, most float64) {
	r := row{At: at, Y: c.Height, Ours: newBar(f.Ours, most, "ours", f.Unit)}
	switch {
	case f.Peer != nil:
		r.Peer = newBar(*f.Peer, most, f.PeerName, f.Unit)
	case f.PeerName != "":
		r.Peer = bar{Label: f.PeerName, Title: f.PeerName}
	}
	c.Rows = append(c.Rows, r)
	c.Height += rowHeight
}

func newBar(v, most float64, whose, unit string) bar {
	b := bar{Label: value(v), Title: whose + ": " + value(v) + " " + unit}
	if most > 0 {
		b.Width = v / most * barsWidth
	}
	return b
}

// marks returns marks at two to five round numbers.
func marks(most float64) (all []mark) {
	if most <= 0 {
		return nil
	}
	step := 1.0
	for step > most/2 {
		step /= 10
	}
	for step*10 <= most/2 {
		step *= 10
	}
	for _, by := range []float64{5, 2} {
		if step*by <= most/2 {
			step *= by
			break
		}
	}
	for n := 1.0; n*step <= most; n++ {
		all = append(all, mark{barsFrom + n*step/most*barsWidth, value(n * step)})
	}
	return all
}
