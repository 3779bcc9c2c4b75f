package stress

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc/grpcrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a run that a test can wait for.
func small(change func(*Options)) Options {
	o := Options{
		Groups: 60, Nodes: 3, Timing: elector.DefaultTiming(), Idle: 3 * time.Second, Kill: true,
		CPU:      func() time.Duration { return time.Duration(2 * time.Now().UnixNano()) }, // two cores are busy all the time
		Progress: func(string, int, int) {},
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
		assert.Equal(t, "memory", r.Wire)
		require.NotNil(t, r.Start)
		assert.InEpsilon(t, 60*6*(nodes-1), r.Start.Messages, 0.1, "a pre-vote, a vote and a heartbeat with each of the others, and their answers")
		require.NotNil(t, r.Idle)
		assert.InDelta(t, 2*r.Start.Seconds, r.Start.CPU, 1e-6)
		assert.InDelta(t, 3, r.Idle.Seconds, 1e-6)
		assert.InDelta(t, 2, r.Idle.CPU, 1e-6)
		assert.Zero(t, r.Idle.Messages, "nodes beat for idle groups")
		assert.InEpsilon(t, float64(2*nodes*(nodes-1))/r.Heartbeat, r.Idle.Beats, 0.1, "each node sends each other one a beat and an answer")
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
		assert.InDelta(t, 2*d.Last.Seconds, d.CPU, 1e-6)
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

func TestProgressIsToldAgainAndAgain(t *testing.T) {
	told, rests := make(map[string]int), 0
	const resting = "messages in a detection time, until the groups rest"
	played(t, func(o *Options) {
		o.Progress = func(what string, done, _ int) {
			if told[what]++; what == resting && done == 0 {
				rests++
			}
		}
	})
	for _, phase := range []string{"seconds of measuring idle groups", "groups have a leader again"} {
		assert.Greater(t, told[phase], 1, phase)
	}
	assert.Positive(t, told[resting], "they do not rest at once")
	assert.Zero(t, rests, "once they rest, nothing more is told of that")
}

// Messages of the start are over when there are none, or when their number has fallen by less than a tenth.
func TestTheMessagesOfTheStartEnd(t *testing.T) {
	for _, numbers := range [][]int{{100, 50, 10, 0}, {100, 90, 81, 73}, {100, 91}, {100, 100}, {0}, {10, 9, 9}} {
		f, sent := newFalling(1000), 1000
		for i, n := range numbers {
			sent += n
			count, ended := f.after(uint64(sent))
			assert.Equal(t, n, count)
			assert.Equal(t, i == len(numbers)-1, ended, "%d of %v", n, numbers)
		}
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

	for _, tcp := range []bool{false, true} {
		o := small(func(o *Options) { o.TCP = tcp })
		wires, err := (&cluster{options: &o, nodes: nodeNames(2)}).wires()
		require.NoError(t, err)
		for _, wire := range wires {
			byTCP, is := wire.(*grpcrpc.Transport)
			assert.Equal(t, tcp, is)
			if is {
				byTCP.Close()
			}
		}
	}
}

// A run that gets no more ports gives back those that it has.
func TestARunHasAllItsPortsOrNone(t *testing.T) {
	listening, refused := 0, errors.New("too many open files")
	listen := func(network, address string) (net.Listener, error) {
		if listening == 3 {
			return nil, refused
		}
		l, err := net.Listen(network, address)
		listening++
		return portOf{l, &listening}, err
	}
	four, err := listenAll(4, listen)
	require.ErrorIs(t, err, refused)
	assert.Empty(t, four)
	assert.Zero(t, listening)

	three, err := listenAll(3, listen)
	require.NoError(t, err)
	assert.Len(t, three, 3)
	assert.Equal(t, 3, listening)
	require.NoError(t, closeAll(three))
}

// portOf counts itself among the ports on which somebody listens.
type portOf struct {
	net.Listener
	open *int
}

func (p portOf) Close() error {
	*p.open--
	return p.Listener.Close()
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
		"groups have a leader":                                {stopped: "interrupted while the groups were started"},
		"messages in a detection time, until the groups rest": {start: true, stopped: "interrupted while their members came to rest"},
		"seconds of measuring idle groups":                    {start: true, idle: true, stopped: "interrupted while they were idle"},
		"groups have a leader again":                          {start: true, idle: true, death: true, stopped: "interrupted while the death of a node was measured"},
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

func TestMemoryIsOfOneGroupAtOneNode(t *testing.T) {
	o := Options{Groups: 10, Nodes: 3}
	assert.InDelta(t, 4, o.bytes(80, 200), 1e-9)
	assert.Zero(t, o.bytes(200, 80), "something else was freed")
}

// A member takes memory on the heap, and in the stacks of goroutines. What both once had does not count.
func TestMemoryIsThatOfHeapAndStacks(t *testing.T) {
	assert.InDelta(t, 7, inUse(&runtime.MemStats{HeapAlloc: 4, HeapSys: 100, StackInuse: 3, StackSys: 100, Sys: 1000}), 0)
	heap, before := make([]byte, 32<<20), memory()
	runtime.KeepAlive(heap)
	assert.InEpsilon(t, len(heap), before-memory(), 0.2)
}

const wholeReport = `10 groups on 3 nodes in this process, connected by gRPC over loopback.
A heartbeat is 100ms. T is 1s: a leader that is silent for so long is taken for dead.
Every group beats by itself.
Leaders hold leases.

Start: every group has a leader
  after                   1.25 s
  CPU time                2.50 s
  messages                987

Idle, for 3.0 s
  CPU time                0.0125 s in a second, of all nodes together
  memory                  440 bytes for a group at one node, without names and stores
  messages                5.5 a second
  beats between nodes     120.0 a second, with their answers

Node n1, which led 4 groups, died without a word; until the others knew a new leader
  mean                    1.100 s = 2.10 T
  99 of 100 groups        1.200 s = 2.20 T
  the last group          1.300 s = 2.30 T
  still without a leader  1 groups
  CPU time                0.25 s
  now lead                n0 6, n2 3 groups; the most loaded node 1.33 times the mean
`

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
	assert.Equal(t, wholeReport, printed(t, &r))
	r.Death.Led = r.Death.Groups
	r.Wire = "memory"
	assert.Contains(t, printed(t, &r), "connected in memory.\n")
	assert.NotContains(t, printed(t, &r), "still without a leader")
	none := r
	none.Death = &Death{Node: "n1", Groups: 4}
	assert.NotContains(t, printed(t, &none), "\n  mean", "there is no time without a group that is led again")
	r.Death.Leads = map[string]int{"n6": 1, "n5": 2, "n4": 3, "n3": 4, "n2": 5, "n0": 6}
	assert.Contains(t, printed(t, &r), "n0 6, n2 5, n3 4, n4 3, n5 2, n6 1 groups", "sorted by their names")
	again := Report{}
	of, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(of, &again))
	assert.Equal(t, r, again)
}

// Groups with leases cost more than others, so figures of the ones must not be taken for those of the others.
func TestGroupsAreAsTheOptionsSay(t *testing.T) {
	for _, leases := range []bool{true, false} {
		o := small(func(o *Options) { o.Leases, o.Timing.Leak = leases, 7 })
		c, names := cluster{options: &o}, []string(nil)
		for g := range c.groups(t.Context(), []string{"a", "b"}, memberstate.Voters("n0")) {
			assert.Equal(t, leases, g.Leases)
			assert.Equal(t, o.Timing, g.Timing)
			assert.Equal(t, memberstate.Voters("n0"), g.Members)
			names = append(names, g.Group)
		}
		assert.Equal(t, []string{"a", "b"}, names)
		assert.Equal(t, leases, newReport(&o).Leases)
	}
}

func TestOptionsThatCannotBeRunAreRefusedByTheNameOfTheirFlag(t *testing.T) {
	for flag, change := range map[string]func(*Options){
		"--groups":      func(o *Options) { o.Groups = 0 },
		"want 1 to 999": func(o *Options) { o.Groups = maxGroups + 1 },
		"--nodes is 0":  func(o *Options) { o.Nodes = 0 },
		"--nodes is 65": func(o *Options) { o.Nodes = memberstate.MaxMembers + 1 },
		"--kill":        func(o *Options) { o.Nodes = 2 },
		"--for":         func(o *Options) { o.Idle = 0 },
		"--heartbeat":   func(o *Options) { o.Timing.Heartbeat = -1 },
		"--leak":        func(o *Options) { o.Timing.Leak = -1 },
		"a lease of":    func(o *Options) { o.Leases, o.Timing.Heartbeat, o.Timing.Leak = true, 10*time.Millisecond, 2 },
	} {
		o := small(change)
		assert.ErrorContains(t, o.Check(), flag)
	}
	o := small(func(o *Options) { o.Groups, o.Nodes, o.Kill, o.Idle = 1, 1, false, 1 })
	assert.NoError(t, o.Check())
	o = small(func(o *Options) { o.Groups, o.Nodes = maxGroups, memberstate.MaxMembers })
	assert.NoError(t, o.Check())
}
