package explore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

func parsed(t *testing.T, text string) *Script {
	t.Helper()
	s, err := ParseScript(strings.NewReader(text))
	require.NoError(t, err)
	return s
}

// A clock that falls behind by more than the margin makes two leases: the stored script shows it, with the machines
// as they are now.
func TestAScriptIsPlayedOnPlainMachines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "two_leases.txt"))
	require.NoError(t, err)
	s := parsed(t, string(text))
	drawn, err := s.Trace()
	require.NoError(t, err)
	assert.Empty(t, drawn.Unmet)
	require.NotNil(t, drawn.Violation)
	assert.True(t, s.Expects(drawn.Violation.Invariant))
	assert.Equal(t, uint64(2), drawn.Elections)
	for _, p := range drawn.Passages {
		assert.Equal(t, p.Sent, drawn.Moments[p.SentBy].At)
		assert.Less(t, p.SentBy, p.HeardBy)
	}
}

// The drawing has every tick at every node, missed ticks as faults, and the leases, two of them in the end.
func TestTicksAndLeasesAreDrawn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "two_leases.txt"))
	require.NoError(t, err)
	drawn, err := parsed(t, string(text)).Trace()
	require.NoError(t, err)
	ticks, missed := [3]int{}, [3]int{}
	for _, m := range drawn.Moments {
		switch m.Kind {
		case trace.Ticked:
			ticks[m.Node]++
		case trace.Struck:
			missed[m.Node]++
			assert.Equal(t, "its clock misses a tick", m.What)
		default:
		}
	}
	assert.Equal(t, [3]int{1, 3, 3}, ticks)
	assert.Equal(t, [3]int{2, 0, 0}, missed)
	at := drawn.Violation.At
	require.Len(t, drawn.Bands, 2)
	for i, want := range []trace.Band{{Node: 0, Term: 1, From: at - everyStep}, {Node: 2, Term: 2, From: at}} {
		want.Kind, want.What, want.To = trace.LeaseBand, "lease", at+everyStep
		assert.Equal(t, want, drawn.Bands[i])
	}
	assert.Equal(t, drawn.End, at+everyStep)
}

// A lease ends with the tick that ends it, unless its holder's clock misses that.
func TestALeaseThatRunsOutIsDrawnSo(t *testing.T) {
	const way = "explored\nmembers 3\npre-vote off\nleases on\n1 n0 alarm\n2 n1 hears 1\n3 n1 hears 1\n4 n0 hears 3\n5 n1 hears 4\n6 n0 hears 5\n7 tick\n8 tick without n0\n9 tick\n10 n2 alarm\n"
	drawn, err := parsed(t, way).Trace()
	require.NoError(t, err)
	assert.Equal(t, []trace.Band{{Kind: trace.LeaseBand, What: "lease", Term: 1, From: 6 * everyStep, To: 9 * everyStep}}, drawn.Bands)
}

// With all clocks right the same steps end with one lease, and the script reports that it had expected two.
func TestAnUnmetExpectationIsReported(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "two_leases.txt"))
	require.NoError(t, err)
	drawn, err := parsed(t, strings.ReplaceAll(string(text), " without n0", "")).Trace()
	require.NoError(t, err)
	assert.Nil(t, drawn.Violation)
	assert.Equal(t, []string{"expected but did not happen: violation one lease"}, drawn.Unmet)
}

// A script that was written is read as it was.
func TestAScriptsTextIsReadAsItWasWritten(t *testing.T) {
	text := `explored
members 3
leak 4
pre-vote off
leases on
1 n0 alarm
2 n1 hears 1
3 n0 hears 2/2
4 tick
5 tick without n0 n2
6 n2 hands-over-to n1
7 n1 loses n0
8 n1 crashes
9 n1 stands
10 n1 resigns
11 n1 lapses
12 n1 writes
13 n1 calls-off
14 n1 stays
15 n1 returns
16 n1 hears 3 in-vain
17 n1 hears 3/2 in-vain
18 n1 is-able
19 n1 is-unwell
20 n1 hangs
21 n1 recovers
expect violation one leader a term
`
	s := parsed(t, text)
	assert.Equal(t, text, s.String())
	assert.True(t, s.Expects(invariant.OneLeader))
	assert.False(t, s.Expects(invariant.OneLease))
}

