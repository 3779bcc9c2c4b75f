package memberstate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// What is as much as there may be is taken.
func TestAListMayBeAsLargeAsItMay(t *testing.T) {
	list := make([]memberstate.Member, memberstate.MaxMembers)
	for i := range list {
		list[i].ID = fmt.Sprintf("%0*d", memberstate.MaxIDLength, i)
	}
	m, err := memberstate.NewMembers(list)
	require.NoError(t, err)
	assert.Len(t, m.List(), memberstate.MaxMembers)
	_, err = memberstate.NewMembers(memberstate.Voters(strings.Repeat("n", memberstate.MaxIDLength+1)))
	require.Error(t, err)
}
