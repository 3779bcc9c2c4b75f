package rpc

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever is put in and taken out, and in what order, the next to arrive is the one that is due
// first, and of those the one that was sent first.
func TestTheNextToArriveIsTheFirstThatIsDue(t *testing.T) {
	draw, epoch := rand.New(rand.NewPCG(1, 2)), time.Now()
	for range 200 {
		var f flight
		for number := range uint64(40) {
			f.push(flying{due: epoch.Add(time.Duration(draw.IntN(20))), number: number})
			if draw.IntN(4) == 0 {
				f.remove(draw.IntN(len(f)))
			}
		}
		for len(f) > 0 {
			next := f.pop()
			for _, later := range f {
				both := flight{next, later}
				require.True(t, both.before(0, 1))
			}
		}
	}
}
