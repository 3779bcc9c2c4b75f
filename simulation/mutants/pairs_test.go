// What the simulator is made of: take one invariant away, or one fault, and a mutant
// that it noticed is not noticed any more.

package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
)

// pair is a mutant, and what is needed to notice it; and how many seeds are, if not as
// many as others need.
type pair struct {
	mutant, needs string
	seeds         int
}

// needInvariant has every invariant that some mutant is noticed by alone.
var needInvariant = []pair{
	{"resigned-term-regained", "one leader a term", 0},
	{"answers-of-older-rounds-count", "won by a quorum", 0},
	{"heard-of-an-older-term", "follows a winner", 0},
	{"observer-claims-a-promise", "observers have no voice", 0},
	{"rename-not-synced", "terms rise", 0},
	{"promise-grows-on-restart", "saved before said", 0},
	{"stale-alarm-obeyed", "legal step", 0},
	{"no-alarm-after-making-way", "never stuck", 0},
	{"leads-while-an-old-lead-runs", "one office", 0},
	{"ledger-not-compared", "leader has what is committed", 0},
	{"observers-answer-for-voters", "leader is heard", 0},
	{"lease-by-those-who-promised-nothing", "one lease", 0},
	{"taker-not-held-to-the-ledger", "transfer ends", 0},
	{"first-beat-must-succeed", "converges", 0},
	{"plain-requests-depose", "returns quietly", 0},
	{"veto-not-awaited", "hints in vain", 0},
	{"preferred-never-offered", "preferred leads", 0},
}

// implied are the invariants that nothing is noticed by alone, with the reason why they are
// there all the same.
var implied = map[string]string{
	"one vote a term": "a member that changes its vote and dies before it says so comes back with another vote, and its term has not risen; this one needs no crash",
}

// needFault has the faults and classes of faults that one mutant needs; others help to
// notice many, and none of these alone.
var needFault = []pair{
	{"lost-connection-breaks-the-promise", "network", 0},
	{"lost-connection-breaks-the-promise", "false-hint", 0},
	{"no-fasting", "process", 0},
	{"store-not-synced", "torn-tail", 0},
	{"drift-margin-forgotten", "clock-rate", 12288},
	{"handover-never-given-up", "operator", 0},
	{"vouched-for-nothing-in-particular", "late-word", 0},
	{"resignation-forgotten", "resign", 0},
	{"preferred-never-offered", "prefer", 0},
	{"observers-answer-for-voters", "observe", 0},
	{"first-beat-not-sent", "without-pre-vote", 0},
	{"lease-by-those-who-promised-nothing", "without-leases", 0},
	{"promise-not-saved", "longer-leases", 0},
	{"impossible-term-believed", "corrupt", 0},
	{"failed-save-swallowed", "disk", 0},
	{"no-alarm-after-making-way", "given-up", 0},
	{"stands-on-command-though-bound", "stand", 4096},
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
	for name, why := range implied {
		assert.NotEmpty(t, why)
		needed = append(needed, name)
	}
	require.ElementsMatch(t, names, needed)
	takeAway(t, needInvariant, func(invariant string) []string { return []string{"-unchecked", invariant} })
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
			seeds := strconv.Itoa(cmp.Or(p.seeds, pairSeeds))
			assert.NotEmpty(t, notices(t, h, "-seeds", seeds), p.mutant)
			assert.Empty(t, notices(t, h, append(without(p.needs), "-seeds", seeds)...), p.mutant)
		})
	}
}

// pairSeeds is how many seeds a mutant of a pair is looked at with. Seeds, not seconds:
// so what is noticed is the same on any machine.
const pairSeeds = 2048

// notices is what the simulator notices of the mutant that was built last.
func notices(t *testing.T, h *hunter, args ...string) string {
	t.Helper()
	s, err := h.run(t.Context(), time.Minute, args...)
	require.NoError(t, err)
	return s.noticed
}
