// Our side: three hosts with all groups, embedded as by an engine with many groups: one function
// for all ledgers, no goroutine for each group, and preferred leaders, so that each host leads a
// third.

package groups

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

type ours struct {
	began  time.Time
	seen   *Seen
	wire   *wire
	stores []*store
	hosts  []*elector.Host
	groups [][]*elector.Elector // by host, then by group
}

// timing has the same detection time as etcd's ten ticks.
func timing() elector.Timing {
	t := elector.DefaultTiming()
	t.Heartbeat, t.Leak = beat, detection
	return t
}

// emptyLedger is the LedgerEnd of an engine without entries.
func emptyLedger(memberstate.Term) memberstate.Position { return memberstate.Position{} }

// Ours measures our library.
func Ours(ctx context.Context, t Task) (Cost, error) { return CostOf(ctx, t, oursOf) }

// voters are the members of every group.
var voters = memberstate.Voters(nodes[:]...)

// plain is the configuration of a group.
func plain(group int, name string) elector.GroupConfig {
	return elector.GroupConfig{
		Group: name, Members: voters, Timing: timing(), LedgerEnd: emptyLedger, Preferred: nodes[Host(group):][:1],
	}
}

// configure makes the configuration of a group.
type configure func(group int, name string) elector.GroupConfig

func oursOf(ctx context.Context, names []string) (Subject, error) {
	return foundOurs(ctx, names, plain, elector.Metrics{})
}

// foundOurs starts groups, each with its configuration.
func foundOurs(ctx context.Context, names []string, config configure, metrics elector.Metrics) (*ours, error) {
	o := &ours{began: time.Now(), seen: NewSeen(len(names)), groups: make([][]*elector.Elector, Hosts)}
	o.wire = newWire(nodes[:], o.seen)
	for i, node := range nodes {
		s, m := &store{seen: o.seen}, metrics
		m.Changed = o.learner(i)
		host, err := elector.NewHost(elector.HostConfig{Self: node, Store: s, Transport: o.wire.ends[node], Metrics: &m})
		if err != nil {
			return nil, err
		}
		o.stores, o.hosts, o.groups[i] = append(o.stores, s), append(o.hosts, host), make([]*elector.Elector, 0, len(names))
	}
	for some := range slices.Chunk(names, together) {
		if err := o.start(ctx, some, config); err != nil {
			return nil, errors.Join(err, o.Stop())
		}
	}
	return o, nil
}

// together is how many groups are started at a time. If it were all, a host might be busy for longer than a
// detection time, and the others would take it for dead.
const together = 512

// start starts some more groups, and makes the members that should lead stand. It waits until most of the
// groups are led, because each of the others waits for a detection time.
func (o *ours) start(ctx context.Context, names []string, config configure) error {
	first := len(o.groups[0])
	for i, host := range o.hosts {
		groups, err := host.JoinAll(func(yield func(elector.GroupConfig) bool) {
			for g, name := range names {
				if !yield(config(first+g, name)) {
					return
				}
			}
		})
		o.groups[i] = append(o.groups[i], groups...)
		if err = errors.Join(err, each(groups, (*elector.Elector).Start)); err != nil {
			return err
		}
	}
	for g := range names {
		o.groups[Host(first+g)][first+g].Campaign()
	}
	return await(ctx, func() bool {
		led := 0
		for g := range names {
			if o.seen.Led(first + g) {
				led++
			}
		}
		return 8*led >= 7*len(names)
	})
}

// each does something with all these members of a host, many at a time, because each waits for a turn of
// the host. It returns the first error.
func each(groups []*elector.Elector, do func(*elector.Elector) error) error {
	const workers = 256
	var working sync.WaitGroup
	failed := make(chan error, 1)
	for batch := range slices.Chunk(groups, len(groups)/workers+1) {
		working.Go(func() {
			for _, el := range batch {
				if err := do(el); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	working.Wait()
	close(failed)
	return <-failed
}

// preferred reports whether all groups are led by the members that should.
func (o *ours) preferred() bool {
	for g := range o.groups[0] {
		if leader, _ := o.seen.leader(g); leader != Host(g) {
			return false
		}
	}
	return true
}

// learner returns a function that notes what a host's members know.
func (o *ours) learner(host int) func(elector.Status) {
	return func(s elector.Status) {
		number, err := strconv.Atoi(strings.TrimPrefix(s.Group, prefix))
		if err != nil {
			panic(err) // the names are ours
		}
		o.seen.Learn(host, number, slices.Index(nodes[:], s.Leader), time.Since(o.began))
	}
}

// Settle waits until all groups leave their heartbeats to the nodes.
func (o *ours) Settle(ctx context.Context) error {
	for {
		before := o.seen.tally()
		if err := o.Idle(ctx, 2*beat); err != nil {
			return err
		}
		if all := o.seen.since(before); all.messages == all.beats && o.preferred() {
			return nil
		}
	}
}

// Idle lets time pass.
func (o *ours) Idle(ctx context.Context, d time.Duration) error { return measure.Pass(ctx, d) }

// Recover waits until all groups are led again.
func (o *ours) Recover(ctx context.Context) error { return o.seen.Await(ctx) }

// Seen is what is seen of the groups.
func (o *ours) Seen() *Seen { return o.seen }

// Silence makes the last host die.
func (o *ours) Silence() error {
	o.wire.ends[nodes[dying]].Silence()
	o.seen.Bury(dying, time.Since(o.began))
	return nil
}

// Stop ends the hosts, but keeps their stores.
func (o *ours) Stop() error {
	o.wire.close()
	var problems []error
	for i, host := range o.hosts {
		stop := func(el *elector.Elector) error { return el.Stop(ended()) }
		problems = append(problems, each(o.groups[i], stop), host.Close(ended()))
	}
	o.hosts, o.groups, o.wire = nil, nil, nil
	return errors.Join(problems...)
}

// ended returns an ended context, for a stop that does not wait for handovers.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// store counts what is saved.
type store struct {
	memberstate.MemStore
	seen *Seen
}

// Save saves a batch, and counts it.
func (s *store) Save(batch []memberstate.Record) error {
	s.seen.Syncs.Add(1)
	s.seen.Records.Add(uint64(len(batch)))
	return s.MemStore.Save(batch)
}
