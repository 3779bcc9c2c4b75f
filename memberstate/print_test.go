// String of members, positions and records.

package memberstate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

func TestAMemberPrintsAloneAsInItsList(t *testing.T) {
	list := []memberstate.Member{{ID: "n0"}, {ID: "n3", Observer: true}}
	members, err := memberstate.NewMembers(list)
	assert.NoError(t, err)
	assert.Equal(t, "n0 [n3]", members.String())
	assert.Equal(t, "[n0 [n3]]", fmt.Sprint(list))
}

func TestARecordPrintsItself(t *testing.T) {
	for want, r := range map[string]memberstate.Record{
		`"": term 0, voters 0000000000000000`: {},
		`"orders": term 7, voted for "n0", promise 285ms, voters 0123456789abcdef`: {
			Group: "orders", Term: 7, Vote: "n0", Promise: 285 * time.Millisecond, Voters: 0x0123456789abcdef,
		},
		`"a\nb": term 1, voters 0000000000000002`: {Group: "a\nb", Term: 1, Voters: 2},
	} {
		assert.Equal(t, want, r.String())
	}
}
