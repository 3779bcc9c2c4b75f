// The requests that wait for a turn, and what a group says that takes none.

package protocol

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestWhyAGroupTakesNoOrders(t *testing.T) {
	for life, want := range map[life]string{
		joined:   "has not been started",
		starting: "is still being started",
		unwanted: "has stopped",
		taking:   "is still being started",
		stopping: "has stopped",
		over:     "has stopped",
	} {
		g := &Group{name: "g", life: life}
		assert.ErrorContains(t, new(Intake).WhyIdle(g, false), want, "%d", life)
		err := new(Intake).WhyIdle(g, true)
		require.ErrorIs(t, err, ErrStopped)
		assert.ErrorContains(t, err, "has stopped", "%d, and its view shows its end", life)
	}
}

// A request may answer what a message has asked for, so it is handled after the messages.
func TestRequestsComeAfterMessages(t *testing.T) {
	in, g := inUse(t)
	in.Add(Request{Subject: Subject{Kind: AskStand, Group: g}})
	in.Receive([]rpc.Message{{Group: "g"}})
	var taken Taken
	var order []string
	in.Take(&taken)
	taken.Drain(nil,
		func(*Group, *rpc.Message) { order = append(order, "message") },
		func(r *Request) { order = append(order, []string{AskStart: "start", AskStand: "stand"}[r.Kind]) })
	assert.Equal(t, []string{"message", "start", "stand"}, order)
}

// A message that makes a bond would keep a beat that came before it from counting for all other groups.
func TestBeatsComeBeforeMessages(t *testing.T) {
	in, _ := inUse(t)
	in.Receive([]rpc.Message{{Group: "g"}})
	in.ReceiveBeat(&rpc.Beat{From: "n1"})
	var taken Taken
	var order []string
	in.Take(&taken)
	taken.Drain(
		func(*rpc.Beat) { order = append(order, "beat") },
		func(*Group, *rpc.Message) { order = append(order, "message") },
		func(*Request) {})
	assert.Equal(t, []string{"beat", "message"}, order)
}

// Lists of requests are used again. They keep nothing that was handled, and no room that is rarely needed.
func TestHandledRequestsAreForgotten(t *testing.T) {
	for _, burst := range []int{manyRequests / 2, 10 * manyRequests} {
		in, g := inUse(t)
		var taken Taken
		for term := range memberstate.Term(burst) {
			in.AddOnce(Request{Subject: Subject{Kind: TellHeard, Group: g, Term: term}})
		}
		places := reflect.ValueOf(in.once).Pointer()
		in.Take(&taken)
		assert.Equal(t, burst > manyRequests, places != reflect.ValueOf(in.once).Pointer(), "the places of %d requests", burst)
		taken.Drain(nil, nil, func(*Request) {})
		in.Take(&taken)
		in.Take(&taken)
		for _, list := range [][]Request{taken.requests, in.requests} {
			assert.LessOrEqual(t, cap(list), manyRequests)
			for _, r := range list[:cap(list)] {
				assert.Nil(t, r.Group)
			}
		}
	}
}

// A request that anybody may repeat is the same one as long as it waits, and another one from then on.
func TestATurnHasOnlySoManyRequests(t *testing.T) {
	in, g := inUse(t)
	in.LimitTurn(2)
	var taken Taken
	once := func(term memberstate.Term) {
		in.AddOnce(Request{Subject: Subject{Kind: TellHeard, Group: g, Term: term}})
	}
	once(1) // behind the start
	once(2)
	once(3)
	in.Add(Request{Subject: Subject{Kind: AskStop, Group: g}})
	turn := func() (terms []memberstate.Term, more bool) {
		more = in.Take(&taken)
		taken.Drain(nil, nil, func(r *Request) { terms = append(terms, r.Term) })
		return terms, more
	}
	terms, more := turn()
	assert.Equal(t, []memberstate.Term{0, 1}, terms)
	assert.True(t, more)
	once(2)
	once(3)
	once(1)
	assert.Equal(t, 4, in.Waiting(), "only the first is not there any more")
	terms, more = turn()
	assert.Equal(t, []memberstate.Term{2, 3}, terms)
	assert.True(t, more)
	once(1)
	terms, more = turn()
	assert.Equal(t, []memberstate.Term{0, 1}, terms)
	assert.False(t, more)
}

// Any number of callers may stop a group.
func TestAGroupIsStoppedOnce(t *testing.T) {
	in, g := inUse(t)
	var taken Taken
	in.Take(&taken)
	for range 3 {
		assert.True(t, in.Stop(g))
	}
	assert.Equal(t, 1, in.Waiting())
}
