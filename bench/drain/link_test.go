package drain

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/bench/measure"
)

func TestWhatIsSentArrivesADelayLaterInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := newLink(5*time.Millisecond), time.Now()
		var arrived []time.Duration
		arrive := func() { arrived = append(arrived, time.Since(began)) }
		l.Send(arrive)
		l.Send(arrive)
		require.NoError(t, measure.Pass(t.Context(), 2*time.Millisecond))
		l.Send(arrive)
		require.NoError(t, measure.Pass(t.Context(), time.Second))
		synctest.Wait() // the race detector knows that it waits for the link, and not that time does
		assert.Equal(t, []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 7 * time.Millisecond}, arrived)
		l.queue.End()
	})
}

func TestADiskSavesForAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, began := new(disk), time.Now()
		d.sync()
		assert.Zero(t, time.Since(began))
		d.spin(2 * time.Millisecond)
		d.sync()
		assert.Equal(t, 2*time.Millisecond, time.Since(began))
	})
}
