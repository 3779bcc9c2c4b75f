// Engines that are broken in one place each. The worlds must notice every one of them, or they show nothing about the sound one. Two of the
// engines are broken where it matters in one millisecond of thousands of worlds, so a test brings that millisecond about.

package simulated

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	broken = flag.Bool("broken", false, "run engines that are broken")
	of     = flag.String("of", "3000", "how many worlds each of them has at most")
)

// defect is one of them.
type defect struct {
	name    string
	changes []change
	noticed string // by this test; empty: by the worlds
}

// change replaces a text in a file of the engine by another.
type change struct{ file, old, broken string }

// heldUp holds goroutines up for a moment after the elector has allowed an append, as a busy machine may. That breaks nothing, but
// other appends and votes come between. The sleep is part of the engine then, and runs in a bubble, so its time is virtual.
var heldUp = []change{
	{"follower.go", "\t_ = s.promise.Accept(", "\ttime.Sleep(rand.N(100 * time.Millisecond))\n\t_ = s.promise.Accept("}, // virtual time: the worlds are bubbles
	{"follower.go", "import (", "import (\n\t\"math/rand/v2\"\n\t\"time\""},
}

// leadsOn has the end of an office noticed late, as on a busy machine, by a sleep like the one above.
var leadsOn = []change{
	{"shard.go", "\t<-ctx.Done()\n", "\t<-ctx.Done()\n\ttime.Sleep(rand.N(time.Second))\n"}, // virtual time, too
	{"shard.go", "s.office == nil || s.office.ctx.Err() != nil", "s.office == nil"},
	{"shard.go", "import (", "import (\n\t\"math/rand/v2\"\n\t\"time\""},
}

var defects = []defect{
	{name: "it does not tell its elector of appends", changes: []change{{"follower.go", "if s.elector.Heard(term, from) != nil {", "if false {"}}},
	// Few worlds lose a write by this: a leader has given a handover up and writes on, its append is held up, and a request for votes
	// from that handover comes first. But nearly all show a ledger that has grown after a promise, and so the elector stops.
	{name: "it promises nothing when it says where its ledger ends", changes: append(heldUp, change{"shard.go", "return s.promise.End(term, func()", "return new(elector.Promise).End(term, func()"})},
	{name: "it accepts an append of an older term after a newer one", changes: append(heldUp, change{"follower.go", "s.promise.Accept(term, func()", "new(elector.Promise).Accept(term, func()"},
		change{"follower.go", "import (", "import (\n\t\"github.com/hustings/hustings/elector\""})},
	{name: "it reads when its lease has ended", changes: append(leadsOn, change{"read.go", "held && term == o.term", "held || term != o.term"})},
	{name: "it counts observers when it commits", changes: []change{{"leader.go", "\t\tif p.votes {\n\t\t\thave", "\t\tif true {\n\t\t\thave"}}},
	{name: "it acknowledges entries before they are on disk", changes: []change{{
		"follower.go", "s.save(fresh, answer)", "s.save(fresh, nil)\n\t\ts.answer(term, from, &ledgerpb.Matched{Index: matched, Round: a.Round, Attempt: a.Attempt})",
	}}},
	{name: "it commits entries of earlier terms alone", changes: []change{{"leader.go", "n >= o.began", "n > 0"}}, noticed: "TestAnEntryOfAnEarlierTermIsNotCommittedAlone"},
	{name: "it does not compare the entry before", changes: []change{{"follower.go", "if !s.ledger.has(before) {", "if before.Index > s.ledger.end.Index {"}}},
	{name: "it does not take away what the leader has not got", changes: []change{{"follower.go", "s.cutSaved(index - 1)", "s.ledger.cut(index - 1)"}}},
	{name: "it carries commands out again", changes: []change{{"state.go", "case c.Number == last.Number:", "case c.Number == last.Number && false:"}, {"state.go", "case c.Number < last.Number:", "case false:"}}},
	{name: "it applies what is not on its disk", changes: []change{{"state.go", "min(s.committed, s.ledger.durable)", "s.committed"}}, noticed: "TestAnEntryIsAppliedWhenItIsOnTheDisk"},
	{name: "it reads before the commands of earlier leaders are applied", changes: []change{{"read.go", "s.applied < o.began", "false"}}},
	{name: "it takes a part of the leader's state for all of it", changes: []change{{"transfer.go", "c.Last = !t.rows.Valid()", "c.Last = true"}}},
	{name: "it keeps sessions of its own when it takes the leader's state", changes: []change{{"transfer.go", "prefix := s.stateKey(s.generation)", "prefix := append(s.stateKey(s.generation), keyOfValues)"}}},
	{name: "it keeps old entries when it takes the leader's state", changes: []change{{"transfer.go", "return b.DeleteRange(s.entryKey(0), after(s.key(keyOfEntries)), nil) },", "return nil },"}}},
	{name: "it takes for committed what it has from another leader", changes: []change{{"follower.go", "min(a.Committed, matched)", "a.Committed"}}},
	{name: "it acknowledges entries that a state has replaced", changes: []change{{"ledger.go", "stay := last.Index > s.ledger.base.Index && s.ledger.term(last.Index) == last.Term", "stay := true"}}, noticed: "TestAnEntryThatAStateHasReplacedIsNotAcknowledged"},
	{name: "it does not pause for a handover", changes: []change{{"shard.go", "o.paused = ctx.Done()", "_ = ctx"}}, noticed: "TestAHandoverLeavesHardlyACommandUnknown"},
	{name: "it forgets what is written while it sends the state", changes: []change{{"transfer.go", "p.catchesUp = true", "p.catchesUp = false"}}, noticed: "TestAFollowerCatchesUpWhileOthersWrite"},
	{name: "it leads on when nobody answers it", changes: []change{{"shard.go", "> s.timing.Leak", "> 1<<40"}}, noticed: "TestALeaderWhoseEngineIsCutOffHandsOver"},
	{name: "it does not wait for a quorum when it is asked to", changes: []change{{"read.go", "sure := reached(rounds)", "sure := o.round + 1"}}},
}

