// Term 0 is before all terms: no member leads it, and none can be elected in it.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A member that has just begun is in term 0 itself, so a message of that term is not an older one.
// Whatever the message says, the member must not take it for a defect of its own and stop.
func TestNoMessageOfTermZeroStopsAMember(t *testing.T) {
	for kind := rpc.VoteRequest; kind <= rpc.TakeLeadershipResponse; kind++ {
		for mark := rpc.Plain; mark.Valid(); mark++ {
			for result := range rpc.Result(64) {
				for _, leader := range []memberstate.Seat{memberstate.Nobody, 1, 2, 3} {
					body := rpc.Body{Kind: kind, Mark: mark, Result: result, Lease: time.Second}
					if !body.WellFormed() { // it would be dropped before
						continue
					}
					r := threeRules()
					m := NewMachine(r, memberstate.HardState{})
					out := stepWithLedger(r, &m, Input{Kind: Receive, Message: Message{From: 2, Leader: leader, Body: body}}, memberstate.Position{})
					assert.NoError(t, out.Err, "%+v", body)
				}
			}
		}
	}
	r := threeRules()
	m := NewMachine(r, memberstate.HardState{})
	out := stepWithLedger(r, &m, Input{Kind: Heard, Seat: 2}, memberstate.Position{})
	assert.NoError(t, out.Err)
	assert.Equal(t, DropMalformed, out.Dropped)
}
