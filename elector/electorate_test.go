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
			assert.Equal(t, c.shared, first.group.Electorate == second.group.Electorate)
			kinds := 2
			if c.shared {
				kinds = 1
			}
			assert.Equal(t, kinds, h.electorates.Len())
			require.NoError(t, first.Stop(t.Context()))
			assert.Equal(t, 1, h.electorates.Len(), "the host has it while a group has it")
			again := MustJoin(t, h, GroupOf("g", "n0", "n1", "n2"))
			assert.Equal(t, c.shared, again.group.Electorate == second.group.Electorate)
		})
	}
}

// Lists of observers may differ. No digest tells them apart.
func TestOtherObserversAreNotShared(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	observed := func(group, by string) *Elector {
		c := GroupOf(group, "n0", "n1")
		c.Members = append(c.Members, memberstate.Member{ID: by, Observer: true})
		return MustJoin(t, h, c)
	}
	first, second, third := observed("g", "n8"), observed("h", "n9"), observed("i", "n9")
	assert.NotSame(t, first.group.Electorate, second.group.Electorate)
	assert.Same(t, second.group.Electorate, third.group.Electorate)
	require.NoError(t, second.Stop(t.Context()))
	assert.Equal(t, 2, h.electorates.Len())
}

// Any text may be an id.
func TestMembersThatArePrintedAlikeAreNotTheSame(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	first, second := MustJoin(t, h, GroupOf("g", "n0", "a b", "c")), MustJoin(t, h, GroupOf("h", "n0", "a", "b c"))
	require.Equal(t, first.group.Members.String(), second.group.Members.String())
	assert.NotSame(t, first.group.Electorate, second.group.Electorate)
}

func TestNothingIsKeptOfAGroupThatHasEnded(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	for _, started := range []bool{false, true} {
		el := MustJoin(t, host, GroupOf("g", "n0"))
		require.Equal(t, 1, host.electorates.Len())
		if started {
			require.NoError(t, el.Start())
		}
		require.NoError(t, el.Stop(t.Context()))
		assert.Zero(t, host.electorates.Len())
		assert.Empty(t, host.Electors())
	}
}

func TestNothingIsKeptOfAGroupThatIsRefused(t *testing.T) {
	host := IsolatedHost(t, new(memberstate.MemStore))
	MustJoin(t, host, GroupOf("g", "n0"))
	_, err := host.Join(GroupOf("g", "n0", "n1"))
	require.ErrorIs(t, err, ErrGroupExists)
	assert.Equal(t, 1, host.electorates.Len())
}
