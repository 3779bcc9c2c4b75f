// An Elector keeps the contract of every Election.

package elector_test

import (
	"fmt"
	"testing"

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
			group := elector.GroupOf("g", ids...)
			group.Lead = m.Lead
			if m.Handler != nil {
				group.Handlers = []elector.RoleHandler{m.Handler}
			}
			all = append(all, newElector(t, config{
				elector.HostConfig{Self: ids[i], Store: new(memberstate.MemStore), Transport: network.Join(ids[i])}, group,
			}))
		}
		return all
	})
}