func TestEnginesThatAreHeldUpKeepTheirPromise(t *testing.T) {
	if !*broken {
		t.Skip("-broken is not set")
	}
	for _, late := range [][]change{heldUp, leadsOn} {
		out, err := run(t, late, worlds, "400")
		assert.NoError(t, err, out)
	}
}

func TestBrokenEnginesAreNoticed(t *testing.T) {
	if !*broken {
		t.Skip("-broken is not set")
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			test, says := worlds, "seed "
			if d.noticed != "" {
				test, says = d.noticed, "_test.go:"
			}
			out, err := run(t, d.changes, test, *of)
			assert.Error(t, err, "nobody noticed")
			assert.Contains(t, firstFailure(out), says, "it was noticed there")
			t.Log(firstFailure(out))
		})
	}
}

// worlds is the test that plays them.
const worlds = "TestNoAcknowledgedWriteIsLost"

// run runs a test with changes, and so many worlds if it plays them.
func run(t *testing.T, changes []change, test, seeds string) (string, error) {
	t.Helper()
	dir, overlay := t.TempDir(), map[string]string{}
	for path, source := range apply(t, changes) {
		overlay[path] = filepath.Join(dir, filepath.Base(path))
		require.NoError(t, os.WriteFile(overlay[path], source, 0o600))
	}
	table, err := json.Marshal(map[string]map[string]string{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), table, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count", "1", "-overlay", filepath.Join(dir, "overlay.json"), "-run", "^"+test+"$", "-timeout", "1h", ".", "-seeds", seeds).CombinedOutput()
	return string(out), err
}

// apply makes changes, and returns the files by their paths.
func apply(t *testing.T, changes []change) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, c := range changes {
		path, err := filepath.Abs(filepath.Join("..", "..", "engine", c.file))
		require.NoError(t, err)
		source := files[path]
		if source == nil {
			source, err = os.ReadFile(path)
			require.NoError(t, err)
		}
		require.Equal(t, 1, bytes.Count(source, []byte(c.old)), "it does not apply: %s", c.old)
		files[path] = bytes.Replace(source, []byte(c.old), []byte(c.broken), 1)
	}
	return files
}

func TestEveryDefectApplies(t *testing.T) {
	for _, d := range append(defects, defect{name: "held up", changes: heldUp}, defect{name: "leads on", changes: leadsOn}) {
		t.Run(d.name, func(t *testing.T) { assert.NotEmpty(t, apply(t, d.changes)) })
	}
}

// firstFailure is what was noticed.
func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "seed ") || strings.Contains(line, "panic") || strings.Contains(line, ".go:") {
			return strings.TrimSpace(line)
		}
	}
	return out
}
