// Every part of the simulator is needed: without one invariant, or one fault, some mutant is not noticed any more.

package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/effort"
	"github.com/hustings/hustings/simulation"
	"github.com/hustings/hustings/simulation/invariant"
)

// pair is a mutant, the invariant or fault that is needed to notice it, and how many seeds that takes, if it takes
// more than usual.
type pair struct {
	mutant, needs string
	seeds         int
}

// needInvariant has every invariant that is the only one to notice some mutant.
var needInvariant = []pair{
	{"answers-of-older-rounds-count", "won by a quorum", 0},
	{"heard-of-an-older-term", "follows a winner", 0},
	{"hands-over-to-a-node-that-drains", "not to the leaving", 0},
	{"observer-refuses-candidates", "observers have no voice", 0},
	{"append-of-an-older-term-takes-back", "terms rise", 0},
	{"promise-grows-on-restart", "saved before said", 0},
	{"lead-begun-twice", "one office", 0},
	{"appends-not-remembered-by-the-engine", "committed entries stay", 8192},
	{"leader-steps-down-three-beats-late", "leader is heard", 0},
	{"lease-survives-the-handover", "one lease", 0},
	{"taker-not-held-to-the-ledger", "transfer ends", 0},
	{"plain-requests-depose", "returns quietly", 0},
	{"veto-not-awaited", "hints in vain", 0},
	{"silence-as-long-as-ones-own-intervals-say", "changes quietly", 3136},
	{"preferred-never-offered", "preferred leads", 0},
	{"leader-that-cannot-work-leads-on", "able leads", 0},
	{"gives-way-to-members-that-are-not-able", "leads all the same", 0},
	{"hold-does-not-grow", "does not flap", 0},
	{"protected-node-drains", "holds still", 0},
	{"balance-gives-nothing", "gets even", 0},
	{"drain-hands-over-all-at-once", "keeps its pace", 0},
	{"beats-older-than-the-bond", "a beat is a heartbeat", 0},
	{"campaigns-do-not-wait", "campaigns wait", 0},
	{"observer-does-not-show-its-leader", "one table", 0},
	{"silence-is-waited-for-twice", "in time", 0},
	{"long-campaign-keeps-its-room", "given back", 0},
}

// needInvariantIn has the invariants that alone notice some mutant in worlds of one kind; in others other faults hide it.
var needInvariantIn = []struct {
	world string
	pair
}{
	{"-faults none,drain", pair{"target-that-is-behind-waits-for-a-beat", "no gap", 0}},
}

// implied are the invariants that are never the only one to notice a mutant, with the reason why they are there all
// the same.
var implied = map[string]string{
	"converges":                    "a group that gets no leader in the calm at the end breaks other promises soon after, such as one table or the end of a drain; this invariant is asked first, and names the group",
	"drain ends":                   "a group that a drain leaves behind is still to be handed over when all is quiet, and \"given back\" sees that; this invariant names the group",
	"legal step":                   "the only mutant that needed it begins more campaigns than it may; this invariant needs no time, and names the step",
	"never stuck":                  "a member that is stuck leads although it is not able to, or nobody leads, and others notice that in time; this invariant needs no time, and names the member",
	"an answer is a success":       "what is counted for a member that did not follow keeps a leader in office without a quorum, or a lease too long, and others notice that later; this invariant names the member and the beat",
	"credit is backed":             "a vote that a promise forbids gives two leases if the other leader's lasts, and all else that is needed is rare; this invariant names the voter and both terms",
	"leader has what is committed": "a leader without a committed entry soon overwrites it at its followers; this invariant is broken before that, and names the leader",
	"one leader a term":            "a member that leads a term again does not serve it again, so it never serves, and a second leader has no quorum; this invariant names the term and both leaders at once",
	"one vote a term":              "a member that changes its vote and dies before it says so comes back with another vote, and its term has not risen; this invariant needs no crash",
}

