// The explorer finds the simulator's violations, too, within bounds that hold them, once the simulator has made them
// as small as it can.

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
)

// crossings are mutants that both look for. instead is the explorer's invariant, if it is not the one that the
// simulated run breaks, and why gives the reason.
var crossings = []struct{ mutant, instead, why string }{
	{"stale-answers-count", "", ""},
	{"said-before-saved", "", ""},
	{"heartbeat-of-an-older-term-obeyed", "", ""},
	{"refusals-counted", "", ""},
	{"answers-of-older-rounds-count", "", ""},
	{"answers-of-another-mark-count", "", ""},
	{"lead-without-own-vote", "", ""},
	{"term-not-saved", "", ""},
	{"restart-in-the-same-term", "", ""},
	{"vote-goes-to-the-leader", "", ""},
	{"vote-forgotten-on-standing-down", "", ""},
	{"ledger-not-compared", "", ""},
	{"ledger-reversed", "", ""},
	{"no-alarm-after-silence", "", ""},
	{"not-ready-counts-as-accept", "", ""},
	{"quorum-less-one", "", ""},
	{"votes-twice", "one vote a term", "fewer steps lead there than to a leader"},
	{"votes-in-an-older-term", "one vote a term", "fewer steps lead there than to a leader"},
	{"vote-not-saved", "", ""},
	{"restart-forgets-the-vote", "one vote a term", "it compares the state after a restart with the saved one"},
	{"pre-vote-changes-state", "", ""},
	{"vote-not-cleared-on-raise", "one vote a term", "a vote that was not cleared is compared with the next one"},
	{"promise-not-saved", "", "its members are set up alike, so that a promise never changes"},
}

// quick is how many of them the gate tries.
const quick = 3

func TestTheExplorerFindsWhatTheSimulatorFinds(t *testing.T) {
	chosen := crossings
	if os.Getenv("HUSTINGS_TEST_LONG") == "" {
		chosen = chosen[:effort.Of(quick, 1)]
	}
	h := newTestHunter(t)
	for _, c := range chosen {
		t.Run(c.mutant, func(t *testing.T) {
			i := slices.IndexFunc(handwritten, func(m mutant) bool { return m.Name == c.mutant })
			require.GreaterOrEqual(t, i, 0)
			require.NoError(t, h.build(t.Context(), &handwritten[i]))
			out, err := exec.CommandContext(t.Context(), h.binary, "-cross", "-for", "1m").Output()
			require.NoError(t, err)
			var both struct{ Simulated, Explored string }
			require.NoError(t, json.Unmarshal(out, &both))
			t.Logf("%s", out)
			require.NotEmpty(t, both.Simulated, "the simulator finds nothing")
			if want := c.instead; want != "" || c.why != "" {
				assert.Equal(t, want, both.Explored, c.why)
				return
			}
			assert.Equal(t, both.Simulated, both.Explored)
		})
	}
}
