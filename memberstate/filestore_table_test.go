package memberstate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Records come and change between any two pieces, and a copy may be begun again at any time.
func TestTheLastCopyOfATableHasTheRecordsOfItsEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		original, copied := newTable(), newTable()
		for range 300 {
			switch {
			case random.IntN(50) == 0:
				original.takeAgain()
				copied = newTable()
			case random.IntN(3) > 0:
				r := Record{Group: fmt.Sprint("g", random.IntN(60)), Term: Term(random.Uint64() >> random.IntN(64))}
				original.put(r)
			default:
				require.NoError(t, decodeRecords(original.take(random.IntN(100)), &copied))
			}
			require.Equal(t, original.due > 0, original.first() != nil)
		}
		require.NoError(t, decodeRecords(original.take(1<<20), &copied))
		require.Equal(t, sortRecords(original.list()), sortRecords(copied.list()))
		assert.Zero(t, original.due)
		assert.Len(t, encodeRecords(original.list()), original.length)
	}
}

func TestAPieceIsNoLongerThanItMayBe(t *testing.T) {
	all := newTable()
	for i := range 100 {
		all.put(Record{Group: fmt.Sprint("g", i)})
	}
	for all.due > 0 {
		room := max(50, all.first().length)
		piece := all.take(room)
		assert.LessOrEqual(t, len(piece), room)
		assert.NotEmpty(t, piece)
	}
	assert.Empty(t, all.take(100))
}
