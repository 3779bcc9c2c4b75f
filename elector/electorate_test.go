package elector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Groups of the same members and rules share them. Those that differ in one thing do not.
func TestGroupsShareWhatIsTheSame(t *testing.T) {
	good := func() GroupConfig {
		return GroupConfig{
			Group: "g", Members: memberstate.Voters("n0", "n1", "n2"), Timing: DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		}
	}
	for name, c := range map[string]struct {
		change func(c *GroupConfig)
		shared bool
	}{
		"nothing":            {func(*GroupConfig) {}, true},
		"the engine":         {func(c *GroupConfig) { c.Handlers = []RoleHandler{} }, true},
		"the id of a member": {func(c *GroupConfig) { c.Members[2].ID = "n9" }, false},
		"a role":             {func(c *GroupConfig) { c.Members[2].Observer = true }, false},
		"how many there are": {func(c *GroupConfig) { c.Members = c.Members[:2] }, false},
		"the timing":         {func(c *GroupConfig) { c.Timing.Leak++ }, false},
		"who is preferred":   {func(c *GroupConfig) { c.Preferred = []string{"n1"} }, false},
		"leases":             {func(c *GroupConfig) { c.Leases = true }, false},
		"no pre-vote":        {func(c *GroupConfig) { c.NoPreVote = true }, false},
		"no ranks":           {func(c *GroupConfig) { c.NoRanks = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
			require.NoError(t, err)
			first, err := h.Join(good())
			require.NoError(t, err)
			config := good()
			config.Group = "h"
			c.change(&config)
			second, err := h.Join(config)
			require.NoError(t, err)
			assert.Equal(t, c.shared, first.electorate() == second.electorate())
			for _, el := range []*Elector{first, second} {
				assert.NotNil(t, h.electorates[el.electorate().key], "it is known as long as one has it")
			}
			require.NoError(t, first.Stop(t.Context()))
			assert.NotNil(t, h.electorates[second.electorate().key])
		})
	}
}
