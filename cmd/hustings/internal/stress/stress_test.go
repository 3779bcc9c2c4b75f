package stress

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/elector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a run that a test can wait for.
func small(change func(*Options)) Options {
	o := Options{
		Groups: 60, Nodes: 3, Timing: elector.DefaultTiming(), Idle: 3 * time.Second, Kill: true,
		CPU: func() time.Duration { return 0 }, Progress: func(string, int, int) {},
	}
	change(&o)
	return o
}

// played runs options in virtual time.
func played(t *testing.T, change func(*Options)) (r *Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = Run(t.Context(), small(change))
		require.NoError(t, err)
	})
	return r
}

func TestARunMeasuresStartIdleGroupsAndADeath(t *testing.T) {
	for _, nodes := range []int{3, 5} {
		r := played(t, func(o *Options) { o.Nodes = nodes })
		assert.True(t, r.Complete)
		assert.Empty(t, r.Stopped)
		require.NotNil(t, r.Start)
		// A pre-vote, a vote and a heartbeat with each of the others, and their answers.
		assert.GreaterOrEqual(t, r.Start.Messages, uint64(60*3*(nodes-1)))
		require.NotNil(t, r.Idle)
		assert.InDelta(t, 3, r.Idle.Seconds, 1e-6)
		assert.Zero(t, r.Idle.Messages, "nodes beat for idle groups")
		assert.Positive(t, r.Idle.Beats)
		assert.Positive(t, r.Idle.Bytes)

		d := r.Death
		require.NotNil(t, d)
		assert.GreaterOrEqual(t, d.Groups, 60/nodes, "the node that died led the most")
		assert.Equal(t, d.Groups, d.Led)
		// The dead node's last beat was up to one heartbeat ago.
		assert.Greater(t, d.Mean.Detections, 0.6)
		assert.LessOrEqual(t, d.Mean.Detections, d.P99.Detections)
		assert.LessOrEqual(t, d.P99.Detections, d.Last.Detections)
		assert.Less(t, d.Last.Detections, 3.0)
		assert.InDelta(t, d.Last.Detections*r.Detection, d.Last.Seconds, 1e-9)
		sum := 0
		for node, leads := range d.Leads {
			assert.NotEqual(t, d.Node, node)
			sum += leads
		}
		assert.Len(t, d.Leads, nodes-1)
		assert.Equal(t, 60, sum, "every group is led by a node that lives")
		assert.GreaterOrEqual(t, d.Uneven, 1.0)
	}
}

// Groups that beat by themselves never come to rest, but are measured.
func TestGroupsThatBeatByThemselvesSendMessages(t *testing.T) {
	r := played(t, func(o *Options) { o.NoNodeBeats, o.Kill = true, false })
	assert.Nil(t, r.Death)
	assert.True(t, r.Complete)
	assert.Zero(t, r.Idle.Beats)
	// Each leader sends two heartbeats in an interval, and gets two answers.
	assert.InEpsilon(t, 60*4/r.Heartbeat, r.Idle.Messages, 0.1)
}

func TestOneNodeLeadsAllGroupsByItself(t *testing.T) {
	r := played(t, func(o *Options) { o.Nodes, o.Kill = 1, false })
	assert.True(t, r.Complete)
	assert.Zero(t, r.Idle.Beats)
}

func TestNodesCanBeConnectedByTCP(t *testing.T) {
	r, err := Run(t.Context(), small(func(o *Options) { o.TCP, o.Leases, o.Idle = true, true, time.Millisecond }))
	require.NoError(t, err)
	assert.True(t, r.Complete)
	assert.Equal(t, "tcp", r.Wire)
	assert.Equal(t, r.Death.Groups, r.Death.Led)
}

// A group that cannot be started fails the run.
func TestARunThatCannotStartFails(t *testing.T) {
	o := small(func(o *Options) { o.Timing.Leak = 0 })
	r, err := Run(t.Context(), o)
	require.ErrorContains(t, err, "Leak")
	assert.Nil(t, r)
}