// needFault has every fault that some mutant needs to be noticed: if all other faults strike, and this one does not,
// the mutant is not noticed.
var needFault = []pair{
	{"impossible-term-believed", "corrupt", 0},
	{"lost-connection-breaks-the-promise", "false-hint", 0},
	{"strangers-followed", "forged", 0},
	{"failed-sync-tried-again", "sync-fails", 0},
	{"hung-save-taken-for-done", "save-hangs", 0},
	{"long-save-not-waited-for", "slow-disk", 0},
	{"store-not-synced", "torn-tail", 0},
	{"lease-held-against-the-wall-clock", "wall-jump", 0},
	{"broken-ledger-relied-on", "ledger-breaks", 0},
	{"impossible-append-believed", "stray-append", 0},
	{"observer-stands-on-command", "stand", 0},
	{"plain-requests-depose", "without-pre-vote", 0},
	{"lost-store-taken-for-a-new-one", "wiped", 0},
}

// needFaultPlainly has the same for faults whose mutant drawn worlds show even without the fault: in one of
// four somebody observes, or is preferred, from the beginning.
var needFaultPlainly = []pair{
	{"preferred-never-offered", "prefer", 0},
	{"observers-not-told", "observe", 0},
}

// needClass has classes of faults that stand in for each other: a mutant is noticed with some fault of the class,
// and with none of the other classes.
var needClass = []pair{
	{"veto-awaited-for-ever", "network", 0},
	{"failed-save-swallowed", "disk", 0},
}

// needClassPlainly has the same in worlds that are not drawn. Processes have no row: in most
// other classes some fault restarts one.
var needClassPlainly = []pair{
	{"preferred-never-offered", "operator", 0},
}

// lone is a mutant that is noticed if only one fault strikes, perhaps beside a few others, and not without that one.
type lone struct {
	mutant, fault string
	beside        string
	seeds         int
}

// aloneFault has the faults for which others stand in: if all faults strike, every mutant noticed with one of these is
// noticed without it, too. So only where it strikes alone does it show that the fault still works.
var aloneFault = []lone{
	{"beats-never-expire", "stale-message", "", 0},
	{"ledger-by-index-only", "one-way-cut", "", 4096},
	{"ledger-by-index-only", "partition", "", 0},
	{"ledger-by-index-only", "isolation", "", 0},
	{"ledger-by-index-only", "leader-minority", "", 0},
	{"term-regained-with-its-quorum", "leader-mute", "", 0},
	{"ledger-by-index-only", "ring", "", 0},
	{"ledger-by-index-only", "bridge", "", 0},
	{"term-regained-with-its-quorum", "flap", "", 0},
	{"veto-awaited-for-ever", "true-hint", "crash", 0},
	{"veto-awaited-for-ever", "late-hint", "never-back", 0}, // a member that is back answers
	{"restart-in-the-same-term", "crash", "", 0},
	{"restart-in-the-same-term", "crash-before-save", "transfer", 0}, // to the next term, which needs a reason
	{"restart-forgets-the-vote", "crash-in-save", "", 0},
	{"restart-forgets-the-vote", "crash-before-send", "", 0},
	{"restart-in-the-same-term", "crash-between-sends", "", 0},
	{"restart-forgets-the-vote", "crash-all", "", 0},
	{"promise-forgotten-on-restart", "rolling-restart", "", 0},
	{"silent-peer-waited-for", "never-back", "", 0},
	{"term-regained-with-its-quorum", "pause", "", 0},
	{"promise-shorter-by-the-margin", "clock-rate", "leader-minority", 4096},
	{"takes-over-while-an-old-lead-runs", "transfer", "", 0},
	{"restart-forgets-the-vote", "kill-in-save", "", 0},
	{"restart-forgets-the-vote", "power-cut", "", 0},
	{"step-begun-while-one-waits-for-the-ledger", "engine-slow", "", 0},
	{"heir-beside-the-lease-of-a-leader-that-hangs", "engine-hangs", "", 0},
	{"hold-does-not-grow", "engine-silent", "", 0},
	{"hold-does-not-grow", "ability-flaps", "", 0},
	{"hold-does-not-grow", "lead-hangs", "resign", 0},
	{"hold-does-not-grow", "pause-hangs", "transfer", 0},
	{"answer-for-the-pause-before-believed", "late-answer", "transfer", 0},
	{"waits-for-its-ledger-in-office", "ledger-end-hangs", "transfer", 0},
	{"hanging-judge-not-noticed", "stalled-hangs", "", 0},
	{"takes-over-although-it-is-not-able", "not-electable", "transfer", 0},
	{"hands-over-to-a-node-that-drains", "drain", "resign", 0},
	{"protected-node-drains", "protect", "drain", 0},
	{"balance-gives-to-a-node-that-drains", "balance", "drain", 8192},
	{"hanging-disk-taken-for-done", "disk-hangs", "crash", 0},
	{"early-return-is-no-resignation", "lead-returns", "", 0},
	{"promised-by-those-with-leases-alone", "switch-leases", "isolation", 4096},
	{"promised-by-those-with-leases-alone", "without-leases", "", 0},
	{"promise-not-saved", "longer-leases", "", 0},
	{"lease-taken-back-when-the-handover-is-given-up", "given-up", "transfer", 0},
	{"vouched-for-less-than-the-voter-has", "late-word", "transfer", 0},
	{"resignation-forgotten", "resign", "", 0},
	{"failed-save-swallowed", "save-fails", "", 0},
	{"other-lists-of-voters-accepted", "other-members", "", 0},
}

