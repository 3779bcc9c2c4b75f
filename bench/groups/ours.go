// Our side: three hosts with all groups, embedded as by an engine with many groups: one function
// for all ledgers, no goroutine for each group, and preferred leaders, so that each host leads a
// third.

package groups

import (
	"context"
	"errors"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/internal/directwire"
	"github.com/hustings/hustings/memberstate"
)

type ours struct {
	wire   *directwire.Wire
	stores []*memberstate.MemStore
	hosts  []*elector.Host
	groups [][]*elector.Elector // by host, then by group
	since  time.Time            // the last start or death of a host
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
func Ours(ctx context.Context, t Task) (Cost, error) { return costOf(ctx, t, oursOf) }

func oursOf(names []string) (subject, error) {
	o := &ours{wire: directwire.New(nodes[:]...), since: time.Now()}
	for _, node := range nodes {
		store := new(memberstate.MemStore)
		host, err := elector.NewHost(elector.HostConfig{Self: node, Store: store, Transport: o.wire.End(node)})
		if err != nil {
			return nil, err
		}
		o.stores, o.hosts = append(o.stores, store), append(o.hosts, host)
		o.groups = append(o.groups, make([]*elector.Elector, len(names)))
	}
	members, leaders := memberstate.Voters(nodes[:]...), make([][]string, hosts)
	for i, node := range nodes {
		leaders[i] = []string{node}
	}
	for g, name := range names {
		config := elector.GroupConfig{
			Group: name, Members: members, Timing: timing(), LedgerEnd: emptyLedger, Preferred: leaders[g%hosts],
		}
		for i, host := range o.hosts {
			el, err := host.Join(config)
			if err == nil {
				err = el.Start()
			}
			if err != nil {
				return nil, errors.Join(err, o.stop())
			}
			o.groups[i][g] = el
		}
	}
	return o, nil
}

// settle waits until all living hosts know the right leader of every group.
func (o *ours) settle(ctx context.Context) (time.Duration, error) {
	for g := range o.groups[0] {
		if err := await(ctx, func() bool { return o.led(g) }); err != nil {
			return 0, err
		}
	}
	return time.Since(o.since), nil
}

// led reports whether all living hosts know the same leader of a group, which is alive, too.
func (o *ours) led(g int) bool {
	leader, led := "", false
	for i, el := range o.groups {
		if o.wire.End(nodes[i]).Silent() {
			continue
		}
		s := el[g].Status()
		if s.Leader == "" || leader != "" && leader != s.Leader {
			return false
		}
		leader = s.Leader
		led = led || s.Role == memberstate.Leader
	}
	return led
}

// idle lets time pass.
func (o *ours) idle(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// silence makes the last host die. Its messages on the way down are not delivered.
func (o *ours) silence() error {
	last := hosts - 1
	o.since = time.Now()
	o.wire.End(nodes[last]).Silence()
	return o.hosts[last].Close(ended())
}

// stop ends the hosts, but keeps their stores.
func (o *ours) stop() error {
	var problems []error
	for _, host := range o.hosts {
		problems = append(problems, host.Close(ended()))
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
