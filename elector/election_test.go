package elector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestElectionByVotes(t *testing.T) {
	electiontest.Run(t, func(t *testing.T, members []electiontest.Member) []elector.Election {
		t.Helper()
		network := rpc.NewNetwork(1)
		var ids []string
		for i := range members {
			ids = append(ids, fmt.Sprintf("n%d", i))
		}
		var all []elector.Election
		for i, m := range members {
			group := elector.GroupConfig{
				Group: "g", Members: memberstate.Voters(ids...), Timing: elector.DefaultTiming(), Lead: m.Lead,
				LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
			}
			if m.Handler != nil {
				group.Handlers = []elector.RoleHandler{m.Handler}
			}
			el, err := elector.New(elector.HostConfig{Self: ids[i], Store: new(memberstate.MemStore), Transport: network.Join(ids[i])}, group)
			require.NoError(t, err)
			all = append(all, el)
		}
		return all
	})
}
