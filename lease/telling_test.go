package lease

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/lease/protocol"
	"github.com/hustings/hustings/memberstate"
)

// A lease that was seen expired stays expired, even if the answer to a renewal comes at the same
// moment.
func TestALeaseThatWasSeenToHaveRunOutStaysSo(t *testing.T) {
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming()})
	require.NoError(t, err)
	e, err := k.Join(GroupConfig{Name: "g"})
	require.NoError(t, err)
	end := k.now()
	leads(e, 7, end)
	_, _, ok := e.Lease()
	require.False(t, ok)
	e.held.Extend(end+DefaultTiming().TTL, end-1) // with a time that was read before
	_, _, ok = e.Lease()
	assert.False(t, ok)
}

// rows is a small database for these tests, with leases that fail or are taken away on demand.
type rows struct {
	Store
	fails atomic.Bool
	lost  atomic.Pointer[string] // the lease that is not kept
	zero  atomic.Bool            // all is forgotten
	terms sync.Map               // by name
}

func (s *rows) err() error {
	if s.fails.Load() {
		return errors.New("it is down")
	}
	return nil
}

func (s *rows) Read(_ context.Context, names []string) (found []Record, err error) {
	for _, name := range names {
		if term, known := s.terms.Load(name); known && !s.zero.Load() {
			found = append(found, Record{Name: name, Term: term.(memberstate.Term), Released: true})
		}
	}
	return found, s.err()
}

func (s *rows) Acquire(_ context.Context, c Claim) (bool, error) {
	if err := s.err(); err != nil {
		return false, err
	}
	s.terms.Store(c.Name, c.Term+1)
	return true, nil
}

func (s *rows) Renew(_ context.Context, _ string, held []Held) (kept []string, err error) {
	lost := s.lost.Load()
	for _, h := range held {
		if lost == nil || h.Name != *lost {
			kept = append(kept, h.Name)
		}
	}
	return kept, s.err()
}

func (s *rows) Release(context.Context, string, Held) error { return s.err() }

// ears is called with every line that is logged.
type ears func(text string)

func (e ears) Enabled(context.Context, slog.Level) bool { return true }
func (e ears) Handle(_ context.Context, r slog.Record) error {
	e(r.Message)
	return nil
}
func (e ears) WithAttrs([]slog.Attr) slog.Handler { return e }
func (e ears) WithGroup(string) slog.Handler      { return e }

// keeperThatTells makes a keeper of some leases, and runs its electors until the test's end.
func keeperThatTells(t *testing.T, s Store, heard func(k *Keeper, text string), lead func(context.Context, memberstate.Term) error, names ...string) map[string]*Elector {
	t.Helper()
	var k *Keeper
	hear := ears(func(text string) { heard(k, text) })
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: s, Timing: DefaultTiming(), Logger: slog.New(hear)})
	require.NoError(t, err)
	all := map[string]*Elector{}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, name := range names {
		el, err := k.Join(GroupConfig{Name: name, Lead: lead})
		require.NoError(t, err)
		all[name] = el
		running.Go(func() { assert.NoError(t, el.Run(ctx)) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return all
}

// A logger may call back at any line, because it is called without a lock.
func TestALoggerIsCalledUnderNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := func(mu *sync.Mutex) bool {
			for range 1000 { // another goroutine may have it for a moment
				if mu.TryLock() {
					mu.Unlock()
					return true
				}
				runtime.Gosched()
			}
			return false
		}
		var told sync.Map
		hear := func(k *Keeper, text string) {
			told.Store(text, true)
			assert.True(t, free(&k.mu), text)
		}
		s, early := new(rows), atomic.Bool{}
		lead := func(ctx context.Context, _ memberstate.Term) error {
			if !early.Load() {
				<-ctx.Done()
			}
			return nil
		}
		early.Store(true)
		keeperThatTells(t, s, hear, lead, "a", "b")
		<-time.After(20 * time.Second)
		early.Store(false)
		<-time.After(20 * time.Second)
		a := "a"
		for _, happens := range []func(bool){
			s.fails.Store,
			func(on bool) {
				if s.lost.Store(nil); on {
					s.lost.Store(&a)
				}
			},
			func(on bool) { // it is down before it forgets, because otherwise it would not be read
				s.fails.Store(on)
				s.zero.Store(on)
				<-time.After(20 * time.Second)
				s.fails.Store(false)
			},
		} {
			for _, on := range []bool{true, false} {
				happens(on)
				<-time.After(20 * time.Second)
			}
		}
		for _, text := range []string{
			"role", "lost the lease", "leases were not renewed", "leases could not be read", "lead returned early, resigning",
			failing[protocol.Release], working[protocol.Read], working[protocol.Release],
			forgotten,
		} {
			_, was := told.Load(text)
			assert.True(t, was, text)
		}
	})
}

// A slow logger of one lost lease does not make another one expire that was renewed by the same
// call.
func TestASlowLoggerCostsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, told := new(rows), "a", atomic.Bool{}
		hear := func(_ *Keeper, text string) {
			if text == "lost the lease" {
				told.Store(true)
				<-time.After(time.Minute)
			}
		}
		all := keeperThatTells(t, s, hear, nil, "a", "b", "c")
		<-time.After(20 * time.Second)
		before := all["b"].Status()
		require.Equal(t, memberstate.Leader, before.Role)
		s.lost.Store(&a)
		<-time.After(40 * time.Second)
		assert.True(t, told.Load())
		for _, name := range []string{"b", "c"} {
			now := all[name].Status()
			assert.Equal(t, memberstate.Leader, now.Role, name)
			assert.Equal(t, before.Term, now.Term, name)
		}
	})
}

