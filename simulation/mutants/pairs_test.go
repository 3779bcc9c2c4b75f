// What the simulator is made of: take one invariant away, or one fault, and a mutant
// that it noticed is not noticed any more.

package main

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
)

// pair is a mutant, and what is needed to notice it.
type pair struct{ mutant, needs string }

// needInvariant has every invariant.
var needInvariant = []pair{
	{"restart-in-the-same-term", "one leader a term"},
	{"stale-answers-count", "won by a quorum"},
	{"heartbeat-of-an-older-term-obeyed", "follows a winner"},
	{"vote-goes-to-the-leader", "one vote a term"},
	{"observer-claims-a-promise", "observers have no voice"},
	{"store-not-synced", "terms rise"},
	{"vote-not-saved", "saved before said"},
	{"lapsed-lease-goes-on", "legal step"},
	{"no-alarm-after-silence", "never stuck"},
	{"leads-while-an-old-lead-runs", "one office"},
	{"ledger-not-compared", "leader has what is committed"},
	{"leader-never-steps-down", "leader is heard"},
	{"lease-by-those-who-promised-nothing", "one lease"},
	{"handover-never-given-up", "transfer ends"},
	{"quorum-more-one", "converges"},
	{"plain-requests-depose", "returns quietly"},
	{"veto-of-the-leader-ignored", "hints in vain"},
	{"preferred-never-offered", "preferred leads"},
}

// needFault has the faults and classes of faults that one mutant needs; others help to
// notice many, and none of these alone.
var needFault = []pair{
	{"ledger-by-index-only", "network"},
	{"lost-connection-breaks-the-promise", "false-hint"},
	{"no-fasting", "process"},
	{"store-not-synced", "torn-tail"},
	{"drift-margin-forgotten", "clock-rate"},
	{"handover-never-given-up", "operator"},
	{"resignation-forgotten", "resign"},
	{"preferred-never-offered", "prefer"},
	{"observers-answer-for-voters", "observe"},
	{"first-beat-not-sent", "without-pre-vote"},
	{"lease-by-those-who-promised-nothing", "without-leases"},
	{"promise-not-saved", "longer-leases"},
}

func TestEveryInvariantIsNeeded(t *testing.T) {
	var names []string
	for _, i := range simulation.Invariants() {
		names = append(names, i.String())
	}
	var needed []string
	for _, p := range needInvariant {
		needed = append(needed, p.needs)
	}
	require.ElementsMatch(t, names, needed)
	takeAway(t, needInvariant, func(invariant string) []string { return []string{"-ignore", invariant} })
}

func TestTheseFaultsAreNeeded(t *testing.T) {
	takeAway(t, needFault, func(fault string) []string { return []string{"-faults", "all,-" + fault} })
}

// takeAway builds the mutant of each pair, which must be noticed, and not if what it needs
// is taken away. This takes minutes, and is done only if HUSTINGS_TEST_LONG is set.
func takeAway(t *testing.T, pairs []pair, without func(string) []string) {
	t.Helper()
	if os.Getenv("HUSTINGS_TEST_LONG") == "" {
		t.Skip("HUSTINGS_TEST_LONG is not set")
	}
	h := newTestHunter(t)
	for _, p := range pairs {
		t.Run(p.needs, func(t *testing.T) {
			i := slices.IndexFunc(handwritten, func(m mutant) bool { return m.Name == p.mutant })
			require.GreaterOrEqual(t, i, 0, p.mutant)
			require.NoError(t, h.build(t.Context(), &handwritten[i]))
			assert.NotEmpty(t, notices(t, h), p.mutant)
			assert.Empty(t, notices(t, h, without(p.needs)...), p.mutant)
		})
	}
}

// pairSeeds is how many seeds a mutant of a pair is looked at with. Seeds, not seconds:
// so what is noticed is the same on any machine.
const pairSeeds = 1024

// notices is what the simulator notices of the mutant that was built last.
func notices(t *testing.T, h *hunter, args ...string) string {
	t.Helper()
	s, err := h.run(t.Context(), time.Minute, append(args, "-seeds", strconv.Itoa(pairSeeds))...)
	require.NoError(t, err)
	return s.noticed
}