func TestAScriptThatMakesNoSenseIsRefused(t *testing.T) {
	const head = "explored\nmembers 3\n"
	for text, says := range map[string]string{
		"":                                   "the number of members is missing",
		"members 3":                          `line 1: "members 3": want "explored"`,
		"explored\nmembers 9":                "members is 9",
		"explored\nmembers many":             "many",
		head + "2 n0 alarm":                  "this must be step 1",
		head + "alarm":                       `line 3: "alarm": this must be step 1`,
		head + "1":                           "it ends too early",
		head + "1 n0":                        "it ends too early",
		head + "1 n9 alarm":                  "there is no n9",
		head + "pre-vote maybe":              `"maybe" is none of off, on`,
		head + "1 n0 sings":                  `no event is called "sings"`,
		head + "1 n0 tick":                   `no event is called "tick"`,
		head + "1 x0 alarm":                  `"x0" is no node`,
		head + "1 n0 alarm twice":            `unexpected "twice"`,
		head + "1 n0 hears":                  "it ends too early",
		head + "1 n0 hears 1/x":              `"1/x" is no step`,
		head + "1 n0 hears 0":                `"0" is no step`,
		head + "1 n0 loses":                  "it ends too early",
		head + "1 tick with n0":              `unexpected "with n0"`,
		head + "expect violation of manners": `no invariant is called "of manners"`,
	} {
		_, err := ParseScript(strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
	}
}

// A script may ask for something impossible.
func TestAStepThatCannotBeIsNamed(t *testing.T) {
	const head = "explored\nmembers 3\n"
	for text, says := range map[string]string{
		"1 n3 alarm":                 `line 3: "1 n3 alarm": there is no n3`,
		"1 n0 loses n4":              "there is no n4",
		"1 n0 hears 1":               "step 1 has sent no message 1",
		"1 n0 alarm\n2 n1 hears 1/2": `line 4: "2 n1 hears 1/2": step 1 has sent no message 2`,
		"1 n0 alarm\n2 n0 hears 1":   "not for n0",
		"1 n0 writes":                "does not lead",
		"1 n0 lapses":                "not possible yet",
		"1 n0 hands-over-to n0":      "it cannot be its own target",
		lone(mostTerms):              "",
		lone(mostTerms + 1):          "beyond term 7",
	} {
		_, err := parsed(t, head+text).Trace()
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says, text)
	}
}

// lone takes a group of one this many terms further, crash by crash.
func lone(terms int) string {
	lines := []string{"members 1", "pre-vote off"}
	for i := range terms {
		lines = append(lines, fmt.Sprintf("%d n0 alarm", 2*i+1), fmt.Sprintf("%d n0 crashes", 2*i+2))
	}
	return strings.Join(lines, "\n")
}

// Steps that a violation does not need are left out, and what is left shows it still.
func TestAScriptIsMadeSmall(t *testing.T) {
	m := newModel(Bounds{Members: 3, Terms: mostTerms, Beats: 1}, newRegistry())
	for i := range m.rules {
		m.rules[i].Voters = memberstate.SetOf(seatOf(i)) // each is a group of its own
	}
	s := parsed(t, "explored\nmembers 3\n1 n1 stands\n2 n2 hears 1\n3 n2 crashes\n4 n0 alarm\n5 n2 loses n1\n6 n1 stands\n")
	p, err := s.play(m)
	require.NoError(t, err)
	require.False(t, p.defect.none())
	s.breaks = &p.defect.invariant
	s.shrink(m)
	assert.Len(t, s.acts, 1)
	assert.True(t, s.breaksStill(m))
}

// Any file is refused or played, and does no harm.
func FuzzScript(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "two_leases.txt"))
	require.NoError(f, err)
	f.Add(string(text))
	f.Add("explored\nmembers 3\n1 n0 alarm\n2 n1 hears 1\n3 n0 hears 2\n4 n0 alarm\n5 n0 writes\n6 n0 resigns\n7 n1 hears 5\n")
	f.Add("explored\n" + lone(3))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := ParseScript(strings.NewReader(s.String()))
		require.NoError(t, err)
		require.Equal(t, s.String(), again.String())
		_, _ = s.Trace() // an error will do, too
	})
}
