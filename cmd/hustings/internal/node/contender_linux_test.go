// A contender whose program takes its time to end.

package node_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/node"
)

// A program may use what is left of the lease. Meanwhile the service manager must not take the node for hung.
func TestANodeWithALeaseSaysThatItRunsUntilItsProgramHasEnded(t *testing.T) {
	hears, may := supervised(t), filepath.Join(t.TempDir(), "may")
	_, pages, leave := contend(t, "a", "sqlite:"+filepath.Join(t.TempDir(), "leases.db"), func(c *node.Config) {
		c.Exec = fmt.Sprintf(`trap 'until [ -e %[1]s.end ]; do sleep 0.01; done; exit' TERM; touch %[1]s; while :; do sleep 0.01; done`, may)
	})
	becomes(t, pages, http.StatusOK)
	require.Eventually(t, func() bool { _, err := os.Stat(may); return err == nil }, patience, 1e6)
	left := make(chan struct{})
	go func() { defer close(left); leave() }()
	hears("STOPPING=1")
	for range 3 { // the first one may have been on its way
		hears("WATCHDOG=1")
	}
	require.NoError(t, os.WriteFile(may+".end", nil, 0o600))
	<-left
}
