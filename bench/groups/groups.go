// Package groups measures many groups at few hosts: what an idle one costs, and
// what becomes of them when a host dies.
package groups

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hustings/hustings/bench/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
)

const name = "groups"

// beat is how often a leader is heard, and detection how many beats may be missed.
const (
	beat      = 100 * time.Millisecond
	detection = etcd.ElectionTicks
)

// nodes are the hosts; each has a member of every group.
var nodes = []string{"n0", "n1", "n2"}

// Section measures many groups.
func Section() figure.Section {
	return figure.Section{
		Name: name, Title: "10,000 idle groups x 3 in one process",
		Configured: []string{
			"Ours: three hosts, each with a loop and timers of its own in real time, over a transport that is a call; a heartbeat of 100 ms, leak 10, pre-vote and ranks on, no leases, no metrics, Preferred such that each host leads a third; the engine looks at Status and has no Lead.",
			"etcd/raft 3.7: 30,000 RawNodes over MemoryStorage in one loop, ticks of 100 ms one after the other without a wait, heartbeat tick 1, election tick 10, pre-vote, check quorum, a logger that discards; each host leads a third.",
			"Bytes are what is freed when the hosts go: heap and stacks, without names and without what the stores keep.",
		},
		Measure: run,
	}
}

// subject is one of the sides.
type subject interface {
	// settle waits until all groups have a leader, and says how long that took.
	settle(ctx context.Context) (time.Duration, error)
	// idle lets time pass.
	idle(ctx context.Context, d time.Duration) error
	// silence has a host die, without a word and without a broken connection.
	silence() error
	// stop lets all members go, but not what is on their disks.
	stop() error
}

// size says how much is measured.
type size struct {
	groups, repetitions int
	idle                time.Duration
}

func sizeOf(p figure.Plan) size {
	if p.Quick {
		return size{groups: 1000, repetitions: 1, idle: time.Second}
	}
	return size{groups: 10_000, repetitions: 5, idle: 5 * time.Second}
}

func run(ctx context.Context, p figure.Plan) ([]figure.Figure, error) {
	z, table := sizeOf(p), new(measure.Table)
	names := groupNames(z.groups)
	var err error
	for r := 0; r < z.repetitions && err == nil; r++ {
		for i, start := range []func([]string) (subject, error){startOurs, startPeer} {
			p.Progress([]string{"ours", etcd.Name}[i], float64(2*r+i)/float64(2*z.repetitions))
			var got []value
			if got, err = measureOne(ctx, z, names, start); err != nil {
				break
			}
			for _, v := range got {
				pair := table.Pair(v.name, v.unit)
				if i == 0 {
					pair.Ours = append(pair.Ours, v.is)
				} else {
					pair.Peer = append(pair.Peer, v.is)
				}
			}
		}
	}
	if errors.Is(err, ctx.Err()) {
		err = nil // the time is up; what there is counts
	}
	return table.Figures(name, etcd.Name), err
}

func groupNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("group-%05d", i)
	}
	return names
}

// value is what one repetition of one side says of a figure.
type value struct {
	name, unit string
	is         float64
}

// measureOne takes all figures of one side. Bytes are measured on their own, for what
// happens when a host dies leaves traces in the heap that are nobody's.
func measureOne(ctx context.Context, z size, names []string, start func([]string) (subject, error)) ([]value, error) {
	bytes, err := measureBytes(ctx, names, start)
	if err != nil {
		return nil, err
	}
	got, err := measureTime(ctx, z, names, start)
	return append(got, bytes), err
}

// build starts one side and waits until it has come to rest.
func build(ctx context.Context, names []string, start func([]string) (subject, error)) (subject, error) {
	s, err := start(names)
	if err != nil {
		return nil, err
	}
	if _, err = s.settle(ctx); err == nil {
		err = s.idle(ctx, time.Second) // what was built is forgotten
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// measureBytes builds one side and takes it down.
func measureBytes(ctx context.Context, names []string, start func([]string) (subject, error)) (value, error) {
	s, err := build(ctx, names, start)
	if err != nil {
		return value{}, err
	}
	alive := measure.Memory()
	err = s.stop()
	bytes := (float64(alive) - float64(measure.Memory())) / float64(len(names)*len(nodes))
	runtime.KeepAlive(s)
	return value{"heap and stacks of an idle group at one host", "bytes", bytes}, err
}

// measureTime builds one side, lets it be idle, and has a host die.
func measureTime(ctx context.Context, z size, names []string, start func([]string) (subject, error)) (got []value, err error) {
	s, err := build(ctx, names, start)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	used := measure.CPU()
	if err := s.idle(ctx, z.idle); err != nil {
		return nil, err
	}
	idle := measure.CPU() - used
	if err := s.silence(); err != nil {
		return nil, err
	}
	took, err := s.settle(ctx)
	return []value{
		{"idle", "CPU s/s", idle.Seconds() / z.idle.Seconds()},
		{"a host dies: until all groups have leaders", "s", took.Seconds()},
		{"a host dies: until all groups have leaders", "CPU s", (measure.CPU() - used - idle).Seconds()},
	}, err
}

// await looks again and again until something is so.
func await(ctx context.Context, so func() bool) error {
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
