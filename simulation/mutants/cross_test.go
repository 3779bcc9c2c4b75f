// The simulator and the explorer look at each other's findings: what the simulator finds,
// and makes as small as it can, the explorer finds too, within bounds that hold it.

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

// crossings are mutants that both are held against. instead is what the explorer finds, if
// that is not the invariant that the simulated run breaks, and why says how that comes.
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
	{"restart-forgets-the-vote", "one vote a term", "what it comes back with is held against what it had saved"},
	{"pre-vote-changes-state", "", ""},
	{"vote-not-cleared-on-raise", "one vote a term", "a vote that nobody has given yet is held against the one that is"},
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