// aloneFaultPlainly has the same in worlds that are not drawn, because some of those show the
// mutant without the fault.
var aloneFaultPlainly = []lone{
	{"lease-by-those-who-are-not-ready", "loss", "", 0},
	{"second-answer-counted-as-anothers", "duplicate", "", 0},
	{"beat-answers-credited-to-the-newest", "delay", "", 1024},
	{"beat-answers-credited-to-the-newest", "heavy-tail", "", 1024},
	{"beat-answers-credited-to-the-newest", "slow-link", "", 1024},
	{"beat-answers-credited-to-the-newest", "slow-node", "", 1024},
}

// unneeded are the faults that no mutant was found to need, with the reason why they strike all the same.
var unneeded = map[simulation.Fault]string{
	simulation.Reorder:      "messages overtake each other without it, because each is under way for a time of its own; it makes that frequent",
	simulation.Retime:       "intervals are changed at the end of every run, too, where no other fault blurs what follows",
	simulation.WithoutBeats: "processes that exchange no beats take the place of others by switch-beats, too",
	simulation.SwitchBeats:  "a process is replaced by one of the other kind at the end of some runs, too",
	simulation.PauseFails:   "a handover for which writes could not be paused is given up at once; if it were not, it would be given up when its time is up",
}

// breakSoundCode are the faults that need no mutant: they break an assumption that sound code cannot do without and
// that members cannot always detect, so sound code shows that they strike.
var breakSoundCode = map[simulation.Fault]string{
	simulation.ClockBeyond: "clocks that differ by more than the margin make two leases",
	simulation.RolledBack:  "a disk that has forgotten a vote gives it again",
	simulation.Twin:        "two processes of one member have two votes",
}

func TestEveryInvariantIsNeeded(t *testing.T) {
	var names []string
	for _, i := range invariant.All() {
		names = append(names, i.String())
	}
	var needed []string
	for _, p := range needInvariant {
		needed = append(needed, p.needs)
	}
	for _, in := range needInvariantIn {
		needed = append(needed, in.needs)
	}
	for name, why := range implied {
		assert.NotEmpty(t, why)
		needed = append(needed, name)
	}
	require.ElementsMatch(t, names, needed)
}

func TestOneInvariantIsNeeded(t *testing.T) {
	h := newLongHunter(t)
	for _, p := range needInvariant {
		h.makesADifference(t, p.needs, p.mutant, p.seeds, nil, []string{"-unchecked", p.needs})
	}
	for _, in := range needInvariantIn {
		world := strings.Fields(in.world)
		h.makesADifference(t, in.needs, in.mutant, in.seeds, world, append(slices.Clone(world), "-unchecked", in.needs))
	}
}

func TestEveryFaultIsNeeded(t *testing.T) {
	var needed []string
	for _, p := range slices.Concat(needFault, needFaultPlainly) {
		needed = append(needed, p.needs)
	}
	for _, l := range slices.Concat(aloneFault, aloneFaultPlainly) {
		needed = append(needed, l.fault)
	}
	for _, reasons := range []map[simulation.Fault]string{breakSoundCode, unneeded} {
		for f, why := range reasons {
			assert.NotEmpty(t, why)
			needed = append(needed, f.String())
		}
	}
	var names []string
	for _, f := range simulation.Faults() {
		names = append(names, f.String())
	}
	require.ElementsMatch(t, names, needed)
}

