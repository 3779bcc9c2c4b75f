// The order of messages on their way.

package rpc

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Messages are added and removed at random. The next to arrive is the earliest that is due, and of
// several the one that was sent first.
func TestMessagesArriveInTheOrderInWhichTheyAreDue(t *testing.T) {
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
