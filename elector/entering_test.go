// While a loop is being started, or the node's record changes, whoever would change the same things waits.

package elector

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// Two that start a loop at once would have two goroutines use one node. An order that does not wait for the store's answer may be given for a
// record that is not the node's any more.
func TestWhatChangesHowANodeBeginsIsDoneOneAfterAnother(t *testing.T) {
	for name, do := range map[string]func(h *Host, el *Elector) error{
		"Start":            func(_ *Host, el *Elector) error { return el.Start() },
		"KeepDrained":      func(h *Host, _ *Elector) error { return h.KeepDrained(true) },
		"Serve":            func(h *Host, _ *Elector) error { return h.Serve() },
		"the end of Close": func(h *Host, _ *Elector) error { return h.standAsBefore(true) },
		"Undrain":          func(h *Host, _ *Elector) error { return h.Undrain() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := IsolatedHost(t, new(memberstate.MemStore))
				require.NoError(t, MustJoin(t, h, GroupOf("runs", "n0", "n1")).Start())
				el := MustJoin(t, h, GroupOf("g", "n0", "n1"))
				h.entering <- struct{}{}
				over := make(chan error, 1)
				go func() { over <- do(h, el) }()
				synctest.Wait()
				assert.Empty(t, over, "it did not wait")
				<-h.entering
				require.NoError(t, <-over)
				require.NoError(t, h.Close(t.Context()))
			})
		})
	}
}
