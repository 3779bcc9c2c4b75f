// What watchers see, and what a host answers, when others come between any two statements.

package elector

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/between"
	"github.com/hustings/hustings/memberstate"
)

// Whoever comes between two statements of the loop, of a caller, of a watcher or of a timer, nobody waits in vain,
// watchers end with what is newest, and Lead ends with its lease.
func TestOthersMayComeBetweenTheStatementsOfTheShell(t *testing.T) {
	if !between.Rebuild(t, "../internal/office", "../internal/level") {
		return
	}
	for name, watched := range map[string]bool{"a view and those who wait for it": true, "a view that nobody waits for": false} {
		t.Run(name, func(t *testing.T) {
			between.All(t, true, func(t *testing.T) between.World {
				t.Helper()
				return viewers(t, watched)
			})
		})
	}
	t.Run("watches of all groups", func(t *testing.T) { between.All(t, true, watchersOfAll) })
	t.Run("Lead and its lease", func(t *testing.T) { between.All(t, false, leaders) })
	for name, runs := range map[string]bool{"the life of a host": true, "a host without groups that run": false} {
		t.Run(name, func(t *testing.T) {
			between.All(t, false, func(t *testing.T) between.World {
				t.Helper()
				return lives(t, runs)
			})
		})
	}
}

const theLoop = "the loop"

// reader reads statuses until it is ended.
type reader struct {
	mu   sync.Mutex
	last map[string]Status
	end  context.CancelFunc
}

func newReader(t *testing.T, read func(ctx context.Context, each func(Status))) *reader {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	r := &reader{last: make(map[string]Status), end: end}
	go read(ctx, func(s Status) {
		r.mu.Lock()
		defer r.mu.Unlock()
		assert.GreaterOrEqual(t, s.Term, r.last[s.Group].Term, "a status after a newer one")
		r.last[s.Group] = s
	})
	return r
}

func (r *reader) sees(t *testing.T, e *Elector) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.Equal(t, e.Status(), r.last[e.group.Name()], "what a watcher saw last")
}

// readers are those of a world, one of which was there before.
type readers struct {
	mu  sync.Mutex
	all []*reader
}