// A run that is interrupted reports what it has measured, and what it has not.
func TestAnInterruptedRunReportsWhatItHas(t *testing.T) {
	for phase, want := range map[string]struct {
		start, idle, death bool
		stopped            string
	}{
		"groups have a leader":             {stopped: "interrupted while the groups were started"},
		"seconds of measuring idle groups": {start: true, idle: true, stopped: "interrupted while they were idle"},
		"groups have a leader again":       {start: true, idle: true, death: true, stopped: "interrupted while the death of a node was measured"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			r, err := Run(ctx, small(func(o *Options) {
				o.Progress = func(what string, _, _ int) {
					if what == phase {
						stop()
					}
				}
			}))
			require.NoError(t, err)
			assert.False(t, r.Complete)
			assert.Equal(t, want.stopped, r.Stopped)
			assert.Equal(t, want.start, r.Start != nil, phase)
			assert.Equal(t, want.idle, r.Idle != nil, phase)
			assert.Equal(t, want.death, r.Death != nil, phase)
			if r.Death != nil {
				assert.Zero(t, r.Death.Led)
				assert.Contains(t, printed(t, r), "still without a leader")
			}
		})
	}
}

func printed(t *testing.T, r *Report) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, r.Print(&text))
	return text.String()
}

func TestAReportHasAllItsFigures(t *testing.T) {
	r := Report{
		Groups: 10, Nodes: 3, Wire: "tcp", Heartbeat: 0.1, Detection: 1, Leases: true,
		Start: &Start{Seconds: 1.25, CPU: 2.5, Messages: 987},
		Idle:  &Idle{Seconds: 3, CPU: 0.0125, Bytes: 440, Messages: 5.5, Beats: 120},
		Death: &Death{
			Node: "n1", Groups: 4, Led: 3, Mean: Took{1.1, 2.1}, P99: Took{1.2, 2.2}, Last: Took{1.3, 2.3}, CPU: 0.25,
			Leads: map[string]int{"n0": 6, "n2": 3}, Uneven: 1.33,
		},
	}
	text := printed(t, &r)
	for _, figure := range []string{
		"10 groups on 3 nodes", "gRPC", "heartbeat is 100ms", "T is 1s", "beats by itself", "hold leases", "1.25 s", "2.50 s", "987\n", "for 3.0 s", "0.0125 s", "440 bytes", "5.5 a second", "120.0 a second",
		"Node n1, which led 4 groups", "1.100 s = 2.10 T", "1.200 s = 2.20 T", "1.300 s = 2.30 T", "1 groups", "0.25 s", "n0 6, n2 3", "1.33 times",
	} {
		assert.Contains(t, text, figure)
	}
	assert.Contains(t, text, "still without a leader")
	r.Death.Led = r.Death.Groups
	assert.NotContains(t, printed(t, &r), "still without a leader")
	again := Report{}
	of, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(of, &again))
	assert.Equal(t, r, again)
}

func TestOptionsThatCannotBeRunAreRefusedByTheNameOfTheirFlag(t *testing.T) {
	for flag, change := range map[string]func(*Options){
		"--groups":     func(o *Options) { o.Groups = 0 },
		"--nodes is 0": func(o *Options) { o.Nodes = 0 },
		"--kill":       func(o *Options) { o.Nodes = 2 },
		"--for":        func(o *Options) { o.Idle = 0 },
		"--heartbeat":  func(o *Options) { o.Timing.Heartbeat = -1 },
		"--leak":       func(o *Options) { o.Timing.Leak = -1 },
	} {
		o := small(change)
		assert.ErrorContains(t, o.Check(), flag)
	}
	o := small(func(o *Options) { o.Nodes, o.Kill = 1, false })
	assert.NoError(t, o.Check())
}
