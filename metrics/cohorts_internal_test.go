// Which cohorts are remembered.

package metrics

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Each time that a leader rests it may be in a cohort of a new number.
func TestACohortIsForgottenWithItsLastLeader(t *testing.T) {
	c := New(PerGroup())
	told := c.Elector()
	for _, name := range []string{"a", "b"} {
		told.Changed(elector.Status{Group: name, Term: 3, Leader: "n0", Role: memberstate.Leader})
	}
	for number := uint32(1); number < 300; number += 3 {
		told.Rests("a", number)
		told.Rests("b", number)
		told.Rests("a", number+1)
		assert.Len(t, c.cohorts, 2, "the other one rests there")
		told.Rests("b", number+2)
		told.Rests("a", 0)
		told.Rests("b", 0)
		assert.Empty(t, c.cohorts)
		told.CohortHeard(number+2, time.Second)
		assert.Empty(t, c.cohorts, "an answer that comes late brings none back")
	}
}
