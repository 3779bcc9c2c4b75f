// Candidates for leases in one store, in virtual time, each with a connection of
// its own that can be made to misbehave.

package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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

// conn is a candidate's connection to the database.
type conn struct {
	lease.Store
	mu     sync.Mutex
	counts map[string]int
	fault  fault // nil: none
}

// fault makes a call, or fails in some way.
type fault func(ctx context.Context, op string, do func(context.Context) error) error

func (c *conn) call(ctx context.Context, op string, do func(context.Context) error) error {
	c.mu.Lock()
	c.counts[op]++
	f := c.fault
	c.mu.Unlock()
	if f != nil {
		return f(ctx, op, do)
	}
	return do(ctx)
}

func (c *conn) set(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// swap leads the connection to another database from now on.
func (c *conn) swap(to lease.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Store = to
}

// count returns the number of calls of an operation since the last count of it.
func (c *conn) count(op string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts[op]
	c.counts[op] = 0
	return n
}

// through makes a call that returns a value, through the fault, which may make it several times.
func through[T any](ctx context.Context, c *conn, op string, do func(context.Context) (T, error)) (T, error) {
	var mu sync.Mutex
	var value T
	err := c.call(ctx, op, func(ctx context.Context) error {
		v, err := do(ctx)
		mu.Lock()
		defer mu.Unlock()
		value = v
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	return value, err
}

func (c *conn) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	return through(ctx, c, "read", func(ctx context.Context) ([]lease.Record, error) { return c.Store.Read(ctx, names) })
}

func (c *conn) Acquire(ctx context.Context, claim lease.Claim) (bool, error) {
	return through(ctx, c, "acquire", func(ctx context.Context) (bool, error) { return c.Store.Acquire(ctx, claim) })
}

func (c *conn) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	return through(ctx, c, "renew", func(ctx context.Context) ([]string, error) { return c.Store.Renew(ctx, holder, held) })
}

func (c *conn) Release(ctx context.Context, holder string, held lease.Held) error {
	return c.call(ctx, "release", func(ctx context.Context) error { return c.Store.Release(ctx, holder, held) })
}

// cut is a network that is down.
func cut(context.Context, string, func(context.Context) error) error {
	return errors.New("the network is down")
}

// stage is a database with its candidates.
type stage struct {
	t      *testing.T
	store  *mem.Store
	mu     sync.Mutex
	inside map[string]memberstate.Term // the candidates that serve
	all    []*candidate
}

type candidate struct {
	*lease.Elector
	conn  *conn
	began []memberstate.Term // guarded by the stage's mu
	stop  context.CancelFunc
	ended chan struct{}
}

// playBoth runs a test twice: with candidates that use the database's clock, and with strict
// ones. change sets this in a configuration.
func playBoth(t *testing.T, test func(s *stage, change func(*settings))) {
	t.Helper()
	for name, strict := range map[string]bool{"by the database's clock": false, "strict": true} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				test(s, func(c *settings) { c.Strict = strict })
			})
		})
	}
}

// play runs a test in a bubble, and stops the candidates at its end.
func play(t *testing.T, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, store: new(mem.Store), inside: map[string]memberstate.Term{}}
		defer func() {
			for _, c := range s.all {
				c.stop()
			}
			for _, c := range s.all {
				<-c.ended
			}
			s.pass(2 * timing.TTL) // until all messages have arrived
		}()
		test(s)
	})
}

// settings are the whole configuration of a candidate for one lease.
type settings struct {
	lease.KeeperConfig
	lease.GroupConfig
}

// enter runs a candidate.
func (s *stage) enter(self string, change func(*settings)) *candidate {
	s.t.Helper()
	c := &candidate{conn: &conn{Store: s.store, counts: map[string]int{}}, ended: make(chan struct{})}
	config := settings{
		lease.KeeperConfig{Self: self, Store: c.conn, Timing: lease.DefaultTiming(), Logger: silence}, lease.GroupConfig{Name: "g"},
	}
	config.Lead = func(ctx context.Context, term memberstate.Term) error {
		s.begin(c, term)
		<-ctx.Done()
		s.end(c)
		return nil
	}
	if change != nil {
		change(&config)
	}
	el, err := lease.New(config.KeeperConfig, config.GroupConfig)
	require.NoError(s.t, err)
	c.Elector = el
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	s.all = append(s.all, c)
	go func() {
		defer close(c.ended)
		assert.NoError(s.t, el.Run(ctx))
	}()
	return c
}

// begin and end record the candidates in office, and fail the test if there are two.
func (s *stage) begin(c *candidate, term memberstate.Term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Empty(s.t, s.inside, "another candidate is in office")
	s.inside[c.Status().Self] = term
	c.began = append(c.began, term)
}

func (s *stage) end(c *candidate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inside, c.Status().Self)
}

func (s *stage) serving() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inside)
}

func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// watched is the interval at which conditions are checked.
const watched = 5 * time.Millisecond

// until lets time pass until a condition holds, and returns how long that took.
func (s *stage) until(what string, holds func() bool) time.Duration {
	s.t.Helper()
	begin := time.Now()
	for !holds() {
		require.Less(s.t, time.Since(begin), time.Hour, what)
		s.pass(watched)
	}
	return time.Since(begin)
}

func (c *candidate) leads() bool { return c.Status().Role == memberstate.Leader }

// lead waits until a candidate leads.
func (s *stage) lead(c *candidate) time.Duration {
	s.t.Helper()
	return s.until(c.Status().Self+" leads", c.leads)
}

// record returns the record in the database.
func (s *stage) record() lease.Record {
	s.t.Helper()
	found, err := s.store.Read(context.Background(), []string{"g"})
	require.NoError(s.t, err)
	require.Len(s.t, found, 1)
	return found[0]
}

var timing = lease.DefaultTiming()

// silence is a logger without output.
var silence = slog.New(slog.DiscardHandler)

// crash cuts a candidate off for good, as far as the database can tell.
func (c *candidate) crash() { c.conn.set(cut) }

var _ elector.Election = (*candidate)(nil)
