// Our side: three hosts with all their goroutines. An engine without a ledger notes when it is paused and when it
// leads.

package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hustings/hustings/bench/adapter/etcd"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/bench/wire"
	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

// beat is the interval of heartbeats, and of ticks.
const beat = 100 * time.Millisecond

// names are the ids of our nodes.
var names = [hosts]string{"n0", "n1", "n2"}

type ours struct {
	watch *watch
	hosts [hosts]*elector.Host
	posts map[string]*wire.Post
	links []*link
	// groups are by node, then by group.
	groups    [hosts][]*elector.Elector
	task      Task
	preferred bool
}

func timing() elector.Timing {
	t := elector.DefaultTiming()
	t.Heartbeat, t.Leak = beat, etcd.ElectionTicks
	return t
}

// foundOurs makes groups, with or without preferred leaders.
func foundOurs(preferred bool) founder {
	return func(w *watch, disks [hosts]*disk, t Task) (side, error) {
		o := &ours{watch: w, posts: map[string]*wire.Post{}}
		for _, name := range names {
			o.posts[name] = &wire.Post{Lines: map[string]wire.Line{}, Peers: o.posts}
			for _, other := range names {
				if other != name {
					l := newLink(t.Delay)
					o.links = append(o.links, l)
					o.posts[name].Lines[other] = l
				}
			}
		}
		for i, name := range names {
			host, err := elector.NewHost(elector.HostConfig{
				Self: name, Store: &store{disk: disks[i]}, Transport: o.posts[name], Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				return nil, errors.Join(err, o.stop())
			}
			o.hosts[i] = host
		}
		o.preferred, o.task = preferred, t
		return o, nil
	}
}

// voters are the members of every group.
var voters = memberstate.Voters(names[:]...)

// noLedger is the LedgerEnd of an engine without entries.
func noLedger(memberstate.Term) memberstate.Position { return memberstate.Position{} }

// config is that of a member of a group.
func (o *ours) config(node, group int) elector.GroupConfig {
	c := elector.GroupConfig{
		Group: fmt.Sprintf("group-%07d", group), Members: voters, Timing: timing(), LedgerEnd: noLedger,
		Lead: func(ctx context.Context, term memberstate.Term) error {
			o.watch.leads(node, group, uint64(term))
			<-ctx.Done()
			return nil
		},
		Pause: func(context.Context, memberstate.Term) error {
			o.watch.pauses(group)
			return nil
		},
	}
	if o.preferred {
		c.Preferred = names[leader(group):][:1]
	}
	return c
}

// startedTogether is how many groups are started at a time in real time, so that hosts are not too busy to beat. In virtual time
// they never are.
const startedTogether = 512

// settle starts all groups, and has those hand over that another member has come to lead.
func (o *ours) settle(ctx context.Context) error {
	some := o.task.Groups
	if o.task.Real {
		some = startedTogether
	}
	for begin := 0; begin < o.task.Groups; begin += some {
		if err := o.start(ctx, begin, min(begin+some, o.task.Groups)); err != nil {
			return err
		}
	}
	var wrong []int
	o.watch.is(func(g int, s *sight) bool {
		if !asPlanned(g, s) {
			wrong = append(wrong, g)
		}
		return true
	})
	for _, g := range wrong {
		if err := o.move(ctx, g); err != nil {
			return err
		}
	}
	if err := await(ctx, o.watch, asPlanned); err != nil {
		return err
	}
	return measure.Pass(ctx, 20*beat) // then all groups rest
}

// start starts some more groups, makes the members stand that should lead, and waits until all are led.
func (o *ours) start(ctx context.Context, begin, end int) error {
	for i, host := range o.hosts {
		groups, err := host.JoinAll(func(yield func(elector.GroupConfig) bool) {
			for g := begin; g < end; g++ {
				if !yield(o.config(i, g)) {
					return
				}
			}
		})
		o.groups[i] = append(o.groups[i], groups...)
		if err = errors.Join(err, host.StartAll()); err != nil {
			return err
		}
	}
	for g := begin; g < end; g++ {
		o.groups[leader(g)][g].Campaign()
	}
	return await(ctx, o.watch, func(g int, s *sight) bool { return g >= end || s.leader != nobody })
}

// move hands a group over to the node that should lead it.
func (o *ours) move(ctx context.Context, group int) (err error) {
	for range 10 {
		var now int
		o.watch.is(func(g int, s *sight) bool {
			now = s.leader
			return g < group
		})
		if err = o.groups[now][group].TransferLeadership(ctx, names[leader(group)]); err == nil || now == leader(group) {
			return nil
		}
		if late := measure.Pass(ctx, beat); late != nil {
			return errors.Join(err, late)
		}
	}
	return err
}

func (o *ours) drain(ctx context.Context, node int) error { return o.hosts[node].Drain(ctx) }
func (o *ours) serve(node int) error                      { return o.hosts[node].Serve() }

// idle is a minute, because idle groups cost next to nothing.
func (o *ours) idle() time.Duration { return time.Minute }

// stop ends the hosts without handovers.
func (o *ours) stop() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var closing sync.WaitGroup
	var problems [hosts]error
	for i, host := range o.hosts {
		if host != nil {
			closing.Go(func() { problems[i] = host.Close(ended) })
		}
	}
	closing.Wait()
	for _, l := range o.links {
		l.queue.End()
	}
	return errors.Join(problems[:]...)
}

// store keeps the records on a node's disk.
type store struct {
	memberstate.MemStore
	disk *disk
}

// Save saves when the disk does.
func (s *store) Save(batch []memberstate.Record) error {
	s.disk.sync()
	return s.MemStore.Save(batch)
}
