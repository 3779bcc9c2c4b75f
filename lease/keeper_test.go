package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// A keeper stops working with its last lease, and begins again with the next one. The name of a
// lease that has ended can be joined again.
func TestAKeeperWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: c, Timing: timing})
		require.NoError(t, err)
		for term := memberstate.Term(1); term <= 3; term++ {
			el, err := k.Join(lease.GroupConfig{Name: "g"})
			require.NoError(t, err)
			assert.Equal(t, k.Self(), el.Status().Self)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			go func() {
				<-time.After(10 * time.Second)
				s := el.Status()
				assert.Equal(t, memberstate.Leader, s.Role)
				assert.Equal(t, term, s.Term)
			}()
			assert.NoError(t, el.Run(ctx))
			cancel()
			for _, op := range []string{"read", "acquire", "renew", "release"} {
				assert.Positive(t, c.count(op), op)
			}
			<-time.After(time.Hour)
			for _, op := range []string{"read", "acquire", "renew", "release"} {
				assert.Zero(t, c.count(op), op)
			}
		}
	})
}

// A lease has one elector at a time, also in the eyes of its service: it can be joined again when no handler of the last one
// is called any more.
func TestALeaseIsNotJoinedAgainWhileAHandlerIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing})
		require.NoError(t, err)
		hold := make(chan struct{})
		el, err := k.Join(lease.GroupConfig{Name: "g", Handlers: []elector.RoleHandler{stuck{hold}}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- el.Run(ctx) }()
		<-time.After(10 * time.Second)
		cancel()
		<-time.After(time.Minute)
		require.Empty(t, ended)
		_, err = k.Join(lease.GroupConfig{Name: "g"})
		require.ErrorIs(t, err, elector.ErrGroupExists)
		close(hold)
		require.NoError(t, <-ended)
		_, err = k.Join(lease.GroupConfig{Name: "g"})
		assert.NoError(t, err)
	})
}

// jammed is a store whose first read does not return, whatever its context says.
type jammed struct {
	lease.Store
	asked atomic.Bool
	free  chan struct{}
}

func (s *jammed) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	if !s.asked.Swap(true) {
		<-s.free
	}
	return s.Store.Read(ctx, names)
}

// An elector that ends waits for its own calls, and not for those of an elector that has begun
// to run meanwhile.
func TestAnElectorThatEndsDoesNotWaitForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &jammed{Store: new(mem.Store), free: make(chan struct{})}
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: store, Timing: timing})
		require.NoError(t, err)
		run := func(name string) (end context.CancelFunc, ended chan error) {
			el, err := k.Join(lease.GroupConfig{Name: name})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended = make(chan error, 1)
			go func() { ended <- el.Run(ctx) }()
			return cancel, ended
		}
		endFirst, first := run("a")
		<-time.After(10 * time.Second)
		endFirst()
		synctest.Wait()
		assert.Empty(t, first, "its call has not returned")
		endNext, next := run("b")
		<-time.After(time.Minute)
		close(store.free)
		synctest.Wait()
		assert.Len(t, first, 1)
		endNext()
		require.NoError(t, <-next)
		require.NoError(t, <-first)
	})
}

// bells is a Waker that counts its calls, and takes a while to end.
type bells struct {
	*mem.Store
	mu     sync.Mutex
	rung   int
	listen int
}

func (b *bells) Wake(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung++
	return b.Store.Wake(ctx, name)
}

func (b *bells) Listen(ctx context.Context, woken func(string)) error {
	b.mu.Lock()
	b.listen++
	b.mu.Unlock()
	err := b.Store.Listen(ctx, woken)
	<-time.After(5 * time.Second)
	return err
}

// heard returns the numbers of wake-ups and of listeners.
func (b *bells) heard() (rung, listen int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung, b.listen
}

// The configured Waker is used even if the Store is a Waker, too. A keeper that works again while
// its earlier Listen still runs starts no second one, and does not report the end of the first as
// a failure.
func TestAKeeperListensToTheWakerThatWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, store, waker := newNotes(), &bells{Store: new(mem.Store)}, &bells{Store: new(mem.Store)}
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: store, Waker: waker, Timing: timing, Logger: slog.New(n)})
		require.NoError(t, err)
		var running sync.WaitGroup
		for round := 1; round <= 2; round++ {
			el, err := k.Join(lease.GroupConfig{Name: fmt.Sprint(round)})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			running.Go(func() { assert.NoError(t, el.Run(ctx)) })
			<-time.After(3 * time.Second)
			_, listen := waker.heard()
			assert.Equal(t, 1, listen, "only one Listen runs at a time")
			if round == 2 {
				<-time.After(10 * time.Second)
			}
			cancel()
			synctest.Wait()
		}
		running.Wait()
		rung, listen := waker.heard()
		assert.Equal(t, 2, rung)
		assert.Equal(t, 2, listen)
		rung, listen = store.heard()
		assert.Zero(t, rung+listen)
		assert.Empty(t, n.levels[slog.LevelWarn])
	})
}

