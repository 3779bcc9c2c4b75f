package faultlist_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation/internal/faultlist"
)

type parity uint8

func (p parity) String() string { return [...]string{"even", "odd"}[p] }

type number uint8

func (n number) String() string { return fmt.Sprint(uint8(n)) }

func (n number) Class() parity { return parity(n % 2) }

// A world may have more faults than one word has bits.
func TestListsOfManyFaults(t *testing.T) {
	all := faultlist.Catalogue[number, parity]{Faults: 100, Classes: 2, Usual: []parity{1}}
	for list, has := range map[string]func(n uint8) bool{
		"all":      func(n uint8) bool { return n%2 == 1 },
		"none":     func(uint8) bool { return false },
		"even,-98": func(n uint8) bool { return n%2 == 0 && n != 98 },
		"3,99":     func(n uint8) bool { return n == 3 || n == 99 },
		"-63,-65":  func(n uint8) bool { return n%2 == 1 && n != 63 && n != 65 },
	} {
		set, err := all.Parse(list)
		require.NoError(t, err)
		again, err := all.Parse(all.Text(set))
		require.NoError(t, err)
		assert.Equal(t, set, again, list)
		assert.True(t, set.Below(100), list)
		assert.NotEqual(t, faultlist.Set{}, set, "%s is not the zero set", list)
		for n := range uint8(100) {
			assert.Equal(t, has(n), set.Has(n), "%s: %d", list, n)
		}
	}
	for _, beyond := range []uint8{100, 126} {
		assert.False(t, faultlist.None().With(beyond).Below(100))
	}
	_, err := all.Parse("100")
	assert.ErrorContains(t, err, "no fault is called")
}
