// This file draws the lanes of the still drawing: the nodes' roles, offices, leases and saves.

package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/simulation/trace"
)

// The heights of the parts of a lane, from its top.
const (
	officeTop = barTop - 5
	saveTop   = barTop + barHeight + 3
	leaseTop  = barTop + barHeight + 12
	localTop  = leaseTop + 7
	countsTop = barTop + barHeight + 31
)

func (c *canvas) lane(node int) {
	top := c.top + float64(node)*lanePitch
	c.path("rail", "", "M%.1f %.1fH%.1f", gutter, c.y(node), stillWidth)
	c.text("node", 8, c.y(node)+5, "n%d", node)
	for i := range c.lanes[node] {
		c.span(node, &c.lanes[node][i])
	}
	for i := range c.trace.Bands {
		if b := &c.trace.Bands[i]; b.Node == node && c.shows(b.From, b.To) {
			c.band(b, top)
		}
	}
	for i := range c.trace.Moments {
		if m := &c.trace.Moments[i]; m.Node == node && c.shows(m.At, m.At) {
			c.mark(m)
		}
	}
	for i := range c.lanes[node] {
		c.spanLabel(node, &c.lanes[node][i])
	}
}

// span draws a bar. Its height and pattern show the role as well as its colour does.
func (c *canvas) span(node int, s *span) {
	if !c.shows(s.from, s.to) {
		return
	}
	x, y, w := c.x(s.from), c.y(node), c.x(s.to)-c.x(s.from)
	h := barHeight * shareOf(s)
	c.rect("span "+s.class(), s.title(node), x, y-h/2, w, h)
}

// spanLabel writes the term within the bar.
func (c *canvas) spanLabel(node int, s *span) {
	if !s.up || !c.shows(s.from, s.to) {
		return
	}
	label := fmt.Sprint(s.term)
	c.label("term", " "+s.class(), label, c.y(node)+4, along(c.x(s.from)+5, c.x(s.to)-labelWidth("term", label)-2)...)
}

// shareOf is how much of the full height a role's bar has.
func shareOf(s *span) float64 {
	switch {
	case s.leads():
		return 1
	case s.asking != "":
		return 0.9
	default:
		return 0.7
	}
}

func (c *canvas) band(b *trace.Band, top float64) {
	x, w := c.x(b.From), c.x(b.To)-c.x(b.From)
	title := bandTitle(b)
	switch b.Kind {
	case trace.OfficeBand:
		c.rect("office", title, x, top+officeTop, w, 3)
	case trace.LeaseBand:
		c.rect("lease", title, x, top+leaseTop, w, 5)
		if b.Local > 0 {
			c.rect("local", title, x, top+localTop, c.x(b.From+b.Local)-x, 2)
		}
	case trace.SaveBand:
		c.path("save", title, "M%.1f %.1fv4h%.1fv-4", x, top+saveTop, max(w, fewest))
	default: // down and paused are in the spans, and faults have rows of their own
	}
}

func bandTitle(b *trace.Band) string {
	text := fmt.Sprintf("%s, %s to %s", b.What, seconds(b.From), seconds(b.To))
	if b.Node >= 0 {
		text = fmt.Sprintf("n%d: %s", b.Node, text)
	}
	if b.Local > 0 {
		text += fmt.Sprintf("; %s by its own clock", seconds(b.Local))
	}
	return text
}

// mark draws a moment, which takes no time.
func (c *canvas) mark(m *trace.Moment) {
	x, y := c.x(m.At), c.y(m.Node)
	if m.Past || m.Kind > trace.SaveDone {
		c.keepOff(x, y, 6)
	}
	title := fmt.Sprintf("n%d %s, %s", m.Node, m.What, seconds(m.At))
	switch m.Kind {
	case trace.Crashed:
		c.path("crash", title, "M%.1f %.1fl12 12m0 -12l-12 12", x-6, y-6)
	case trace.Started:
		c.path("start", title, "M%.1f %.1fl8 6l-8 6z", x, y-6)
	case trace.Struck:
		c.path("struck", title, "M%.1f %.1fl5 -8h-10z", x, y-barHeight/2)
	case trace.Ticked:
		c.path("clock", title, "M%.1f %.1fv%.1f", x, y-barHeight/2, barHeight)
	default:
		if m.Past {
			c.path("past", title, "M%.1f %.1fm-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", x, y)
		}
	}
}

