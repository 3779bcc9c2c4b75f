// Package groups measures many groups on few hosts: the cost of an idle one, and the failover
// of all when a host dies.
package groups

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

// Name is the section's. Idle and LastLed are charts in it.
const (
	Name    = "groups"
	Idle    = "idle"
	LastLed = "a host dies: until the last group is led again"
)

// beat is the interval of heartbeats, turn a host's share of it, and detection the number of
// heartbeats that may be missed.
const (
	beat      = 100 * time.Millisecond
	turn      = beat / Hosts
	detection = etcd.ElectionTicks
	// Detection is the detection time of all libraries.
	Detection = detection * beat
)

// nodes are the hosts; each has a member of every group. The last one dies.
var nodes = [Hosts]string{"n0", "n1", "n2"}

// Hosts is the number of hosts.
const Hosts = 3

const dying = Hosts - 1

// Section measures many groups. older is a program with the older etcd/raft, bubble one with dragonboat.
func Section(older, bubble *peer.Program) figure.Section {
	return figure.Section{
		Name: Name, Title: "Many groups x 3 in one process: idle, and when a host dies that leads a third of them",
		Configured: []string{
			"T, the detection time, is 1 s everywhere, and a heartbeat 100 ms where that can be set. Host n2 falls silent without a broken connection, and does nothing from then on. Times are from then until both others know the new leader of a group, over the groups that changed their leader. CPU time, messages and saves are those of everything until the last group is led. The load is that of the survivor that leads more groups, divided by the mean of both.",
			"Ours: three hosts, each with a loop and timers of its own in real time, over a transport that is a call and carries beats between nodes; a heartbeat of 100 ms, leak 10, pre-vote and ranks on, no leases, Preferred such that each host leads a third; of Metrics only Changed, which takes the times; the engine has no Lead. Messages include the beats between nodes. A sync is a batch of records.",
			"etcd/raft 3.7 and 3.6: a RawNode over MemoryStorage for each member in one loop, whose time is counted and not waited for; each host ticks once in 100 ms, in a phase of its own, or when the ticks before are done, if they take longer with their CPU time spread over all processors; heartbeat tick 1, election tick 10, pre-vote, check quorum, a logger that does nothing; each host leads a third; messages are carried within a group before the loop goes on to the next, which no network would allow, but costs least. Idle figures are for the ticks of a second, even if they took longer. Each Ready with MustSync is a sync; a loop that saves the Readys of several groups together needs fewer. For each figure the better version counts; with 100,000 groups only 3.7 is run.",
			"hashicorp/raft 1.8, with --long: a Raft for each member in real time, over its InmemTransport and InmemStore; HeartbeatTimeout = ElectionTimeout = LeaderLeaseTimeout = T, all else by default with pre-vote on, a logger that discards; LeadershipTransferToServer such that each host leads a third. A call to the dead host returns after T. Each write to a store is a sync.",
			"dragonboat 4 (076c7f6497dc), with --long: three NodeHosts in real time with the log tan on a disk in memory, over a transport that is a call; RTTMillisecond 100, HeartbeatRTT 1, ElectionRTT 10, CheckQuorum, PreVote, and Quiesce, by which a group without requests falls quiet after 200 ticks. A quiet group does not notice that its leader has died before it gets a request, so only its idle figures are shown.",
			"Bytes are the heap and stacks that are freed when the hosts end, at the lowest of ten measurements, without names and without the contents of the stores.",
			"Beside quiet groups: one group of ours with Vouch, so that it beats by itself, on the same three hosts; a handover is TransferLeadership from its call until it returns, a heartbeat the time until a quorum has answered it (Metrics.QuorumHeard). Its peer is the same group alone.",
		},
		Extent: extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
			return measureAll(ctx, older, bubble, p)
		},
	}
}

// extents returns the numbers of groups that are measured, and how many groups are quiet beside a busy one.
func extents(p figure.Plan) (sizes []Task, quiet int) {
	switch {
	case p.Quick:
		return []Task{{1000, 1, time.Second}}, 100
	case p.Long:
		return []Task{
			{1, 3, 3 * time.Second},
			{withDragonboat, 1, 3 * time.Second},
			{withHashicorp, 3, 3 * time.Second},
			{mostBoth, 3, 3 * time.Second},
			{100_000, 2, time.Second},
		}, 100_000
	}
	return []Task{{1, 3, 3 * time.Second}, {1000, 3, 3 * time.Second}, {10_000, 3, 3 * time.Second}}, 10_000
}

func extent(p figure.Plan) string {
	sizes, quiet := extents(p)
	parts := make([]string, len(sizes))
	for i, t := range sizes {
		parts[i] = fmt.Sprintf("%d for %v (%d)", t.Groups, t.Idle, t.Repetitions)
	}
	return fmt.Sprintf("Groups, how long they are idle, and repetitions, which take turns: %s; %d groups beside a busy one (%d times). A library that is not done with a repetition within %v is not measured.",
		strings.Join(parts, ", "), quiet, repeatedly, patience)
}

