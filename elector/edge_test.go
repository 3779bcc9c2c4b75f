// What the host does for its node: it draws times for alarms, sends, saves, counts and logs.

package elector

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// An alarm never rings too early or too late, and may ring at any time in between: candidates that
// all draw from a part of the interval collide more often.
func TestAlarmsAreDrawnFromTheWholeInterval(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	draw := func(a protocol.Alarm) time.Duration { return (*edge)(h).Draw(nil, a) }
	const low, spread, parts = time.Second, time.Second, 4
	var drawn [parts]int
	for range 1000 {
		d := draw(protocol.Alarm{Min: low, Max: low + spread})
		require.GreaterOrEqual(t, d, low)
		require.Less(t, d, low+spread)
		drawn[(d-low)*parts/spread]++
	}
	assert.NotContains(t, drawn, 0)
	assert.Equal(t, low, draw(protocol.Alarm{Min: low, Max: low}))
	assert.Equal(t, low, draw(protocol.Alarm{Min: low, Max: low + 1}))
}

// Metrics receive whole batches.
func TestAllMessagesThatAreSentAreReported(t *testing.T) {
	var sent []rpc.Message
	c := IsolatedNode(new(memberstate.MemStore))
	c.Metrics = &Metrics{Sent: func(_ string, batch []rpc.Message) { sent = append(sent, batch...) }}
	batch := []rpc.Message{{To: "n1", Group: "a"}, {To: "n1", Group: "b"}}
	(*edge)(MustHost(t, c)).Send("n1", batch)
	assert.Equal(t, batch, sent)
}

// Inputs that are dropped together are counted one by one.
func TestAllInputsThatAreDroppedAreCounted(t *testing.T) {
	var dropped int
	c := IsolatedNode(new(memberstate.MemStore))
	c.Metrics = &Metrics{Dropped: func(_ Drop, n int) { dropped += n }}
	h := MustHost(t, c)
	h.Receive(make([]rpc.Message, 3)) // no group takes part
	assert.Equal(t, 3, dropped)
	assert.EqualValues(t, 3, h.Dropped(protocol.DropQueueFull))
}

// Metrics receive the size of a batch.
func TestTheRecordsOfASaveAreCounted(t *testing.T) {
	saved := make(chan int, 1)
	c := IsolatedNode(new(memberstate.MemStore))
	c.Metrics = &Metrics{Saved: func(records int, _ time.Duration, err error) {
		assert.NoError(t, err)
		saved <- records
	}}
	(*edge)(MustHost(t, c)).Save([]memberstate.Record{{Group: "a"}, {Group: "b"}, {Group: "c"}})
	assert.Equal(t, 3, <-saved)
}

// A change of role is logged with everything that the status says.
func TestARoleIsLogged(t *testing.T) {
	var text strings.Builder
	c := IsolatedNode(new(memberstate.MemStore))
	c.Logger = slog.New(slog.NewTextHandler(&text, nil))
	h := MustHost(t, c)
	el := MustJoin(t, h, GroupOf("g", "n0", "n1", "n2", "n3"))
	view := protocol.View{Term: 7, Role: memberstate.Follower, Leader: 2, Vote: 3, Last: 4, Departure: protocol.DepartedSilent}
	for range 2 {
		(*engine)(el).Show(view)
	}
	view.Stopped = true
	(*engine)(el).Show(view)
	h.log.Flush()
	assert.Equal(t, 1, strings.Count(text.String(), "\n"), "only what has changed is logged, and not that it has stopped")
	assert.Contains(t, text.String(), "msg=role group=g term=7 role=follower leader=n1 vote=n2 last_leader=n3 departure=silent")
}
