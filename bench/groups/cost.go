// The cost of one library's groups: what each figure is made of, and how it is taken.

package groups

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hustings/hustings/bench/measure"
)

// Founder makes groups with these names, with a member on each of three hosts of one of the libraries.
// Group number i is led by Host(i), once it is settled.
type Founder func(ctx context.Context, names []string) (Subject, error)

// Subject is a set of groups under test.
type Subject interface {
	// Settle waits until all groups have their leaders, and are idle.
	Settle(ctx context.Context) error
	// Idle lets time pass.
	Idle(ctx context.Context, d time.Duration) error
	// Silence makes the last host die silently, without a broken connection. From then on it does nothing.
	Silence() error
	// Recover waits until all groups are led by living hosts.
	Recover(ctx context.Context) error
	// Seen is what is seen of the groups.
	Seen() *Seen
	// Stop releases all members, but not their storage.
	Stop() error
}

// Host is the number of the host that should lead a group. The first is led by the host that dies.
func Host(group int) int { return Hosts - 1 - group%Hosts }

// Task says how many groups there are, how long they are idle, and how often all is repeated.
type Task struct {
	Groups, Repetitions int
	Idle                time.Duration
}

// patience is how long a repetition may take.
const patience = 5 * time.Minute

// Cost is their cost. Times until groups are led again are in detection times, from the death of a
// host to the moment at which both survivors know the group's leader.
type Cost struct {
	Late bool // it took too long, so the rest is zero

	Idle     float64 // CPU seconds in a second
	Messages float64 // in a second, beats included
	Beats    float64 // in a second
	Bytes    float64 // of a group at one host

	Mean, P99, Last float64 // until a group is led again that the dead host led
	CPU             float64 // CPU seconds until all are
	Sent            float64 // messages until all are
	Records, Syncs  float64 // saved until all are
	Load            float64 // the groups of the most loaded survivor, divided by the mean
}

// CostOf takes all figures of one library.
func CostOf(ctx context.Context, t Task, found Founder) (Cost, error) {
	return costOf(ctx, t, found, measureDeath)
}

// IdleCostOf takes those of idle groups only.
func IdleCostOf(ctx context.Context, t Task, found Founder) (Cost, error) {
	return costOf(ctx, t, found, func(context.Context, Subject, *Cost) error { return nil })
}

// costOf measures memory separately, because what happens to idle groups leaves garbage in the heap.
func costOf(ctx context.Context, t Task, found Founder, then func(context.Context, Subject, *Cost) error) (c Cost, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names := Names(t.Groups)
	bytes, err := measureBytes(bounded, names, found)
	if err == nil {
		c, err = measureTime(bounded, names, t.Idle, found, then)
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return Cost{Late: true}, nil
	}
	c.Bytes = bytes
	return c, err
}

// prefix comes before the number in a group's name.
const prefix = "group-"

// Names returns the names of a number of groups.
func Names(groups int) []string {
	names := make([]string, groups)
	for i := range names {
		names[i] = fmt.Sprintf("%s%07d", prefix, i)
	}
	return names
}

// build starts one library and waits until it is idle.
func build(ctx context.Context, names []string, found Founder) (Subject, error) {
	s, err := found(ctx, names)
	if err != nil {
		return nil, err
	}
	if err = s.Settle(ctx); err == nil {
		err = s.Idle(ctx, time.Second) // so that the garbage of the start is collected
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// moments is the number of measurements, because messages in flight take memory, too.
const moments = 10

// measureBytes builds one library's groups and takes them down.
func measureBytes(ctx context.Context, names []string, found Founder) (float64, error) {
	s, err := build(ctx, names, found)
	if err != nil {
		return 0, err
	}
	alive := measure.Memory()
	for range moments {
		err = errors.Join(err, s.Idle(ctx, turn))
		alive = min(alive, measure.Memory())
	}
	err = errors.Join(err, s.Stop())
	bytes := (float64(alive) - float64(measure.Memory())) / float64(len(names)*Hosts)
	runtime.KeepAlive(s)
	return bytes, err
}

// measureTime builds one library's groups, lets them be idle, and measures what happens to them then.
func measureTime(ctx context.Context, names []string, idle time.Duration, found Founder, then func(context.Context, Subject, *Cost) error) (c Cost, err error) {
	s, err := build(ctx, names, found)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	before, began := s.Seen().tally(), measure.CPU()
	if err := s.Idle(ctx, idle); err != nil {
		return c, err
	}
	c.Idle = (measure.CPU() - began).Seconds() / idle.Seconds()
	all := s.Seen().since(before)
	c.Messages, c.Beats = all.messages/idle.Seconds(), all.beats/idle.Seconds()
	err = then(ctx, s, &c)
	return c, err
}

// measureDeath makes a host die.
func measureDeath(ctx context.Context, s Subject, c *Cost) error {
	seen := s.Seen()
	if err := s.Silence(); err != nil {
		return err
	}
	before, began := seen.tally(), measure.CPU()
	if err := s.Recover(ctx); err != nil {
		return err
	}
	c.CPU = (measure.CPU() - began).Seconds()
	all := seen.since(before)
	c.Sent, c.Syncs, c.Records, c.Load = all.messages, all.syncs, all.records, seen.load()
	c.Mean, c.P99, c.Last = outcome(seen.recovered())
	return nil
}

// outcome sums up how long groups took, in detection times.
func outcome(took []float64) (mean, p99, last float64) {
	const unit = detection * float64(beat) / float64(time.Second)
	for _, t := range took {
		mean += t / unit / float64(len(took))
		last = max(last, t/unit)
	}
	return mean, measure.Quantile(took, 0.99) / unit, last
}