func measureAll(ctx context.Context, older, bubble *peer.Program, p figure.Plan) (figures []figure.Figure, err error) {
	sizes, quiet := extents(p)
	for i, task := range sizes {
		p.Progress(fmt.Sprintf("%d groups", task.Groups), float64(i)/float64(len(sizes)+1))
		all, err := measureSize(ctx, older, bubble, p, task)
		if err != nil {
			return figures, measure.UnlessOver(ctx, err)
		}
		figures = append(figures, all...)
	}
	p.Progress("a busy group", float64(len(sizes))/float64(len(sizes)+1))
	all, err := measureBusy(ctx, quiet)
	return append(figures, all...), measure.UnlessOver(ctx, err)
}

// measureSize measures all libraries that can have so many groups, in turns.
func measureSize(ctx context.Context, older, bubble *peer.Program, p figure.Plan, task Task) ([]figure.Figure, error) {
	rows := rowsOf(ctx, older, bubble, p, task)
	var err error
	for r := 0; r < task.Repetitions && err == nil; r++ {
		err = measure.Turn(ctx, rows)
	}
	if err == nil && late(rows[0].Results) {
		err = fmt.Errorf("groups: ours was not done with %d groups within %v", task.Groups, patience)
	}
	if err != nil {
		return nil, err
	}
	return figuresOf(task.Groups, rows), nil
}

// bytes is the unit of memory. Of fewer than fewWeighed groups it cannot be told from what else is in the heap.
const (
	bytes      = "bytes"
	fewWeighed = 1000
)

// figuresOf makes the figures of one number of groups: ours beside each library.
func figuresOf(groups int, rows []measure.Row[Cost]) (figures []figure.Figure) {
	at := fmt.Sprintf("%d groups", groups)
	for _, a := range aspects {
		if a.unit == bytes && groups < fewWeighed {
			continue
		}
		if a.own {
			figures = append(figures, a.figure(at, rows[:1], true))
			continue
		}
		for _, library := range libraries(rows) {
			if a.fails && library == dragonboat {
				continue
			}
			those := slices.DeleteFunc(slices.Clone(rows), func(r measure.Row[Cost]) bool { return r.Name != "" && libraryOf(r.Name) != library })
			figures = append(figures, a.figure(at+", beside "+library, those, !a.main))
		}
	}
	return figures
}

// aspect is one figure of a cost.
type aspect struct {
	name, unit string
	of         func(Cost) float64
	main       bool // it is in the printed table and the charts
	fails      bool // it is about the death of a host
	own        bool // only our library has it
}

var aspects = []aspect{
	{Idle, "CPU s a second", func(c Cost) float64 { return c.Idle }, true, false, false},
	{"heap and stacks of an idle group at one host", bytes, func(c Cost) float64 { return c.Bytes }, true, false, false},
	{"idle, messages", "a second", func(c Cost) float64 { return c.Messages }, false, false, false},
	{"idle, beats between nodes", "a second", func(c Cost) float64 { return c.Beats }, false, false, true},
	{"a host dies: until a group is led again, mean", "T", func(c Cost) float64 { return c.Mean }, false, true, false},
	{"a host dies: until a group is led again, p99", "T", func(c Cost) float64 { return c.P99 }, false, true, false},
	{LastLed, "T", func(c Cost) float64 { return c.Last }, true, true, false},
	{"a host dies: CPU time until then", "CPU s", func(c Cost) float64 { return c.CPU }, true, true, false},
	{"a host dies: messages until then", "messages", func(c Cost) float64 { return c.Sent }, false, true, false},
	{"a host dies: records saved until then", "records", func(c Cost) float64 { return c.Records }, false, true, false},
	{"a host dies: syncs until then", "syncs", func(c Cost) float64 { return c.Syncs }, false, true, false},
	{"a host dies: load of the survivor that leads more", "of the mean", func(c Cost) float64 { return c.Load }, false, true, false},
}

// figure puts ours, which is the first row, beside the best of the others.
func (a *aspect) figure(at string, rows []measure.Row[Cost], detail bool) figure.Figure {
	measured := slices.DeleteFunc(slices.Clone(rows), func(r measure.Row[Cost]) bool { return late(r.Results) })
	f := measure.Compare(Name, at+": "+a.name, a.unit, measured, a.of)
	if f.PeerName == "" && !a.own {
		f.PeerName = fmt.Sprintf("not within %v: %s", patience, rows[1].Name)
	}
	f.Chart, f.At, f.Detail = a.name, at, detail
	return f
}

// late reports whether a library was too slow in a repetition.
func late(all []Cost) bool {
	return slices.ContainsFunc(all, func(c Cost) bool { return c.Late })
}
