package lease_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/electiontest"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnElectorConformsToElection(t *testing.T) {
	for name, strict := range map[string]bool{"by the database's clock": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			electiontest.Run(t, func(t *testing.T, members []electiontest.Member) []elector.Election {
				t.Helper()
				store := new(mem.Store)
				var all []elector.Election
				for i, m := range members {
					candidate := lease.KeeperConfig{Self: fmt.Sprintf("n%d", i), Store: store, Timing: lease.DefaultTiming(), Strict: strict}
					group := lease.GroupConfig{Name: "g", Lead: m.Lead}
					if m.Handler != nil {
						group.Handlers = []elector.RoleHandler{m.Handler}
					}
					el, err := lease.New(candidate, group)
					require.NoError(t, err)
					all = append(all, el)
				}
				return all
			})
		})
	}
}
