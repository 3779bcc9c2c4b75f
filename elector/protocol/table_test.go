// The table of groups does what a map does.

package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATableIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	groups := make([]Group, 500)
	for i := range groups {
		groups[i].name = fmt.Sprint(i)
	}
	for _, most := range []int{1, 7, 500} {
		var table table
		want := map[string]*Group{}
		for range 5_000 {
			g := &groups[random.IntN(most)]
			switch {
			case want[g.name] == nil && random.IntN(3) > 0:
				table.add(g)
				want[g.name] = g
			default:
				table.drop(g)
				delete(want, g.name)
			}
			other := &groups[random.IntN(most)]
			assert.Same(t, want[other.name], table.find(other.name))
		}
		assert.Len(t, table.all(), len(want))
		for _, g := range table.all() {
			assert.Same(t, want[g.name], g)
			table.drop(g)
		}
		assert.Zero(t, table.count)
		assert.Nil(t, table.groups, "an empty one takes no room")
	}
}

// Another group of the same name is another group.
func TestATableDropsOnlyTheGroupItself(t *testing.T) {
	var table table
	one, other := &Group{name: "a"}, &Group{name: "a"}
	table.add(one)
	table.drop(other)
	assert.Same(t, one, table.find("a"))
}
