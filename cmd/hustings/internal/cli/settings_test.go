// How running nodes are told to take part.

package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/proto/electorpb"
)

// adjustable is a node that notes how its settings are changed.
type adjustable struct {
	electorpb.UnimplementedOperatorServiceServer
	asked chan *electorpb.SettingsRequest
}

func (n adjustable) Settings(_ context.Context, q *electorpb.SettingsRequest) (*electorpb.SettingsResponse, error) {
	n.asked <- q
	return &electorpb.SettingsResponse{
		Node: "n1", Electable: true, Preferred: &electorpb.Preferred{Ids: []string{"n1", "n2"}},
		Timing: &electorpb.Timing{HeartbeatNanos: 1, Leak: 2, MinVoteWaitNanos: 3, MaxVoteWaitNanos: 4, RoundTimeoutNanos: 5, DriftMarginNanos: 6},
	}, nil
}

// What a flag does not name stays as it is: a node that was not to lead does not lead again because its interval was changed.
func TestASettingThatIsNotNamedStays(t *testing.T) {
	t.Parallel()
	n := adjustable{asked: make(chan *electorpb.SettingsRequest, 1)}
	address := serving(t, n)
	for flags, want := range map[string]*electorpb.SettingsRequest{
		"":                                 {},
		"--heartbeat 7ns":                  {Timing: &electorpb.Timing{HeartbeatNanos: 7}},
		"--leak 7":                         {Timing: &electorpb.Timing{Leak: 7}},
		"--min-vote-wait 7ns":              {Timing: &electorpb.Timing{MinVoteWaitNanos: 7}},
		"--max-vote-wait 7ns":              {Timing: &electorpb.Timing{MaxVoteWaitNanos: 7}},
		"--round-timeout 7ns":              {Timing: &electorpb.Timing{RoundTimeoutNanos: 7}},
		"--drift-margin 7ns":               {Timing: &electorpb.Timing{DriftMarginNanos: 7}},
		"--electable":                      {Electable: new(true)},
		"--electable=false --group orders": {Electable: new(false), Group: "orders"},
		"--preferred n1,n2":                {Preferred: &electorpb.Preferred{Ids: []string{"n1", "n2"}}},
		"--preferred=":                     {Preferred: new(electorpb.Preferred)},
	} {
		if want.Timing == nil {
			want.Timing = new(electorpb.Timing)
		}
		succeed(t, append([]string{"settings", "-a", address}, strings.Fields(flags)...)...)
		asked := <-n.asked
		assert.True(t, proto.Equal(want, asked), "%s: %v", flags, asked)
	}
}

func TestSettingsHaveAllTheirFields(t *testing.T) {
	t.Parallel()
	address := serving(t, adjustable{asked: make(chan *electorpb.SettingsRequest, 1)})
	lines := succeed(t, "settings", "-a", address, "--json")
	require.Len(t, lines, 1)
	assert.JSONEq(t, `{"address":"`+address+`","node":"n1","heartbeat_nanos":1,"leak":2,"min_vote_wait_nanos":3,"max_vote_wait_nanos":4,
		"round_timeout_nanos":5,"drift_margin_nanos":6,"preferred":["n1","n2"],"electable":true}`, lines[0])
}