// faultRows puts the faults that can be seen into rows in which they do not overlap.
func (c *canvas) faultRows() (rows [][]*trace.Band) {
	for i := range c.trace.Bands {
		b := &c.trace.Bands[i]
		if b.Kind != trace.FaultBand || !c.shows(b.From, b.To) {
			continue
		}
		row := slices.IndexFunc(rows, func(r []*trace.Band) bool { return r[len(r)-1].To < b.From })
		if row < 0 {
			row = len(rows)
			rows = append(rows, nil)
		}
		rows[row] = append(rows[row], b)
	}
	return rows
}

func (c *canvas) faults(rows [][]*trace.Band, height float64) {
	for i, row := range rows {
		for _, b := range row {
			x, y, w := c.x(b.From), axisHeight+reignRow+float64(i)*faultRow, c.x(b.To)-c.x(b.From)
			c.rect("shade", "", x, y, w, height-y)
			c.rect("fault", bandTitle(b), x, y, w, faultRow-3)
			if label := faultLabel(b); w > labelWidth("fault", label)+4 {
				c.label("fault", "", label, y+11, x+4)
			}
		}
	}
}

// faultLabel names the links of a fault: n0–n1 for both directions of a link, n0→n1 for one.
func faultLabel(b *trace.Band) string {
	var links []string
	for _, l := range b.Links {
		back := [2]int{l[1], l[0]}
		switch {
		case !slices.Contains(b.Links, back):
			links = append(links, fmt.Sprintf("n%d→n%d", l[0], l[1]))
		case l[0] < l[1]:
			links = append(links, fmt.Sprintf("n%d–n%d", l[0], l[1]))
		}
	}
	if len(links) == 0 {
		return b.What
	}
	return b.What + ": " + strings.Join(links, ", ")
}

// reigns draws the leaders over time; while no node led, the row stays hatched.
func (c *canvas) reigns() {
	const y, h = axisHeight + 2, reignRow - 8
	end := min(c.to, max(c.trace.End, c.from))
	c.text("node", 8, y+16, "led")
	c.rect("leaderless", "nobody led", gutter, y, c.x(end)-gutter, h)
	for _, r := range c.leaders() {
		c.reign(r.node, r.span, y, h)
	}
}

// leader is a time during which a node led.
type leader struct {
	node int
	*span
}

// leaders lists the leaders that can be seen, the later ones last.
func (c *canvas) leaders() (all []leader) {
	for node, lane := range c.lanes {
		for i := range lane {
			if s := &lane[i]; s.leads() && c.shows(s.from, s.to) {
				all = append(all, leader{node, s})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b leader) int { return cmp.Compare(a.from, b.from) })
	return all
}

// reign draws a leader. While an earlier one leads, too, it covers only that one's lower half.
func (c *canvas) reign(node int, s *span, y, h float64) {
	shared, rival := c.sharedUntil(node, s)
	x, parting, end := c.x(s.from), c.x(max(shared, s.from)), c.x(s.to)
	class := "reign"
	if rival {
		class = "reign rival"
	}
	if shared >= s.from {
		c.rect(class, s.title(node), x, y+h/2, max(parting-x, 4), h/2)
	}
	if end > parting {
		c.rect(class, s.title(node), parting, y, end-parting, h)
	}
	if label := fmt.Sprintf("n%d · term %d", node, s.term); end-parting > labelWidth("reign", label)+7 {
		c.label("reign", "", label, y+15, parting+5)
	}
}

// sharedUntil is the time until which an earlier leader leads, too, or -1 if there is none. A rival
// leads the same term.
func (c *canvas) sharedUntil(node int, s *span) (shared time.Duration, rival bool) {
	shared = -1
	for other, lane := range c.lanes {
		for i := range lane {
			if o := &lane[i]; other != node && o.leads() && o.from < s.from && o.to >= s.from {
				shared = max(shared, min(o.to, s.to))
				rival = rival || o.term == s.term
			}
		}
	}
	return shared, rival
}
