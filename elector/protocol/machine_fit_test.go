// Who leads when nodes do not serve (D28): an order among the voters, as with ability, and no veto.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// leave says which members' nodes do not serve.
func (r *Rules) leave(seats ...memberstate.Seat) {
	r.Maintenance = &Maintenance{LastChoice: memberstate.SetOf(seats...)}
}

// An order to resign that has joined the offer outlives it. For this order any voter will do.
func TestAnOfferIsOverWhenTheNodeItIsForStopsServing(t *testing.T) {
	for resigns, left := range map[bool]Handover{
		false: {},
		true:  {Phase: Probing, Target: 3, Reason: ToAnyone, Resigning: true, patience: 3},
	} {
		a := leadingAlone(t, false)
		a.rules.Preferred, a.machine.office.nextOffer = memberstate.SetOf(2), a.machine.Beat()
		a.acknowledges(2, a.machine.Beat())
		require.Equal(t, ToPreferred, a.machine.Handover().Reason)
		if resigns {
			a.give(Input{Kind: Resign})
		}
		a.rules.leave(2)
		a.acknowledges(3, a.machine.Beat())
		assert.Equal(t, left, a.machine.Handover(), "it was ordered to resign: %t", resigns)
	}
}
