package hangs

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// arrivals notes what arrives, and when.
type arrivals struct {
	began time.Time
	names []string
	times []time.Duration
}

func (a *arrivals) of(name string) func() {
	return func() { a.names, a.times = append(a.names, name), append(a.times, time.Since(a.began)) }
}

// onALine plays with a line between two nodes.
func onALine(t *testing.T, play func(l *Line, a *arrivals)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var n Network
		play(n.Line(new(Node), new(Node)), &arrivals{began: time.Now()})
		n.close()
		pass(Detection)
	})
}

func TestMessagesArriveInOrderAfterTheirDelay(t *testing.T) {
	onALine(t, func(l *Line, a *arrivals) {
		l.Send(a.of("first"))
		l.Send(a.of("second"))
		pass(delay / 2)
		l.Send(a.of("third"))
		pass(Detection)
		assert.Equal(t, []string{"first", "second", "third"}, a.names)
		assert.Equal(t, []time.Duration{delay, delay, delay + delay/2}, a.times)
	})
}

func TestMessagesOfAStoppedProcessWaitAndThoseOfOneThatHasEndedAreLost(t *testing.T) {
	for _, at := range []func(l *Line) *Node{func(l *Line) *Node { return l.from }, func(l *Line) *Node { return l.to }} {
		onALine(t, func(l *Line, a *arrivals) {
			at(l).process.shut()
			l.Send(a.of("waits"))
			pass(Detection)
			assert.Empty(t, a.names)
			at(l).process.open()
			pass(Detection)
			assert.Equal(t, []time.Duration{Detection}, a.times)
			at(l).gone.Store(true)
			l.Send(a.of("is lost"))
			pass(Detection)
			assert.Equal(t, []string{"waits"}, a.names)
		})
	}
}

func TestANetworkThatIsClosedDeliversNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Network
		a := &arrivals{began: time.Now()}
		l := n.Line(new(Node), new(Node))
		n.close()
		synctest.Wait()
		l.Send(a.of("late"))
		pass(Detection)
		assert.Empty(t, a.names)
	})
}

func TestAGateLetsNothingPassWhileItIsShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.pass()
		g.open() // although it is open
		g.shut()
		g.shut()
		passed := false
		go func() {
			g.pass()
			passed = true
		}()
		pass(Detection)
		assert.False(t, passed)
		g.open()
		synctest.Wait()
		assert.True(t, passed)
		g.pass()
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
