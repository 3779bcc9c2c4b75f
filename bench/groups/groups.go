// Package groups measures many groups on few hosts: the cost of an idle one, and the failover
// of all when a host dies.
package groups

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

const name = "groups"

// beat is the interval of heartbeats, turn a host's share of it, and detection the number of
// heartbeats that may be missed.
const (
	beat      = 100 * time.Millisecond
	turn      = beat / hosts
	detection = etcd.ElectionTicks
)

// nodes are the hosts; each has a member of every group.
var nodes = [hosts]string{"n0", "n1", "n2"}

const hosts = 3

// Section measures many groups.
func Section(older *peer.Program) figure.Section {
	return figure.Section{
		Name: name, Title: "Many idle groups x 3 in one process",
		Configured: []string{
			"Ours: three hosts, each with a loop and timers of its own in real time, over a transport that is a call; a heartbeat of 100 ms, leak 10, pre-vote and ranks on, no leases, no metrics, Preferred such that each host leads a third; the engine reads Status and has no Lead.",
			"etcd/raft 3.7 and 3.6: a RawNode over MemoryStorage for each member in one loop, whose time is counted and not waited for; each host ticks once in 100 ms, in a phase of its own, heartbeat tick 1, election tick 10, pre-vote, check quorum, a logger that does nothing; each host leads a third; messages are carried within a group before the loop goes on to the next, which no network would allow, but costs least. For each figure the better version counts.",
			"Bytes are the heap and stacks that are freed when the hosts end, at the lowest of ten measurements, without names and without the contents of the stores.",
		},
		Extent:  extent,
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return measureAll(ctx, older, p) },
	}
}

// founder makes groups with these names, on three hosts of one of the libraries.
type founder func(names []string) (subject, error)

// subject is a set of groups under test.
type subject interface {
	// settle waits until all groups have a leader, and returns how long that took.
	settle(ctx context.Context) (time.Duration, error)
	// idle lets time pass.
	idle(ctx context.Context, d time.Duration) error
	// silence makes a host die silently, without a broken connection.
	silence() error
	// stop releases all members, but not their storage.
	stop() error
}

// Task says how many groups there are, and how long they are idle.
type Task struct {
	Groups int
	Idle   time.Duration
}

// Cost is their cost.
type Cost struct {
	Idle         float64 // CPU seconds in a second
	Bytes        float64 // of a group at one host
	Seconds, CPU float64 // until all groups have a leader again when a host has died
}

var aspects = []struct {
	name, unit string
	of         func(Cost) float64
}{
	{"idle", "CPU s/s", func(c Cost) float64 { return c.Idle }},
	{"a host dies: until all groups have leaders", "s", func(c Cost) float64 { return c.Seconds }},
	{"a host dies: CPU time until all groups have leaders", "CPU s", func(c Cost) float64 { return c.CPU }},
	{"heap and stacks of an idle group at one host", "bytes", func(c Cost) float64 { return c.Bytes }},
}

func extents(p figure.Plan) (repetitions int, task Task) {
	if p.Quick {
		return 1, Task{1000, time.Second}
	}
	return 3, Task{10_000, 3 * time.Second}
}

func extent(p figure.Plan) string {
	repetitions, task := extents(p)
	return fmt.Sprintf("%d groups, that is %d members, which are idle for %v; repeated in turns: %d.", task.Groups, task.Groups*hosts, task.Idle, repetitions)
}

func measureAll(ctx context.Context, older *peer.Program, p figure.Plan) ([]figure.Figure, error) {
	repetitions, task := extents(p)
	child, err := older.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer child.Close() //nolint:errcheck // all its results have been read
	rows := peer.Rows(ctx, child, name, func() (Cost, error) { return Ours(ctx, task) }, Etcd, &task)
	for r := range repetitions {
		p.Progress(fmt.Sprintf("%d groups", task.Groups), float64(r)/float64(repetitions))
		if err = measure.Turn(ctx, rows); err != nil {
			break
		}
	}
	var figures []figure.Figure
	for _, a := range aspects {
		if len(rows[0].Results) > 0 {
			figures = append(figures, measure.Compare(name, a.name, a.unit, rows, a.of))
		}
	}
	return figures, measure.UnlessOver(ctx, err)
}

// costOf takes all figures of one library. Memory is measured separately, because the death of
// a host leaves garbage in the heap.
func costOf(ctx context.Context, t Task, found founder) (Cost, error) {
	names := make([]string, t.Groups)
	for i := range names {
		names[i] = fmt.Sprintf("group-%05d", i)
	}
	bytes, err := measureBytes(ctx, names, found)
	if err != nil {
		return Cost{}, err
	}
	c, err := measureTime(ctx, names, t.Idle, found)
	c.Bytes = bytes
	return c, err
}

// build starts one library and waits until it is idle.
func build(ctx context.Context, names []string, found founder) (subject, error) {
	s, err := found(names)
	if err != nil {
		return nil, err
	}
	if _, err = s.settle(ctx); err == nil {
		err = s.idle(ctx, time.Second) // so that the garbage of the start is collected
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// moments is the number of measurements, because messages in flight take memory, too.
const moments = 10

// measureBytes builds one library's groups and takes them down.
func measureBytes(ctx context.Context, names []string, found founder) (float64, error) {
	s, err := build(ctx, names, found)
	if err != nil {
		return 0, err
	}
	alive := measure.Memory()
	for range moments {
		err = errors.Join(err, s.idle(ctx, turn))
		alive = min(alive, measure.Memory())
	}
	err = errors.Join(err, s.stop())
	bytes := (float64(alive) - float64(measure.Memory())) / float64(len(names)*hosts)
	runtime.KeepAlive(s)
	return bytes, err
}

// measureTime builds one library's groups, lets them be idle, and makes a host die.
func measureTime(ctx context.Context, names []string, idle time.Duration, found founder) (c Cost, err error) {
	s, err := build(ctx, names, found)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	began := measure.CPU()
	if err := s.idle(ctx, idle); err != nil {
		return c, err
	}
	died := measure.CPU()
	if err := s.silence(); err != nil {
		return c, err
	}
	took, err := s.settle(ctx)
	return Cost{
		Idle: (died - began).Seconds() / idle.Seconds(), Seconds: took.Seconds(), CPU: (measure.CPU() - died).Seconds(),
	}, err
}

// await polls until a condition holds.
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
