package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var crossings = []struct{ mutant, instead string }{
	{"quorum-less-one", ""}, {"votes-twice", ""}, {"stale-answers-count", ""}, {"said-before-saved", ""}, {"vote-not-saved", ""}, {"term-not-saved", ""},
	{"restart-forgets-the-vote", ""}, {"restart-in-the-same-term", ""}, {"ledger-not-compared", ""}, {"ledger-reversed", ""}, {"refusals-counted", ""},
	{"not-ready-counts-as-accept", ""}, {"answers-of-older-rounds-count", ""}, {"heartbeat-of-an-older-term-obeyed", ""}, {"pre-vote-changes-state", ""},
	{"vote-forgotten-on-standing-down", ""}, {"vote-not-cleared-on-raise", ""}, {"votes-in-an-older-term", ""}, {"vote-goes-to-the-leader", ""}, {"lead-without-own-vote", ""},
	{"no-alarm-after-silence", ""}, {"ledger-by-index-only", ""}, {"promise-not-saved", ""}, {"answers-of-another-mark-count", ""},
}

func TestCross(t *testing.T) {
	h := newTestHunter(t)
	for _, c := range crossings {
		i := slices.IndexFunc(handwritten, func(m mutant) bool { return m.Name == c.mutant })
		require.GreaterOrEqual(t, i, 0, c.mutant)
		require.NoError(t, h.build(t.Context(), &handwritten[i]))
		out, err := exec.Command(h.binary, "-cross", "-for", "60s").CombinedOutput()
		t.Logf("%s %v %s", c.mutant, err, out)
	}
	_ = json.Marshal
	_ = os.Getenv
	_ = assert.Empty
}