func TestOneFaultIsNeeded(t *testing.T) {
	h := newLongHunter(t)
	for _, p := range needFault {
		h.makesADifference(t, p.needs, p.mutant, p.seeds, []string{"-faults", "all," + p.needs}, []string{"-faults", "all,-" + p.needs})
	}
	for _, p := range needFaultPlainly {
		h.makesADifference(t, p.needs, p.mutant, p.seeds, []string{"-plain", "-faults", "all"}, []string{"-plain", "-faults", "all,-" + p.needs})
	}
}

func TestOneClassIsNeeded(t *testing.T) {
	h := newLongHunter(t)
	for _, p := range needClass {
		h.makesADifference(t, p.needs, p.mutant, p.seeds, []string{"-faults", "all"}, []string{"-faults", "all,-" + p.needs})
	}
	for _, p := range needClassPlainly {
		h.makesADifference(t, p.needs, p.mutant, p.seeds, []string{"-plain", "-faults", "all"}, []string{"-plain", "-faults", "all,-" + p.needs})
	}
}

func TestALoneFaultIsNeeded(t *testing.T) {
	h := newLongHunter(t)
	for _, l := range aloneFault {
		others := cmp.Or(l.beside, "none")
		h.makesADifference(t, l.fault, l.mutant, l.seeds, []string{"-faults", others + "," + l.fault}, []string{"-faults", others})
	}
	for _, l := range aloneFaultPlainly {
		others := cmp.Or(l.beside, "none")
		h.makesADifference(t, l.fault, l.mutant, l.seeds, []string{"-plain", "-faults", others + "," + l.fault}, []string{"-plain", "-faults", others})
	}
}

// If one of these strikes, sound code breaks an invariant that is excused; without them it breaks none.
func TestTheseFaultsBreakSoundCode(t *testing.T) {
	effort.Alone(t)
	const others = "all,-clock-beyond"
	excused := func(list string) int {
		faults, err := simulation.ParseFaults(list)
		require.NoError(t, err)
		c := simulation.Campaign{Count: effort.Of[uint64](600, 200), Options: func(seed uint64) simulation.Options {
			return simulation.Options{Seed: seed, Leases: true, Faults: faults, Duration: 20 * time.Second}
		}}
		total, err := c.Run(t.Context())
		require.NoError(t, err)
		require.Empty(t, total.Failing)
		return len(total.Excused)
	}
	assert.Zero(t, excused(others))
	for f, why := range breakSoundCode {
		assert.Positive(t, excused(others+","+f.String()), "%v: %s", f, why)
	}
}

// longHunter builds mutants one after another, and none twice in a row.
type longHunter struct {
	*hunter
	built string
}

// newLongHunter is for tests that take minutes. They run only if HUSTINGS_TEST_LONG is set.
func newLongHunter(t *testing.T) *longHunter {
	t.Helper()
	if os.Getenv("HUSTINGS_TEST_LONG") == "" {
		t.Skip("HUSTINGS_TEST_LONG is not set")
	}
	return &longHunter{hunter: newTestHunter(t)}
}

// pairSeeds is how many seeds a pair gets. It is a number of seeds, so that the result is the same on any machine.
const pairSeeds = 2048

// makesADifference checks that a mutant is noticed with something in the first half of the seeds, and without it in
// none of all seeds. So the difference is no accident.
func (h *longHunter) makesADifference(t *testing.T, what, name string, seeds int, with, without []string) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		if h.built != name {
			i := slices.IndexFunc(handwritten, func(m mutant) bool { return m.Name == name })
			require.GreaterOrEqual(t, i, 0, name)
			require.NoError(t, h.build(t.Context(), &handwritten[i]))
			h.built = name
		}
		all := cmp.Or(seeds, pairSeeds)
		assert.NotEmpty(t, notices(t, h.hunter, all/2, with...), name)
		assert.Empty(t, notices(t, h.hunter, all, without...), name)
	})
}

// notices is the invariant by which the simulator notices the mutant that was built last within so many seeds. A run
// that the time limit ends early proves nothing, so it fails the test.
func notices(t *testing.T, h *hunter, seeds int, args ...string) string {
	t.Helper()
	s, err := h.run(t.Context(), time.Hour, append(slices.Clone(args), "-seeds", strconv.Itoa(seeds))...)
	require.NoError(t, err)
	if s.noticed == "" {
		require.EqualValues(t, seeds, s.seeds, "the time limit ended the run")
	}
	return s.noticed
}
