// What a panel shows: two lines over the number of groups, on a logarithmic scale.

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/report"
)

// panel is one diagram. Lengths are those of its SVG.
type panel struct {
	Left            float64 // of the plot
	Title, Subtitle string
	Lines           []line
	Marks           []mark  // at the left
	Below           []mark  // at the bottom
	Limit           float64 // a height that a machine cannot exceed; 0: none
	LimitLabel      string
}

// line is one library's.
type line struct {
	Class, Name string
	Points      []point
}

type point struct{ X, Y, groups, value float64 }

// Path is the line in the form of SVG.
func (l line) Path() string {
	parts := make([]string, len(l.Points))
	for i, p := range l.Points {
		parts[i] = fmt.Sprintf("%.1f,%.1f", p.X, p.Y)
	}
	return strings.Join(parts, " ")
}

// Last is the point where the line ends.
func (l line) Last() point { return l.Points[len(l.Points)-1] }

// Label is the value at the end of the line.
func (l line) Label() string { return fmt.Sprintf("%s %.3g", l.Name, l.Last().value) }

// mark is a line at a round number.
type mark struct {
	At    float64
	Label string
}

// The size of a plot, and its place.
const (
	plotWidth  = 330.0
	plotHeight = 220.0
	top        = 70.0
	apart      = 450.0
	margin     = 60.0
)

// panels makes the two panels of the picture.
func panels(results *report.Run) (idle, recovery panel, err error) {
	i := slices.IndexFunc(results.Sections, func(s report.Section) bool { return s.Name == groups.Name })
	if i < 0 {
		return idle, recovery, errors.New("the results have no section of groups")
	}
	all := results.Sections[i].Figures
	idle = panel{
		Left: margin, Title: "CPU seconds a second while all groups are idle",
		Subtitle: "three hosts together; both scales are logarithmic", Lines: lines(all, groups.Idle),
	}
	recovery = panel{
		Left: margin + apart, Title: "A host dies: until the last group is led again",
		Subtitle: "in detection times T", Lines: lines(all, groups.LastLed),
	}
	if len(idle.Lines) == 0 || len(recovery.Lines) == 0 {
		return idle, recovery, errors.New("the results have no figures of more than one number of groups")
	}
	idle.logarithmic(float64(results.Processors))
	recovery.linear()
	return idle, recovery, nil
}

// lines gathers ours and etcd/raft's, in the order of the figures. A line needs two points.
func lines(all []figure.Figure, chart string) []line {
	ours, etcd := line{Class: "ours", Name: "hustings"}, line{Class: "peer", Name: "etcd/raft"}
	for _, f := range all {
		var count float64
		if _, err := fmt.Sscanf(f.At, "%f groups", &count); f.Chart != chart || err != nil {
			continue
		}
		if n := len(ours.Points); n == 0 || ours.Points[n-1].groups != count {
			ours.Points = append(ours.Points, point{groups: count, value: f.Ours})
		}
		if f.Peer != nil && strings.HasPrefix(f.PeerName, etcd.Name) {
			etcd.Points = append(etcd.Points, point{groups: count, value: *f.Peer})
		}
	}
	return slices.DeleteFunc([]line{ours, etcd}, func(l line) bool { return len(l.Points) < 2 })
}

// logarithmic places the points, marks powers of ten, and draws the line of all processors.
func (p *panel) logarithmic(processors float64) {
	least, most := math.Log10(processors), math.Log10(processors)
	for _, l := range p.Lines {
		for _, q := range l.Points {
			least, most = min(least, math.Log10(q.value)), max(most, math.Log10(q.value))
		}
	}
	least, most = math.Floor(least), math.Ceil(most)
	y := func(v float64) float64 { return top + plotHeight*(most-math.Log10(v))/(most-least) }
	for power := least; power <= most; power++ {
		p.Marks = append(p.Marks, mark{y(math.Pow(10, power)), fmt.Sprint(math.Pow(10, power))})
	}
	p.Limit, p.LimitLabel = y(processors), fmt.Sprintf("all %v processors of the machine", processors)
	p.place(y)
}

// linear places the points, and marks whole numbers.
func (p *panel) linear() {
	most := 1.0
	for _, l := range p.Lines {
		for _, q := range l.Points {
			most = max(most, q.value)
		}
	}
	step := math.Ceil(most / 5)
	most = step * math.Ceil(most/step)
	y := func(v float64) float64 { return top + plotHeight*(1-v/most) }
	for v := 0.0; v <= most; v += step {
		p.Marks = append(p.Marks, mark{y(v), fmt.Sprint(v)})
	}
	p.place(y)
}

// place places the points, and marks powers of ten groups.
func (p *panel) place(y func(float64) float64) {
	most := 1.0
	for _, l := range p.Lines {
		most = max(most, math.Ceil(math.Log10(l.Last().groups)))
	}
	x := func(count float64) float64 { return p.Left + plotWidth*math.Log10(count)/most }
	for _, l := range p.Lines {
		for i := range l.Points {
			l.Points[i].X, l.Points[i].Y = x(l.Points[i].groups), y(l.Points[i].value)
		}
	}
	for power, label := range []string{"1", "10", "100", "1,000", "10,000", "100,000"} {
		if float64(power) <= most {
			p.Below = append(p.Below, mark{x(math.Pow10(power)), label})
		}
	}
}
