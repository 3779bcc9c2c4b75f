// Groups of a host share electorates, and a host keeps nothing of a group that has ended.

package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

func TestGroupsWithTheSameMembersAndRulesShareThem(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *GroupConfig)
		shared bool
	}{
		"nothing":               {func(*GroupConfig) {}, true},
		"the engine":            {func(c *GroupConfig) { c.Handlers = []RoleHandler{} }, true},
		"the id of a member":    {func(c *GroupConfig) { c.Members[2].ID = "n9" }, false},
		"a role":                {func(c *GroupConfig) { c.Members[2].Observer = true }, false},
		"the number of members": {func(c *GroupConfig) { c.Members = c.Members[:2] }, false},
		"the timing":            {func(c *GroupConfig) { c.Timing.Leak++ }, false},
		"the preferred leader":  {func(c *GroupConfig) { c.Preferred = []string{"n1"} }, false},
		"leases":                {func(c *GroupConfig) { c.Leases = true }, false},
		"no pre-vote":           {func(c *GroupConfig) { c.NoPreVote = true }, false},
		"no ranks":              {func(c *GroupConfig) { c.NoRanks = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := IsolatedHost(t, new(memberstate.MemStore))
			first := MustJoin(t, h, GroupOf("g", "n0", "n1", "n2"))
			config := GroupOf("h", "n0", "n1", "n2")
			c.change(&config)
			second := MustJoin(t, h, config)
			assert.Equal(t, c.shared, first.electorate() == second.electorate())
			for _, el := range []*Elector{first, second} {
				assert.NotNil(t, h.electorates[el.electorate().key], "the host has it while a group has it")
			}
			require.NoError(t, first.Stop(t.Context()))
			assert.NotNil(t, h.electorates[second.electorate().key])
		})
	}
}

// Any text may be an id.
func TestMembersThatArePrintedAlikeAreNotTheSame(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	first, second := MustJoin(t, h, GroupOf("g", "n0", "a b", "c")), MustJoin(t, h, GroupOf("h", "n0", "a", "b c"))
	require.Equal(t, first.group.Members.String(), second.group.Members.String())
	assert.NotSame(t, first.electorate(), second.electorate())
}

func TestNothingIsKeptOfAGroupThatHasEnded(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	for _, started := range []bool{false, true} {
		el := MustJoin(t, host, GroupOf("g", "n0"))
		require.Len(t, host.electorates, 1)
		if started {
			require.NoError(t, el.Start())
		}
		require.NoError(t, el.Stop(t.Context()))
		assert.Empty(t, host.electorates)
		assert.Empty(t, host.Electors())
	}
}

func TestNothingIsKeptOfAGroupThatIsRefused(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	MustJoin(t, host, GroupOf("g", "n0"))
	_, err := host.Join(GroupOf("g", "n0", "n1"))
	require.ErrorIs(t, err, ErrGroupExists)
	assert.Len(t, host.electorates, 1)
}
