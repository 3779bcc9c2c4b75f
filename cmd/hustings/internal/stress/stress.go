// Package stress measures very many groups on a few nodes: what idle groups cost, and how long it takes until
// all have leaders again after a node has died.
//
// The nodes are real hosts with real time, in one process, so the figures are of all nodes together. Their
// stores forget everything, because no node of a run comes back.
package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// Options say what is run, and for how long.
type Options struct {
	Groups, Nodes int
	Timing        elector.Timing
	Idle          time.Duration // for how long idle groups are measured
	Kill          bool          // one node dies after that
	TCP           bool          // the nodes are connected by gRPC over loopback, not in memory
	NoNodeBeats   bool          // every group beats by itself
	Leases        bool          // leaders hold leases
	// CPU returns how long this process has computed.
	CPU func() time.Duration
	// Progress is called now and then with what is under way, and how much of it is done.
	Progress func(what string, done, of int)
}

// Check returns an error for options that cannot be run. It names the flags of the command.
func (o *Options) Check() error {
	switch {
	case o.Groups < 1 || o.Groups > maxGroups:
		return fmt.Errorf("--groups is %d, want 1 to %d", o.Groups, maxGroups)
	case o.Nodes < 1 || o.Nodes > memberstate.MaxMembers:
		return fmt.Errorf("--nodes is %d, want 1 to %d", o.Nodes, memberstate.MaxMembers)
	case o.Kill && o.Nodes < 3:
		return fmt.Errorf("--nodes is %d, so no majority is left when a node dies: want 3 or more, or --kill=false", o.Nodes)
	case o.Idle <= 0:
		return fmt.Errorf("--for is %v, want more than 0", o.Idle)
	}
	if err := o.Timing.Validate(o.Leases); err != nil {
		return fmt.Errorf("--heartbeat or --leak: %w", err)
	}
	return nil
}

// run is one run of the options.
type run struct {
	*Options
	cluster *cluster
	tracker *tracker
	report  *Report
	before  float64 // the memory in use without the hosts
}

// Run runs the groups. If ctx ends first, the report has what was measured until then, and says so.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	names := groupNames(o.Groups)
	r := &run{Options: &o, tracker: newTracker(o.Groups, o.Nodes), report: newReport(&o)}
	r.before = memory()
	if r.cluster, err = newCluster(&o, r.tracker); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.close()) }()
	steps := []struct {
		doing string
		do    func(context.Context) error
	}{
		{"the groups were started", func(ctx context.Context) error { return r.start(ctx, names) }},
		{"their members came to rest", r.settle},
		{"they were idle", r.idle},
		{"the death of a node was measured", r.kill},
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			if ctx.Err() == nil {
				return nil, err
			}
			r.report.Stopped = "interrupted while " + step.doing
			return r.report, nil
		}
	}
	r.report.Complete = true
	return r.report, nil
}

// start joins and starts all groups, and waits until all have leaders.
func (r *run) start(ctx context.Context, names []string) error {
	began, used := time.Now(), r.CPU()
	waiting, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	started := make(chan struct{})
	go func() {
		defer close(started)
		if err := r.cluster.start(waiting, names); err != nil {
			fail(err)
		}
	}()
	err := r.awaitLed(waiting, "groups have a leader")
	<-started // a host must not be closed before
	if err != nil {
		return context.Cause(waiting)
	}
	messages, _ := r.cluster.sent()
	r.report.Start = &Start{Seconds: time.Since(began).Seconds(), CPU: (r.CPU() - used).Seconds(), Messages: messages}
	return nil
}

// settle waits until the messages of the start are over.
func (r *run) settle(ctx context.Context) error {
	sent, _ := r.cluster.sent()
	for over := newFalling(sent); ; {
		if err := sleep(ctx, r.Timing.Detection()); err != nil {
			return err
		}
		sent, _ := r.cluster.sent()
		count, ended := over.after(sent)
		if ended {
			return nil
		}
		r.Progress("messages in a detection time, until the groups rest", count, -1)
	}
}

// falling is a number of messages that falls, until there are none, or until it falls no longer, because groups beat by
// themselves.
type falling struct {
	sent   uint64  // in all, when it was counted last
	before float64 // the number before; negative: there is none
}

func newFalling(sent uint64) *falling { return &falling{sent, -1} }

// after takes the number of messages in all, and returns how many there were since it was called last, and whether that
// falls no longer.
func (f *falling) after(sent uint64) (count int, ended bool) {
	const falls = 0.9
	now := float64(sent - f.sent)
	ended = now == 0 || f.before >= 0 && now > falls*f.before
	f.sent, f.before = sent, now
	return int(now), ended
}

// idle measures groups in which nothing happens.
func (r *run) idle(ctx context.Context) error {
	idle := &Idle{Bytes: r.bytes(r.before, memory())}
	began, used := time.Now(), r.CPU()
	messages, beats := r.cluster.sent()
	var err error
	for passed := time.Duration(0); passed < r.Idle && err == nil; passed = time.Since(began) {
		r.Progress("seconds of measuring idle groups", int(passed.Seconds()), int(r.Idle.Seconds()))
		err = sleep(ctx, min(r.Idle-passed, time.Second))
	}
	passed := time.Since(began).Seconds()
	messagesNow, beatsNow := r.cluster.sent()
	idle.Seconds, idle.CPU = passed, (r.CPU()-used).Seconds()/passed
	idle.Messages, idle.Beats = float64(messagesNow-messages)/passed, float64(beatsNow-beats)/passed
	r.report.Idle = idle
	return err
}

// bytes is what a group takes at one node.
func (o *Options) bytes(before, now float64) float64 {
	return max(now-before, 0) / float64(o.Groups*o.Nodes)
}

// kill has the node die that leads the most groups, and waits until all have leaders again.
func (r *run) kill(ctx context.Context) error {
	if !r.Kill {
		return nil
	}
	dead := r.tracker.busiest()
	used := r.CPU()
	r.tracker.dies(dead)
	r.cluster.ends[dead].die()
	err := r.awaitLed(ctx, "groups have a leader again")
	r.report.Death = newDeath(r.tracker, dead, r.Timing.Detection(), r.CPU()-used)
	return err
}

// awaitLed waits until all groups have leaders.
func (r *run) awaitLed(ctx context.Context, what string) error {
	led := r.tracker.allLed()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		r.Progress(what, r.tracker.count(), r.Groups)
		select {
		case <-led:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memory returns the live bytes on the heap and in stacks.
func memory() float64 {
	var m runtime.MemStats
	for range 2 { // the first run starts finalizers and frees stacks
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return inUse(&m)
}

func inUse(m *runtime.MemStats) float64 { return float64(m.HeapAlloc + m.StackInuse) }