func (r *readers) add(one *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// viewers watch one group, one of them from the beginning if it is watched.
func viewers(t *testing.T, watched bool) between.World {
	t.Helper()
	_, e := withoutLoop(t)
	var all readers
	watch := func() {
		all.add(newReader(t, func(ctx context.Context, each func(Status)) {
			next := uint64(0)
			for s := range e.Watch(ctx) {
				assert.GreaterOrEqual(t, s.Revision, next, "it was yielded twice")
				next = s.Revision + 1
				each(s)
			}
		}))
	}
	if watched {
		watch()
	}
	show := func(n memberstate.Term) { (*engine)(e).Show(protocol.View{Term: n}) }
	return between.World{
		Operations: []between.Operation{
			{Name: "a view", Do: func() { show(1) }, Of: theLoop},
			{Name: "two views", Do: func() { show(1); show(2) }, Of: theLoop},
			{Name: "a watch begins", Do: watch},
			{Name: "a wait", Do: func() {
				v := e.view.Load()
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if e.awaitOther(ctx, v) {
					assert.NotSame(t, v, e.view.Load())
				}
			}, Takes: time.Minute},
			{Name: "Status", Do: func() {
				before := e.Status().Revision
				assert.GreaterOrEqual(t, e.Status().Revision, before)
			}},
		},
		Judge: func(t *testing.T) {
			t.Helper()
			for range 2 { // all wait for the next one, too
				synctest.Wait()
				for _, r := range all.all {
					r.sees(t, e)
				}
				show(9)
			}
			for _, r := range all.all {
				r.end()
			}
			synctest.Wait()
		},
	}
}

// watchersOfAll watch all groups of a host.
func watchersOfAll(t *testing.T) between.World {
	t.Helper()
	h := IsolatedHost(t, new(memberstate.MemStore))
	groups := []*Elector{MustJoin(t, h, GroupOf("a", "n0")), MustJoin(t, h, GroupOf("b", "n0"))}
	show := func(i int, n memberstate.Term) { (*engine)(groups[i]).Show(protocol.View{Term: n}) }
	show(0, 1)
	var all readers
	watch := func() {
		all.add(newReader(t, func(ctx context.Context, each func(Status)) {
			for s := range h.Watch(ctx) {
				each(s)
			}
		}))
	}
	batches := func() {
		all.add(newReader(t, func(ctx context.Context, each func(Status)) {
			for batch := range h.WatchBatches(ctx, 1) {
				for _, s := range batch {
					each(s)
				}
			}
		}))
	}
	watch()
	return between.World{
		Operations: []between.Operation{
			{Name: "a view", Do: func() { show(0, 2) }, Of: theLoop},
			{Name: "views of both", Do: func() { show(1, 2); show(0, 3) }, Of: theLoop},
			{Name: "a watch begins", Do: watch},
			{Name: "a watch of batches begins", Do: batches, Later: true},
			{Name: "another group", Do: func() {
				groups = append(groups, MustJoin(t, h, GroupOf("c", "n0")))
				show(2, 1)
			}, Of: theLoop, Later: true},
			{Name: "a group that joins again", Do: func() {
				assert.NoError(t, groups[0].Stop(context.Background()))
				groups[0] = MustJoin(t, h, GroupOf("a", "n0"))
				show(0, 4)
			}, Of: theLoop},
			{Name: "a watch comes and goes", Do: func() { h.watchers.end(h.watchers.begin()) }, Later: true},
		},
		Judge: func(t *testing.T) {
			t.Helper()
			synctest.Wait()
			for _, r := range all.all {
				for _, e := range groups {
					if e.view.Load().begun() {
						r.sees(t, e)
					}
				}
				r.end()
			}
			synctest.Wait()
			assert.Empty(t, h.watchers.list())
		},
	}
}

// leaders lead under a lease: Lead's context ends when that ends, and the loop is told how.
func leaders(t *testing.T) between.World {
	t.Helper()
	const until, number = 10 * time.Second, 7
	var led, ended int
	var mu sync.Mutex
	count := func(n *int) {
		mu.Lock()
		defer mu.Unlock()
		*n++
	}
	h, el := leasing(t, func(ctx context.Context, _ memberstate.Term) error {
		count(&led)
		<-ctx.Done()
		count(&ended)
		return nil
	})
	h.intake.Enter(&el.group, 0, nil) // no loop runs, so requests stay in the intake
	e := (*engine)(el)
	term := el.group.State().Term
	hold := func() { h.now = h.elapsed(); e.Hold(h.now + until) }
	lead := func() { e.Lead(term) }
	share := func() {
		beatEdge{host: h}.HoldShared(number, h.elapsed()+2*until)
		e.Share(number)
	}
	look := func() {
		_, at, held := el.Lease()
		assert.False(t, held && !at.After(h.epoch), "it is held until a time that is past")
	}
	hold()
	return between.World{
		Operations: []between.Operation{
			{Name: "Lead", Do: lead, Of: theLoop},
			{Name: "Lead, and EndLead", Do: func() { lead(); e.EndLead(term) }, Of: theLoop},
			{Name: "Lead, and the lease is given back and begins again", Do: func() { lead(); e.Hold(0); hold() }, Of: theLoop},
			{Name: "Lead, and a longer lease", Do: func() { lead(); hold() }, Of: theLoop},
			{Name: "Lead, and Share", Do: func() { lead(); share() }, Of: theLoop},
			{Name: "Share, and Lead, and a lease of its own", Do: func() { share(); lead(); hold() }, Of: theLoop},
			{Name: "Lease", Do: look},
			{Name: "eleven seconds", Do: func() {}, Takes: 11 * time.Second},
			{Name: "eleven seconds, and Lease", Do: func() { <-time.After(11 * time.Second); look() }, Takes: 11 * time.Second},
			{Name: "a minute", Do: func() {}, Takes: time.Minute},
		},
		Judge: func(t *testing.T) {
			t.Helper()
			<-time.After(time.Hour)
			synctest.Wait()
			look()
			mu.Lock()
			assert.Equal(t, led, ended, "Lead goes on after its lease")
			assert.LessOrEqual(t, led, 1)
			mu.Unlock()
			x := el.extras.Load()
			assert.Nil(t, x.office.Load(), "the office that has ended is kept")
			e.Hold(0)
			if s := h.shared[number]; s != nil {
				beatEdge{host: h}.HoldShared(number, 0)
			}
			synctest.Wait()
		},
	}
}

// lives are those of a host with two groups, one of which may run. Each caller is answered once, whatever begins or
// ends.
func lives(t *testing.T, runs bool) between.World {
	t.Helper()
	h := IsolatedHost(t, new(memberstate.MemStore))
	ctx := context.Background()
	first, second := MustJoin(t, h, GroupOf("first", "n0")), MustJoin(t, h, GroupOf("second", "n0"))
	if runs {
		require.NoError(t, first.Start())
	}
	for runs && first.Status().Role != memberstate.Leader {
		<-time.After(100 * time.Millisecond)
	}
	may := func(err error, allowed ...error) {
		for _, a := range allowed {
			if errors.Is(err, a) {
				return
			}
		}
		assert.NoError(t, err)
	}
	call := func(name string, do func() error) between.Operation {
		return between.Operation{Name: name, Do: func() { may(do(), ErrStopped, ErrStoreSilent) }}
	}
	later := func(name string, takes time.Duration, do func() error) between.Operation {
		o := call(name, do)
		o.Later, o.Takes = true, takes
		return o
	}
	return between.World{
		Operations: []between.Operation{
			call("Start", second.Start),
			call("Stop of the last", func() error { return first.Stop(ctx) }),
			call("Close", func() error { return h.Close(ctx) }),
			call("KeepDrained", func() error { return h.KeepDrained(true) }),
			call("Serve", h.Serve),
			call("Nodes", func() error { _, err := h.Nodes(ctx); return err }),
			call("SetWeight", func() error { return first.SetWeight(2) }),
			later("Start, and Stop", 0, func() error { return errors.Join(second.Start(), second.Stop(ctx)) }),
			later("Start of the other one", 0, first.Start),
			later("Undrain", 0, h.Undrain),
			later("Protect", 0, func() error { return h.Protect(true) }),
			later("Drain", 2*time.Second, func() error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				var stuck *StuckError
				if err := h.Drain(ctx); !errors.As(err, &stuck) {
					may(err, ErrStopped, ErrServing)
				}
				return nil
			}),
			later("Report", 0, func() error { _, err := first.Report(ctx); return err }),
			later("Resign", 2*time.Second, func() error {
				may(first.Resign(ctx), ErrStopped, ErrNotLeader)
				return nil
			}),
			later("Done", 0, func() error {
				select {
				case <-first.Done():
				default:
				}
				return first.Err()
			}),
			later("another group", 0, func() error {
				third := MustJoin(t, h, GroupOf("third", "n0"))
				return errors.Join(third.Start(), third.Stop(ctx))
			}),
		},
		Judge: func(t *testing.T) {
			t.Helper()
			require.NoError(t, h.Close(ctx))
			<-first.Done()
			<-second.Done()
			assert.Empty(t, h.Electors())
			again := MustJoin(t, h, GroupOf("again", "n0"))
			require.NoError(t, again.Start(), "after all has ended a group can be started")
			require.NoError(t, h.Close(ctx))
			assert.Zero(t, h.intake.Live())
			assert.Zero(t, h.intake.Waiting())
			assert.Empty(t, h.entering)
		},
	}
}