// A keeper listens as long as one of its leases has not ended. Otherwise the rest would not hear of releases any more.
func TestALeaseThatEndsLeavesTheOthersListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waker := &bells{Store: new(mem.Store)}
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Waker: waker, Timing: timing, Logger: silence})
		require.NoError(t, err)
		var running sync.WaitGroup
		for name, lasts := range map[string]time.Duration{"first": 10 * time.Second, "last": time.Minute} {
			el, err := k.Join(lease.GroupConfig{Name: name})
			require.NoError(t, err)
			running.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				assert.NoError(t, el.Run(ctx))
			})
		}
		<-time.After(30 * time.Second)
		_, listen := waker.heard()
		assert.Equal(t, 1, listen, "the first call goes on")
		running.Wait()
	})
}

// deafWaker cannot listen for a while.
type deafWaker struct {
	mem.Store
	tries atomic.Int32
}

func (w *deafWaker) Listen(ctx context.Context, woken func(string)) error {
	if w.tries.Add(1) <= 3 {
		return errors.New("no such channel")
	}
	return w.Store.Listen(ctx, woken)
}

// A failing Listen is logged, and repeated every Poll until it works.
func TestListeningIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, waker := newNotes(), new(deafWaker)
		el, err := lease.New(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Waker: waker, Timing: timing, Logger: slog.New(n)}, lease.GroupConfig{Name: "g"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		go func() {
			<-time.After(2*timing.Poll - time.Millisecond)
			assert.EqualValues(t, 2, waker.tries.Load())
			<-time.After(2*time.Millisecond + timing.Poll)
			assert.EqualValues(t, 4, waker.tries.Load())
		}()
		require.NoError(t, el.Run(ctx))
		assert.Equal(t, time.Minute, time.Since(began)) // virtual
		assert.EqualValues(t, 4, waker.tries.Load(), "it listens")
		assert.Positive(t, n.counted()["cannot listen for released leases"])
	})
}

// slowWaker takes a while to wake others.
type slowWaker struct{ mem.Store }

func (w *slowWaker) Wake(ctx context.Context, name string) error {
	<-time.After(time.Second)
	return w.Store.Wake(ctx, name)
}

// An elector ends only after others were woken for the lease that it released, even if its
// keeper works on, and even if it was told to end only after the release.
func TestAnElectorEndsWhenTheOthersWereWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(slowWaker), Timing: timing, Logger: silence})
		require.NoError(t, err)
		var running sync.WaitGroup
		join := func(name string, lasts, ends time.Duration) *lease.Elector {
			el, err := k.Join(lease.GroupConfig{Name: name})
			require.NoError(t, err)
			running.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				began := time.Now()
				assert.NoError(t, el.Run(ctx))
				assert.Equal(t, ends, time.Since(began)) // virtual
			})
			return el
		}
		join("last", 2*time.Minute, 2*time.Minute+time.Second)
		first := join("first", time.Minute+time.Second/2, time.Minute+time.Second)
		<-time.After(time.Minute)
		require.NoError(t, first.Resign(t.Context()))
		running.Wait()
	})
}

// Candidates are not woken for a lease that could not be released, because they cannot have it yet.
func TestNobodyIsWokenForALeaseThatWasNotReleased(t *testing.T) {
	play(t, func(s *stage) {
		waker := &bells{Store: new(mem.Store)}
		only := s.enter("only", func(c *settings) { c.Waker = waker })
		s.lead(only)
		only.conn.set(refusing(1 << 30))
		require.ErrorIs(t, only.Resign(context.Background()), errRefused)
		rung, _ := waker.heard()
		assert.Zero(t, rung)
		only.conn.set(nil)
		s.lead(only)
		require.NoError(t, only.Resign(context.Background()))
		s.pass(time.Second)
		rung, _ = waker.heard()
		assert.Equal(t, 1, rung)
	})
}

// Names may be given twice by mistake. No two processes take each other's leases for their own even then, because the rest of
// an identity is as random as a key.
func TestAnIdentityIsNotGuessed(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		k, err := lease.NewKeeper(lease.KeeperConfig{Self: "n", Store: new(mem.Store), Timing: timing})
		require.NoError(t, err)
		suffix, ok := strings.CutPrefix(k.Self(), "n#")
		assert.True(t, ok)
		assert.GreaterOrEqual(t, len(suffix), 26, "five bits in each character")
		ids[suffix] = true
	}
	assert.Len(t, ids, 2)
}
