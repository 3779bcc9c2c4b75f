// How an operator's values print themselves.

package operator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator"
)

// The member within must not hide the address.
func TestAMemberPrintsItsAddress(t *testing.T) {
	assert.Equal(t, "n1 at host:7000", operator.Member{Member: memberstate.Member{ID: "n1"}, Address: "host:7000"}.String())
	assert.Equal(t, "[n3]", operator.Member{Member: memberstate.Member{ID: "n3", Observer: true}}.String())
}

func TestAnUndoingPrintsItself(t *testing.T) {
	assert.Equal(t, "n0 or n1 will be offered the leadership after 30s", operator.Undoing{Preferred: []string{"n0", "n1"}, After: 30 * time.Second}.String())
}
