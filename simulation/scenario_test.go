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

// The scenarios in testdata go as they expect.
func TestScenariosGoAsExpected(t *testing.T) {
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

// An error in a scenario's text names the line.
func TestErrorsInScenariosNameTheLine(t *testing.T) {
	for text, says := range map[string]string{
		"members many":                            `line 1: "members many": "many" is no number`,
		"\nweather fine":                          `line 2: "weather fine": no line begins with "weather"`,
		"at 1s crash":                             `line 1: "at 1s crash": a node is missing`,
		"at soon crash n0":                        `line 1: "at soon crash n0": "soon" is no time`,
		"at 1s loss n0":                           `no fault that strikes at a time is called "loss"`,
		"at 1s crash n0 twice":                    `"twice" is no node`,
		"members 3\nat 1s crash n3":               `line 2: "at 1s crash n3": there is no n3`,
		"at 1s resign n0\nexpect leader n7 at 1s": `line 2: "expect leader n7 at 1s": there is no n7`,
		"wait n3 #1 1ms":                          `line 1: "wait n3 #1 1ms": there is no n3`,
		"message n0>n4 #1 lost":                   `line 1: "message n0>n4 #1 lost": there is no n4`,
		"at 1s partition links n0>n1,n3>n0":       "there is no n3",
		"at 1s partition links n0>n0":             `"n0>n0" is no link`,
		"append n2>n02 #1 1ms":                    `"n2>n02" is no link`,
		"at 1s partition n0":                      "links are missing",
		"at 0s clock-rate n0 count 900000":        "the count must be from -25000 to 25000",
		"at 1s crash n0 by 1s":                    "crash takes a count, not a time",
		"duration 5s\nat 6s crash n0":             `line 2: "at 6s crash n0": the scenario ends at 5s`,
		"expect no leader at 9s\nduration 5s":     `line 1: "expect no leader at 9s": the scenario ends at 5s`,
		"leases maybe":                            `"maybe" is none of off, on`,
		"message n0>n1 17 lost":                   `"17" is no number such as #17`,
		"message n0>n1 #0 lost":                   `"0" is no number such as #17`,
		"wait n0 #1":                              "it ends too early",
		"wait n0 #1 1ms\nwait n0 #1 2ms":          `line 2: "wait n0 #1 2ms": line 1 says it already`,
		"members 3\nheal n0":                      `line 2: "heal n0": 1 of 3 nodes are no quorum`,
		"members 3\nat 1s observe\nheal n0 n1 n3": `line 3: "heal n0 n1 n3": there is no voter n3`,
		"expect violation of everything":          `no invariant is called "of everything"`,
		"expect leader n0":                        "it ends too early",
		"expect n0 king at 1s":                    `"king" is none of bonded, candidate, down, follower, leader, observer, resting`,
		"expect answer n0>n1 NO at 1s":            `no answer is called "NO"`,
		"expect no hope at 1s":                    `"hope" is none of answer, leader, lease`,
		"expect order n0 lost at 1s":              `"lost" is none of done, failed, open`,
		"\nmembers 12":                            `line 2: "members 12": simulation: Members is 12`,
		"timing heartbeat 1s leak 3 margin":       `"margin" is none of vote-wait`,
		"duration 1s 2s":                          `unexpected "2s"`,
		"groups 65":                               `line 1: "groups 65": simulation: Groups is 65`,
		"at 1s resign n0 g1":                      `line 1: "at 1s resign n0 g1": there is no g1`,
		"at 1s resign n0 g9\ngroups 9":            `line 1: "at 1s resign n0 g9": there is no g9`,
		"groups 2\nat 1s crash n0 g1":             `line 2: "at 1s crash n0 g1": crash strikes no single group`,
		"groups 2\nat 1s crash n0 all-groups":     `crash strikes no single group`,
		"at 1s transfer n0 to n0":                 `line 1: "at 1s transfer n0 to n0": n0 is named twice`,
		"at 1s prefer n0 count 8\nmembers 3":      `line 1: "at 1s prefer n0 count 8": there are 3 voters`,
		"preferred 4":                             `line 1: "preferred 4": there are 3 voters`,
		"groups 2\nexpect g2 leader n0 at 1s":     `line 2: "expect g2 leader n0 at 1s": there is no g2`,
	} {
		_, err := simulation.ParseScenario(strings.NewReader(text))
		assert.ErrorContains(t, err, says, text)
	}
}

// Lines that had no effect, and expectations that were not met, are listed after the run.
func TestLinesWithoutEffectAreListed(t *testing.T) {
	for text, says := range map[string]string{
		"message n0>n1 #99999 lost":                            `line 2: "message n0>n1 #99999 lost" is never reached: there are `,
		"append n0>n1 #7 1ms":                                  `line 2: "append n0>n1 #7 1ms" is never reached: there are 0`,
		"wait n2 #4000 1ms":                                    `line 2: "wait n2 #4000 1ms" is never reached: there are `,
		"write n0 #88 1ms":                                     `line 2: "write n0 #88 1ms" is never reached: there are `,
		"torn n1 #1 1":                                         `line 2: "torn n1 #1 1" is never reached: there are 0`,
		"at 1s stale-message n0 to n1 count 99999":             `line 2: "at 1s stale-message n0 to n1 count 99999": no such message was sent before`,
		"at 1s crash n3\nat 1500ms observe":                    `line 2: "at 1s crash n3": there is no n3 yet`,
		"expect leader n0 at 1s":                               `line 2: expected: leader n0 at 1s; found: n0 follower in term 1`,
		"expect lease n2 at 1s":                                "line 2: expected: lease n2 at 1s; found: nobody holds one",
		"expect violation one lease":                           "line 2: expected: violation one lease; found: <nil>",
		"expect answer n0>n1 EXPIRED_TERM at 1s":               "line 2: expected: answer n0>n1 EXPIRED_TERM at 1s; found: it was given 0 times",
		"expect rounds n2 1 at 1s":                             "line 2: expected: rounds n2 1 at 1s; found: 2",
		"at 1s resign n2\nexpect order n2 open at 2s":          "line 3: expected: order n2 open at 2s; found: it is done",
		"at 1s resign n0\nexpect order n0 done at 2s":          "line 3: expected: order n0 done at 2s; found: it has failed: elector: this member does not lead",
		"expect order n0 done at 2s":                           "found: there was none",
		"expect no leader at 1s\nexpect no leader at 0s":       "line 2: expected: no leader at 1s; found: n0 follower",
		"expect n0 follower of n1 in term 1 at 1s":             "found: n0 follower in term 1",
		"at 1s crash n1 for 1s\nexpect n1 candidate at 1100ms": "n1 is down",
		"expect n1 down at 1s":                                 "n1 follower in term 1",
		"leases on\nexpect no lease at 1s":                     "line 3: expected: no lease at 1s; found: n2 holds one in term 1 until ",
		"expect no answer n0>n2 SUCCESS at 1s":                 "found: it was given ",
		"groups 2\nexpect g1 leader n2 at 1s":                  "line 3: expected: g1 leader n2 at 1s; found: n0 leader in term 1",
	} {
		s, err := simulation.ParseScenario(strings.NewReader("duration 2s\n" + text))
		require.NoError(t, err, text)
		r, err := s.Run()
		require.NoError(t, err, text)
		require.Len(t, r.Unmet, 1, text)
		assert.Contains(t, r.Unmet[0], says, text)
	}
}

func TestFaultsAreListed(t *testing.T) {
	for list, want := range map[string]string{
		"all":             "network,process,disk,clock,engine,operator",
		"none":            "none",
		"crash,loss":      "loss,crash",
		"network,-loss":   "delay,heavy-tail,duplicate,reorder,slow-link,stale-message,corrupt,one-way-cut,partition,isolation,leader-minority,leader-mute,ring,bridge,flap,true-hint,late-hint,false-hint,forged",
		"assumptions":     "assumptions",
		"disk, clock":     "disk,clock",
		"all,assumptions": "network,process,disk,clock,engine,operator,assumptions",
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

// FuzzScenario: any text is accepted or refused, and an accepted one can be played, and written and
// read again.
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
