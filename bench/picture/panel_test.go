package main

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/groups"
	"github.com/hustings/hustings/bench/report"
)

// results are of three numbers of groups; etcd/raft was not measured with the largest.
func results() *report.Run {
	r := &report.Run{Processors: 2}
	var all []figure.Figure
	for _, chart := range []string{groups.Idle, groups.LastLed} {
		for i, at := range []string{"1 groups", "100 groups", "10000 groups"} {
			f := figure.Figure{Chart: chart, At: at, Ours: float64(i + 1)}
			if i < 2 {
				f.At += ", beside etcd/raft"
				f.Beside("etcd/raft 3.7", float64(10*(i+1)))
				other := figure.Figure{Chart: chart, At: at + ", beside hashicorp/raft 1.8", Ours: f.Ours}
				other.Beside("hashicorp/raft 1.8", 1000)
				all = append(all, other)
			}
			all = append(all, f)
		}
	}
	r.Sections = []report.Section{{Name: groups.Name, Figures: all}}
	return r
}

func TestALineHasAPointForEachNumberOfGroups(t *testing.T) {
	idle, recovery, err := panels(results())
	require.NoError(t, err)
	for _, p := range []panel{idle, recovery} {
		require.Len(t, p.Lines, 2)
		ours, etcd := p.Lines[0], p.Lines[1]
		require.Len(t, ours.Points, 3)
		assert.Equal(t, "hustings 3", ours.Label())
		assert.Equal(t, "etcd/raft 20", etcd.Label())
		assert.InDelta(t, p.Left, ours.Points[0].X, 1e-9)
		assert.InDelta(t, p.Left+plotWidth/2, ours.Points[1].X, 1e-9, "100 of 10,000 on a logarithmic scale")
		assert.InDelta(t, p.Left+plotWidth, ours.Points[2].X, 1e-9)
		assert.Len(t, p.Below, 5)
	}
}

func TestHeightsAreOnTheirScales(t *testing.T) {
	idle, recovery, err := panels(results())
	require.NoError(t, err)
	assert.InDelta(t, top+plotHeight, idle.Lines[0].Points[0].Y, 1e-9, "1 is the lowest mark")
	assert.InDelta(t, top+plotHeight/2, idle.Lines[1].Points[0].Y, 1e-9, "10 is half-way from 1 to 100")
	assert.Equal(t, []string{"1", "10", "100"}, labels(idle.Marks))
	assert.Equal(t, "all 2 processors of the machine", idle.LimitLabel)
	assert.InDelta(t, top, recovery.Lines[1].Points[1].Y, 1e-9, "20 is the highest mark")
	assert.InDelta(t, top+plotHeight/2, recovery.Lines[1].Points[0].Y, 1e-9)
	assert.Equal(t, []string{"0", "4", "8", "12", "16", "20"}, labels(recovery.Marks))
}

func labels(marks []mark) (all []string) {
	for _, m := range marks {
		all = append(all, m.Label)
	}
	return all
}

func TestResultsWithoutGroupsAreAnError(t *testing.T) {
	_, _, err := panels(&report.Run{})
	require.ErrorContains(t, err, "no section")
	_, _, err = panels(&report.Run{Sections: []report.Section{{Name: groups.Name}}})
	require.ErrorContains(t, err, "more than one number")
}

func TestThePictureIsWellFormedAndSelfContained(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, draw(&out, results()))
	text := out.String()
	require.NoError(t, xml.Unmarshal(out.Bytes(), new(struct{})))
	assert.Equal(t, 4, strings.Count(text, "<polyline"))
	assert.Contains(t, text, "prefers-color-scheme: dark")
	assert.NotContains(t, text, "ZgotmplZ")
	assert.NotContains(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "//")
}
