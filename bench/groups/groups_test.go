package groups

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

// row is a library with these idle costs.
func row(library string, idle ...float64) measure.Row[Cost] {
	r := measure.Row[Cost]{Name: library}
	for _, i := range idle {
		r.Results = append(r.Results, Cost{Idle: i, Late: i == 0})
	}
	return r
}

// named returns the figure of this name; nil if there is none.
func named(figures []figure.Figure, name string) *figure.Figure {
	for i := range figures {
		if figures[i].Name == name {
			return &figures[i]
		}
	}
	return nil
}

func TestOursStandsBesideEachLibraryAndTheBetterVersionCounts(t *testing.T) {
	all := figuresOf(10, []measure.Row[Cost]{
		row("", 1, 3, 2), row(etcd.Newer, 20, 20, 20), row(etcd.Older, 10, 10, 10), row(hashicorp, 0, 0, 0), row(dragonboat, 5, 5, 5),
	})
	seen := map[string]bool{}
	for i := range all {
		assert.False(t, seen[all[i].Name], all[i].Name)
		seen[all[i].Name] = true
		assert.Equal(t, Name, all[i].Section)
	}
	f := named(all, "10 groups, beside etcd/raft: idle")
	require.NotNil(t, f)
	assert.InDelta(t, 2, f.Ours, 0)
	assert.Equal(t, etcd.Older, f.PeerName)
	assert.InDelta(t, 10, *f.Peer, 0)
	f = named(all, "10 groups, beside hashicorp/raft 1.8: idle")
	require.NotNil(t, f)
	assert.Nil(t, f.Peer)
	assert.Equal(t, "not within 5m0s: hashicorp/raft 1.8", f.PeerName)
	assert.NotNil(t, named(all, "10 groups, beside dragonboat 4: idle"))
	assert.Nil(t, named(all, "10 groups, beside dragonboat 4: "+LastLed), "it does not notice the death")
	const weighed = " groups, beside etcd/raft: heap and stacks of an idle group at one host"
	assert.Nil(t, named(all, "10"+weighed))
	assert.NotNil(t, named(figuresOf(fewWeighed, []measure.Row[Cost]{row("", 1), row(etcd.Newer, 1)}), "1000"+weighed))
	beats := named(all, "10 groups: idle, beats between nodes")
	require.NotNil(t, beats)
	assert.Empty(t, beats.PeerName, "nobody else has them")
}

func TestALongRunHasTheLargeNumbersOfGroups(t *testing.T) {
	largest := func(p figure.Plan) int {
		sizes, _ := extents(p)
		return sizes[len(sizes)-1].Groups
	}
	assert.Equal(t, 1000, largest(figure.Plan{Quick: true}))
	assert.Equal(t, 10_000, largest(figure.Plan{}))
	assert.Equal(t, 100_000, largest(figure.Plan{Long: true}))
}

func TestPeersAreMeasuredWithTheirNumbersOfGroups(t *testing.T) {
	for groups, libraries := range map[int][]string{
		1: {"", etcd.Newer, etcd.Older}, withDragonboat: {"", etcd.Newer, etcd.Older, dragonboat},
		withHashicorp: {"", etcd.Newer, etcd.Older, hashicorp}, mostBoth: {"", etcd.Newer, etcd.Older},
		100_000: {"", etcd.Newer},
	} {
		assert.Equal(t, libraries, compared(figure.Plan{Long: true}, groups), groups)
	}
	assert.Equal(t, []string{"", etcd.Newer, etcd.Older}, compared(figure.Plan{}, withHashicorp))
}

func TestOfCostsTheSmallerIsBetter(t *testing.T) {
	for _, a := range aspects {
		assert.False(t, (&figure.Figure{Unit: a.unit}).MoreIsBetter(), a.name)
	}
}
