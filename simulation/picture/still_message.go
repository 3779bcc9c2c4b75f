// This file draws the messages of the still drawing as arrows, and heartbeats as counts.

package picture

import (
	"fmt"
	"time"

	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/trace"
)

const (
	mostArrows = 250
	countBins  = 12
)

func (c *canvas) messages() {
	travel, drawn, left := meanTravel(c.trace), 0, 0
	counts := make([][countBins]int, c.trace.Nodes)
	for i := range c.trace.Passages {
		p := &c.trace.Passages[i]
		if !c.shows(p.Sent, max(p.Sent, p.Arrived)) || !c.between(p) {
			continue
		}
		switch past := c.inPast(p); {
		case p.Kind.Periodic() && !past:
			bin := int((max(p.Sent, c.from) - c.from) * countBins / (c.to - c.from))
			counts[p.From][min(bin, countBins-1)]++
		case drawn < mostArrows || past:
			drawn++
			c.arrow(p, travel, past)
		default:
			left++
		}
	}
	c.counts(counts)
	if left > 0 {
		text := "and " + plural(uint64(left), "more message")
		c.label("count", "", text, c.top-2, stillWidth-6-labelWidth("count", text))
	}
}

// between says whether both ends have lanes.
func (c *canvas) between(p *trace.Passage) bool {
	n := c.trace.Nodes
	return p.From >= 0 && p.To >= 0 && p.From < n && p.To < n && p.From != p.To
}

// inPast says whether a message led to the violation.
func (c *canvas) inPast(p *trace.Passage) bool {
	heard := p.HeardBy >= 0 && p.HeardBy < len(c.trace.Moments) && c.trace.Moments[p.HeardBy].Past
	return heard && p.SentBy >= 0 && p.SentBy < len(c.trace.Moments) && c.trace.Moments[p.SentBy].Past
}

func (c *canvas) counts(counts [][countBins]int) {
	width := (stillWidth - gutter) / countBins
	for node, bins := range counts {
		for bin, n := range bins {
			if n > 0 {
				text := plural(uint64(n), "heartbeat")
				middle := gutter + width*(float64(bin)+0.5)
				c.label("count", "", text, c.top+float64(node)*lanePitch+countsTop, middle-labelWidth("count", text)/2)
			}
		}
	}
}

// arrow draws a message from its sender's bar to its addressee's. The arrow of a lost message ends
// half-way.
func (c *canvas) arrow(p *trace.Passage, travel time.Duration, past bool) {
	side := barHeight / 2
	if p.To < p.From {
		side = -side
	}
	to := p.Arrived
	if to == 0 {
		to = p.Sent + travel
	}
	x0, y0, x1, y1 := c.x(p.Sent), c.y(p.From)+side, c.x(to), c.y(p.To)-side
	share := shareTravelled(p.Fate)
	x1, y1 = x0+(x1-x0)*share, y0+(y1-y0)*share
	class := "message " + messageClass(p)
	if past {
		class += " past"
	}
	c.path(class, messageTitle(p), "M%.1f %.1fL%.1f %.1f", x0, y0, x1, y1)
	if p.Fate != trace.Delivered && p.Fate != trace.Underway {
		c.path("crossed", "", "M%.1f %.1fl7 7m0 -7l-7 7", x1-3.5, y1-3.5)
		return
	}
	c.shapes[len(c.shapes)-1].Marker = "arrow"
}

func shareTravelled(f trace.Fate) float64 {
	switch f {
	case trace.Lost:
		return 0.5
	case trace.Severed:
		return 0.3
	default:
		return 1
	}
}

// messageClass is the class of a message in the style sheet.
func messageClass(p *trace.Passage) string {
	class := "vote"
	switch {
	case p.Kind.Periodic():
		class = "heartbeat"
	case p.Kind == rpc.TakeLeadership || p.Kind == rpc.TakeLeadershipResponse || p.Mark >= rpc.Handed:
		class = "handover"
	case p.Mark == rpc.PreVote:
		class = "prevote"
	}
	if p.Again {
		class += " again"
	}
	return class
}

func messageTitle(p *trace.Passage) string {
	text := fmt.Sprintf("n%d to n%d: %v", p.From, p.To, p.Kind)
	if p.Mark != rpc.Plain {
		text += fmt.Sprintf(" (%v)", p.Mark)
	}
	if p.Result != 0 {
		text += fmt.Sprintf(", %v", p.Result)
	}
	return fmt.Sprintf("%s, term %d, sent %s, %v", text, p.Term, seconds(p.Sent), p.Fate)
}

// meanTravel is the average travel time of messages; lost ones are drawn with that slope.
func meanTravel(t *trace.Trace) time.Duration {
	total, n := time.Duration(0), time.Duration(0)
	for i := range t.Passages {
		if p := &t.Passages[i]; p.Arrived > p.Sent {
			total += p.Arrived - p.Sent
			n++
		}
	}
	return total / max(n, 1)
}
