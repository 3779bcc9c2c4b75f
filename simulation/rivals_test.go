package simulation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/rpc"
)

// Members with poor ledgers raise the term again and again, and give their votes to themselves.
// When a better member stood at last, it asked for a term in which they had already voted (D20).
// Here n2 alone has the one entry that there is, all are told by chance when to stand, and
// soon it leads.
func TestPoorLedgersKeepNobodyFromStanding(t *testing.T) {
	for _, ranks := range []string{"on", "off"} {
		s, err := ParseScenario(strings.NewReader(`
members 5
duration 10s
pre-vote off
ranks ` + ranks + `
tick-every 1h
at 0s stand n4
at 250ms never-back n3
at 250ms never-back n4
tick n4 #1 100ms
append n4>n0 #1 lost
append n4>n1 #1 lost
append n4>n3 #1 lost
expect leader n4 in term 1 at 200ms
`))
		require.NoError(t, err)
		r, err := s.Run()
		require.NoError(t, err)
		require.Empty(t, r.Unmet)
		for seed := range uint64(100) {
			w, err := s.world()
			require.NoError(t, err)
			w.begin()
			w.run(260 * time.Millisecond)
			w.choices.Script = nil // chance decides
			w.branch(Branch{Seed: seed})
			w.run(2 * time.Second)
			leader := w.leader(0)
			assert.True(t, leader != nil && leader.Index == 2, "with ranks %s and seed %d: %s", ranks, seed, w.describe(0))
		}
	}
}

// A preferred leader that cannot take over is asked ever more rarely: one that is always
// behind, and one that is restarted every second because its disk hangs as soon as it stands.
func TestFault25APreferredLeaderThatCannotIsOfferedTheLeadRarely(t *testing.T) {
	var restarts strings.Builder
	for second := 1; second < 61; second++ {
		fmt.Fprintf(&restarts, "at %d001ms save-hangs n0 for 1h\nat %ds crash n0\n", second, second+1)
	}
	for name, text := range map[string]string{
		"behind":         "tick-every 1h\ntick n2 #1 100ms\nappend n2>n0 #1 lost\n",
		"without a disk": "at 900ms save-hangs n0 for 1h\nat 999ms crash n0\n" + restarts.String(),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseScenario(strings.NewReader("duration 61s\nat 1s prefer count 1\n" + text + "expect n2 leader in term 1 at 61s\n"))
			require.NoError(t, err)
			trace, err := s.Trace()
			require.NoError(t, err)
			assert.Empty(t, trace.Unmet)
			offers := map[time.Duration]bool{} // some are repeated
			for _, p := range trace.Passages {
				if p.Kind == rpc.TakeLeadership && p.Mark == rpc.PreVote {
					offers[p.Sent.Truncate(time.Second)] = true
				}
			}
			assert.NotEmpty(t, offers)
			assert.Less(t, len(offers), 15, "in a minute, at a detection time of 300 ms")
		})
	}
}
