package simulation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/simulation"
)

// The stories in testdata go as they say.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			file, err := os.Open(name)
			require.NoError(t, err)
			defer func() { assert.NoError(t, file.Close()) }()
			s, err := simulation.ParseScenario(file)
			require.NoError(t, err)
			r, err := s.Run()
			require.NoError(t, err)
			assert.Empty(t, r.Unmet)
			if r.Violation != nil {
				assert.True(t, s.Expects(r.Violation.Invariant), "%v", r.Violation)
			}
		})
	}
}

// What is wrong with a scenario's text is said with its line, or with what it is about.
func TestWrongScenariosAreNamed(t *testing.T) {
	for text, says := range map[string]string{
		"members many":                      `line 1: "members many": "many" is no number`,
		"\nweather fine":                    `line 2: "weather fine": no line begins with "weather"`,
		"at 1s crash":                       "a node is missing",
		"at soon crash n0":                  `"soon" is no time`,
		"at 1s loss n0":                     `no fault that strikes at a time is called "loss"`,
		"at 1s crash n0 twice":              `"twice" is no node`,
		"at 1s crash n77":                   "there is no n77",
		"at 1s bridge n0 links n0>n99":      `"n0>n99" is no link`,
		"at 0s clock-rate n0 count 900000":  "count is to be from -25000 to 25000",
		"leases maybe":                      `"maybe" is none of off, on`,
		"message n0>n1 17 lost":             `"17" is no number such as #17`,
		"wait n0 #1":                        "it ends too early",
		"members 3\nheal n0":                "1 of 3 nodes are no quorum",
		"members 3\nheal n0 n7":             "there is no voter n7",
		"expect violation of everything":    `no invariant is called "of everything"`,
		"expect leader n0":                  "it ends too early",
		"members 12":                        "Members is 12",
		"timing heartbeat 1s leak 3 margin": `"margin" is none of vote-wait`,
		"duration 1s 2s":                    `what is "2s"?`,
	} {
		_, err := simulation.ParseScenario(strings.NewReader(text))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestFaultsAreListed(t *testing.T) {
	for list, want := range map[string]string{
		"all":             "network,process,disk,clock,operator",
		"none":            "none",
		"crash,loss":      "loss,crash",
		"network,-loss":   "delay,heavy-tail,duplicate,reorder,slow-link,stale-message,corrupt,one-way-cut,partition,isolation,leader-minority,leader-mute,ring,bridge,flap,true-hint,late-hint,false-hint",
		"assumptions":     "assumptions",
		"disk, clock":     "disk,clock",
		"all,assumptions": "network,process,disk,clock,operator,assumptions",
	} {
		set, err := simulation.ParseFaults(list)
		require.NoError(t, err)
		assert.Equal(t, want, set.String())
		again, err := simulation.ParseFaults(want)
		require.NoError(t, err)
		assert.Equal(t, set, again)
	}
	without, err := simulation.ParseFaults("-crash")
	require.NoError(t, err)
	assert.False(t, without.Has(simulation.Crash))
	assert.True(t, without.Has(simulation.CrashAll))
}

// FuzzScenario: no text is too strange to be refused, and what is accepted can be
// played, and written and read again.
func FuzzScenario(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add("timing heartbeat 100ms leak 3 vote-wait 30ms 100ms round 100ms margin 15ms\nranks off\npre-vote off")
	f.Add("at 1s wiped n0 for 1s count 1\nat 1s twin n1\nat 1s rolled-back n2\nat 0s torn-tail n0\nat 1s observe")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := simulation.ParseScenario(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := simulation.ParseScenario(strings.NewReader(s.String()))
		require.NoError(t, err)
		assert.Equal(t, s.String(), again.String())
		if s.Duration < 1e9 && len(s.Strikes) < 20 {
			_, err = s.Run()
			assert.NoError(t, err)
		}
	})
}
