package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// notes is a logger that counts lines by their text.
type notes struct {
	mu     sync.Mutex
	counts map[string]int
	levels map[slog.Level]int
}

func newNotes() *notes { return &notes{counts: map[string]int{}, levels: map[slog.Level]int{}} }

func (n *notes) Enabled(context.Context, slog.Level) bool { return true }
func (n *notes) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n *notes) WithGroup(string) slog.Handler            { return n }

func (n *notes) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counts[r.Message]++
	n.levels[r.Level]++
	return nil
}

// counted returns the counts so far.
func (n *notes) counted() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.counts)
}

// A database that is down, or fails every other call, is reported at once and then ever more
// rarely. That it works again is reported once.
func TestADatabaseThatIsDownIsToldEverMoreRarely(t *testing.T) {
	for name, works := range map[string]int{"down": 0, "now and then": 2} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				n := newNotes()
				change := func(c *settings) { c.Logger = slog.New(n) }
				first := s.enter("first", change)
				s.lead(first)
				second := s.enter("second", change)
				s.pass(time.Minute)
				assert.Empty(t, n.levels[slog.LevelWarn])
				for _, c := range []*candidate{first, second} {
					calls := 0
					c.conn.set(func(ctx context.Context, _ string, do func(context.Context) error) error {
						if calls++; works > 0 && calls%works == 0 {
							return do(ctx)
						}
						return errors.New("too many connections")
					})
				}
				s.pass(timing.Renew)
				for _, text := range []string{"leases could not be read", "leases were not renewed"} {
					assert.Equal(t, 1, n.counted()[text], "it is not told at once: %s", text)
				}
				s.pass(time.Hour)
				for _, c := range []*candidate{first, second} {
					c.conn.set(nil)
				}
				s.pass(time.Minute)
				told := n.counted()
				for _, text := range []string{"leases could not be read", "leases were not renewed"} {
					assert.LessOrEqual(t, told[text], 2*20, text) // both have a keeper of their own
				}
				assert.Greater(t, told["leases could not be read"], 5)
				assert.Positive(t, told["leases can be read again"])
				assert.LessOrEqual(t, told["leases can be read again"], told["leases could not be read"])
				s.pass(time.Hour)
				assert.Equal(t, told, n.counted(), "nothing more is logged")
			})
		})
	}
}

// That the database has forgotten terms is logged once, with the remedy, and once more if it
// happens again.
func TestForgottenTermsAreToldOnce(t *testing.T) {
	play(t, func(s *stage) {
		n := newNotes()
		c := s.enter("only", func(c *settings) { c.Logger = slog.New(n) })
		s.lead(c)
		for told := 1; told <= 2; told++ {
			full, empty := c.conn.Store, new(mem.Store)
			c.conn.swap(empty)
			s.pass(time.Hour)
			assert.Equal(t, told, n.levels[slog.LevelError])
			assert.False(t, c.leads())
			c.conn.swap(full)
			s.lead(c)
		}
	})
}

// Without a logger only failures are logged, by the default one.
func TestWithoutALoggerOnlyFailuresAreLogged(t *testing.T) {
	n, before := newNotes(), slog.Default()
	slog.SetDefault(slog.New(n))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		el, err := lease.New(lease.KeeperConfig{Self: "n", Store: c, Timing: timing}, lease.GroupConfig{Name: "g"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(30*time.Second, func() { c.set(cut) })
		require.NoError(t, el.Run(ctx))
	})
	told := n.counted()
	assert.Positive(t, told["leases were not renewed"])
	assert.Positive(t, told["lost the lease"])
	assert.NotContains(t, told, "role")
	assert.Empty(t, n.levels[slog.LevelInfo])
}