// If a reader sees a lease expired while the answer to its renewal is handled, with a time that
// was read a moment earlier, the office ends, because it must not go on without a lease.
func TestAnOfficeEndsWithTheLeaseThatWasSeenToRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offices := make(chan context.Context, 4)
		lead := func(ctx context.Context, _ memberstate.Term) error {
			offices <- ctx
			<-ctx.Done()
			return nil
		}
		all := keeperThatTells(t, new(rows), func(*Keeper, string) {}, lead, "a", "b")
		<-time.After(10 * time.Second)
		one, other := <-offices, <-offices
		for _, e := range all {
			_, held := e.shown.Load().lease.Holds(e.keeper.now() + time.Hour) // by a clock that is that much ahead
			require.False(t, held)
		}
		for k := all["a"].keeper; one.Err() == nil && other.Err() == nil; {
			<-time.After(time.Millisecond)
			synctest.Wait()
			k.mu.Lock()
			assert.Empty(t, k.lapses, "none waits until something else happens")
			k.mu.Unlock()
		}
		assert.Error(t, one.Err())
		assert.Error(t, other.Err(), "one answer was about both leases")
	})
}

// Each line names its lease, and says all that is known about the event.
func TestALogLineNamesTheLeaseAndTheEvent(t *testing.T) {
	down := errors.New("down")
	for want, n := range map[string]protocol.Note{
		`level=WARN msg="leases could not be read" leases=3 error=down failures=2`: {Topic: protocol.Fails, Kind: protocol.Read, Leases: 3, Err: down, Count: 2},
		`level=WARN msg="candidates could not be woken for a released lease" group=g term=7 error=down failures=1`: {
			Topic: protocol.Fails, Kind: protocol.Wake, Name: "g", Term: 7, Err: down, Count: 1,
		},
		`level=WARN msg="the lease could not be claimed" group=g term=7 error=down failures=1`: {
			Topic: protocol.Fails, Kind: protocol.Acquire, Name: "g", Term: 7, Err: down, Count: 1,
		},
		`level=WARN msg="the lease could not be released; retrying until it has expired" group=g term=7 error=down failures=1`: {
			Topic: protocol.Fails, Kind: protocol.Release, Name: "g", Term: 7, Err: down, Count: 1,
		},
		`level=INFO msg="leases are renewed again"`:                                      {Topic: protocol.Works, Kind: protocol.Renew},
		`level=WARN msg="lost the lease" group=g term=7 why="it has expired"`:            {Topic: protocol.RanOut, Name: "g", Term: 7},
		`level=WARN msg="lost the lease" group=g term=7 why="it was taken away"`:         {Topic: protocol.TakenAway, Name: "g", Term: 7},
		`level=WARN msg="not able to lead" group=g term=7 why=unhealthy error=down`:      {Topic: protocol.NotAble, Name: "g", Term: 7, Why: voting.NotAbleUnhealthy, Err: down},
		`level=WARN msg="not able to lead" group=g term=7 why="engine silent"`:           {Topic: protocol.NotAble, Name: "g", Term: 7, Why: voting.NotAbleSilent},
		`level=WARN msg="lead returned early, resigning" group=g term=7 error=down`:      {Topic: protocol.ReturnedEarly, Name: "g", Term: 7, Err: down},
		`level=ERROR msg="` + forgotten + `" group=g term=7 known=9 do="` + remedy + `"`: {Topic: protocol.Forgotten, Name: "g", Term: 7, Known: 9},
	} {
		var said strings.Builder
		plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming(), Logger: slog.New(slog.NewTextHandler(&said, plain))})
		require.NoError(t, err)
		k.mu.Lock()
		effects{k}.Tell(n)
		k.unlock()
		assert.Equal(t, want+"\n", said.String())
	}
	for _, kind := range []protocol.Kind{protocol.Read, protocol.Acquire, protocol.Renew, protocol.Release, protocol.Wake, protocol.Listen} {
		assert.NotEmpty(t, failing[kind], kind)
		assert.Equal(t, kind != protocol.Listen, working[kind] != "", kind)
	}
}

// Lines that come while others are being logged, as they do when a logger is slow or calls back, replace none of these.
func TestNoLineIsLostWhileOthersAreLogged(t *testing.T) {
	var k *Keeper
	var heard []string
	hear := ears(func(text string) {
		if heard = append(heard, text); text == "one" {
			k.mu.Lock()
			k.say(slog.LevelInfo, "three")
			k.say(slog.LevelInfo, "four")
			k.unlock()
		}
	})
	k, err := NewKeeper(KeeperConfig{Self: "n", Store: deaf{}, Timing: DefaultTiming(), Logger: slog.New(hear)})
	require.NoError(t, err)
	k.mu.Lock()
	k.say(slog.LevelInfo, "one")
	k.say(slog.LevelInfo, "two")
	k.unlock()
	assert.Equal(t, []string{"one", "three", "four", "two"}, heard)
}

// A logger is not called any more once Run has returned, even if it was slow with a line about a lease that has run out.
func TestAnElectorEndsWhenItsLinesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told, hold := new(rows), atomic.Bool{}, make(chan struct{})
		hear := ears(func(text string) {
			if text == "lost the lease" {
				told.Store(true)
				<-hold
			}
		})
		el, err := New(KeeperConfig{Self: "n", Store: s, Timing: DefaultTiming(), Logger: slog.New(hear)}, GroupConfig{Name: "g"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- el.Run(ctx) }()
		<-time.After(20 * time.Second)
		s.fails.Store(true)
		<-time.After(20 * time.Second)
		assert.True(t, told.Load())
		cancel()
		<-time.After(time.Minute)
		assert.Empty(t, ended)
		close(hold)
		synctest.Wait()
		assert.Len(t, ended, 1)
	})
}
