// One trial: a node is drained, serves again for a minute, and then another one is drained.

package drain

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/peer"
)

// hosts is the number of nodes, each of which has a member of every group.
const hosts = 3

// Task says how many groups there are, in which conditions, and of which library.
type Task struct {
	Side   string
	Groups int
	Delay  time.Duration // of a message, one way
	Save   time.Duration // of a batch
	// Real has it run in real time, so that all that nodes compute takes time, too. Then nobody waits for groups that come back.
	Real bool
}

// Drain is what taking one node out of service costs. Times are virtual, except CPU.
type Drain struct {
	Moved, Left float64 // groups that the node led, and that others lead now, or still this one
	Seconds     float64 // from the order until the last moved group is led
	Returned    float64 // seconds from the order until it was said to be done
	CPU         float64 // CPU seconds until then

	P50, P99, Longest float64 // how long a moved group took no writes, in milliseconds

	Disturbed float64 // groups of other nodes that were paused, or got another term
	Again     float64 // groups that were paused more than once
	Load      float64 // the groups of the most loaded node that serves, divided by the mean of those that serve
}

// Outcome is that of a trial.
type Outcome struct {
	First, Second Drain
	LoadAfter     float64 // a minute after the first node has begun to serve again: as Load, over all nodes
	Back          float64 // the groups that it leads then, of those that it had given up
}

// side is one library's groups under test.
type side interface {
	// settle waits until each group is led by the node that should, and is idle.
	settle(ctx context.Context) error
	// drain has a node lead nothing, and returns when it does.
	drain(ctx context.Context, node int) error
	// serve takes it back.
	serve(node int) error
	// idle is how long it is worth while to wait for groups that come back.
	idle() time.Duration
	stop() error
}

// founder makes the groups of a task. Saves take no time before the disks are told.
type founder func(w *watch, disks [hosts]*disk, t Task) (side, error)

// own is the name of our side, ownPreferred that of ours with preferred leaders.
const (
	own          = "ours"
	ownPreferred = "ours, with Preferred"
	newer        = "etcd/raft 3.7"
)

var founders = map[string]founder{own: foundOurs(false), ownPreferred: foundOurs(true), newer: foundEtcd}

// Job returns the job that runs trials, each in a bubble of its own within a test.
func Job(t *testing.T) peer.Job {
	t.Helper()
	return peer.Of(func(ctx context.Context, task Task) (Outcome, error) {
		o, err := Trial(t, task)
		if err == nil {
			err = ctx.Err()
		}
		return o, err
	})
}

// Trial runs one trial.
func Trial(t *testing.T, task Task) (o Outcome, err error) {
	t.Helper()
	found := founders[task.Side]
	if found == nil {
		return o, fmt.Errorf("drain: there is no side %q", task.Side)
	}
	if task.Real {
		o, err = run(t.Context(), task, found)
	} else {
		synctest.Test(t, func(t *testing.T) {
			t.Helper()
			o, err = run(t.Context(), task, found)
			time.Sleep(time.Second) // until all that was on its way has come to an end
		})
	}
	runtime.GC() // so that the next one does not pay for it
	return o, err
}

// first and second are the nodes that are drained.
const (
	first  = 2
	second = 0
)

// leader is the node that leads a group at the start.
func leader(group int) int { return group % hosts }

// patience is longer than anything takes that does not fail.
const patience = time.Hour

func run(ctx context.Context, task Task, found founder) (o Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w := newWatch(task.Groups)
	var disks [hosts]*disk
	for i := range disks {
		disks[i] = new(disk)
	}
	s, err := found(w, disks, task)
	if err != nil {
		return o, err
	}
	err = s.settle(ctx)
	if err == nil {
		for _, d := range disks {
			d.spin(task.Save)
		}
		back := s.idle()
		if task.Real {
			back = beat
		}
		o, err = measureBoth(ctx, w, s, back)
	}
	if stopped := s.stop(); err == nil {
		err = stopped
	}
	return o, err
}

func measureBoth(ctx context.Context, w *watch, s side, back time.Duration) (o Outcome, err error) {
	before := w.note()
	if o.First, err = measureOne(ctx, w, s, first, []int{0, 1}); err != nil {
		return o, err
	}
	if err = s.serve(first); err != nil {
		return o, err
	}
	if err = measure.Pass(ctx, back); err != nil {
		return o, err
	}
	o.LoadAfter = w.spread([]int{0, 1, 2})
	w.is(func(g int, s *sight) bool {
		if s.leader == first && before.groups[g].leader == first {
			o.Back++
		}
		return true
	})
	o.Second, err = measureOne(ctx, w, s, second, []int{1, 2})
	return o, err
}

// measureOne drains one node, after which others serve.
func measureOne(ctx context.Context, w *watch, s side, node int, serving []int) (Drain, error) {
	runtime.GC()
	before, began := w.note(), measure.CPU()
	if err := s.drain(ctx, node); err != nil {
		return Drain{}, fmt.Errorf("drain: node %d: %w", node, err)
	}
	used, returned := measure.CPU()-began, time.Since(w.began)
	d := w.since(before, node, serving)
	d.CPU, d.Returned = used.Seconds(), (returned - before.at).Seconds()
	return d, nil
}

// await polls until a condition holds for all groups.
func await(ctx context.Context, w *watch, so func(group int, s *sight) bool) error {
	for !w.is(so) {
		if err := measure.Pass(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// asPlanned reports whether a group is led by the node that should lead it at the start.
func asPlanned(group int, s *sight) bool { return s.leader == leader(group) }
