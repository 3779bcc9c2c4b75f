// This file has the still drawing, which a reader sees without JavaScript. It shows the time that
// matters and cannot be moved, so heartbeats are counts, and nothing depends on a pointer.

package picture

import (
	"fmt"
	"math"
	"time"

	"github.com/hustings/hustings/simulation/trace"
)

// The measures are in the units of the drawing; draw.js has the same.
const (
	stillWidth = 1080.0
	gutter     = 52.0
	axisHeight = 26.0
	reignRow   = 30.0
	faultRow   = 17.0
	lanePitch  = 74.0
	barTop     = 16.0 // from the top of the lane to the bar that shows the role
	barHeight  = 20.0
	fewest     = 3.0 // a narrower bar has no text and no visible end
)

// still is the drawing as a list of shapes, in the order in which they are painted.
type still struct {
	Width, Height float64
	Name          string
	Shapes        []shape
}

// shape is a rectangle, a line, a path or a text, as Kind says.
type shape struct {
	Kind, Class  string
	X, Y, W, H   float64
	Text, Title  string
	Path, Marker string
}

// canvas is an unfinished drawing.
type canvas struct {
	trace *trace.Trace
	lanes [][]span
	window
	top    float64 // the top of the first lane
	shapes []shape
	words  []shape // the labels, which are painted last
	texts  []box   // the areas of the labels
	marks  []box   // areas in which labels would be hard to read
}

func newStill(t *trace.Trace, lanes [][]span, w window) still {
	c := &canvas{trace: t, lanes: lanes, window: w}
	rows := c.faultRows()
	c.top = axisHeight + reignRow + float64(len(rows))*faultRow + 8
	height := c.top + float64(t.Nodes)*lanePitch
	c.violation(height) // first, because its label needs its place most
	c.axis(height)
	c.faults(rows, height)
	c.reigns()
	for i := range lanes {
		c.lane(i)
	}
	c.messages()
	c.shapes = append(c.shapes, c.words...)
	return still{stillWidth, height, fmt.Sprintf("What happened from %s to %s", seconds(w.from), seconds(w.to)), c.shapes}
}

func (c *canvas) add(s shape) {
	s.X, s.Y, s.W, s.H = tenth(s.X), tenth(s.Y), tenth(s.W), tenth(s.H)
	c.shapes = append(c.shapes, s)
}

func (c *canvas) text(class string, x, y float64, format string, args ...any) {
	c.add(shape{Kind: "text", Class: class, X: x, Y: y, Text: fmt.Sprintf(format, args...)})
}

func (c *canvas) rect(class, title string, x, y, w, h float64) {
	c.add(shape{Kind: "rect", Class: class, X: x, Y: y, W: max(w, 1), H: h, Title: title})
}

func (c *canvas) path(class, title, format string, args ...any) {
	c.add(shape{Kind: "path", Class: class, Title: title, Path: fmt.Sprintf(format, args...)})
}

// x is the place of a time, kept inside the drawing.
func (c *canvas) x(at time.Duration) float64 {
	at = min(max(at, c.from), c.to)
	return gutter + (stillWidth-gutter)*float64(at-c.from)/float64(c.to-c.from)
}

// y is the middle of a node's bar.
func (c *canvas) y(node int) float64 { return c.top + float64(node)*lanePitch + barTop + barHeight/2 }

// shows says whether a time from one moment to another can be seen.
func (c *canvas) shows(from, to time.Duration) bool { return from <= c.to && to >= c.from }

// axis draws about ten times at round figures.
func (c *canvas) axis(height float64) {
	step := roundStep((c.to - c.from) / 10)
	for at := (c.from + step - 1) / step * step; at <= c.to; at += step {
		c.path("tick", "", "M%.1f %.1fV%.1f", c.x(at), axisHeight-6, height)
		c.label("time", "", axisLabel(at, step), axisHeight-9, c.x(at)+3)
	}
}

// roundStep is the first of 1, 2, 5, 10, 20... microseconds that is not below least.
func roundStep(least time.Duration) time.Duration {
	for step := time.Microsecond; ; step *= 10 {
		for _, times := range []time.Duration{1, 2, 5} {
			if step*times >= least {
				return step * times
			}
		}
	}
}

// axisLabel has as many digits as the steps need.
func axisLabel(at, step time.Duration) string {
	digits := 0
	for unit := time.Second; unit > step; unit /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f s", digits, at.Seconds())
}

func (c *canvas) violation(height float64) {
	v := c.trace.Violation
	if v == nil || !c.shows(v.At, v.At) {
		return
	}
	c.path("violation", v.Error(), "M%.1f %.1fV%.1f", c.x(v.At), axisHeight-6, height)
	if v.Node >= 0 && v.Node < c.trace.Nodes {
		x, name := c.x(v.At), v.Invariant.String()
		c.label("violation", "", name, c.y(v.Node)-barHeight/2-8, x+8, x-8-labelWidth("violation", name), gutter+1)
	}
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }
