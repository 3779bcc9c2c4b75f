// The cost of an election to the database, and its duration.

package lease_test

import (
	"context"
	"fmt"
	"strings"
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

// Followers and observers only read.
func TestFollowersOnlyRead(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", nil)
		s.lead(first)
		second := s.enter("second", nil)
		third := s.enter("third", func(c *settings) { c.Observer = true })
		s.pass(time.Minute)
		for _, c := range []*candidate{second, third} {
			assert.Equal(t, first.Status().Self, c.Status().Leader)
			reads := c.conn.count("read")
			assert.GreaterOrEqual(t, reads, 70)
			assert.LessOrEqual(t, reads, 90)
			assert.Empty(t, c.conn.count("acquire")+c.conn.count("renew")+c.conn.count("release"))
		}
		assert.Equal(t, memberstate.Follower, second.Status().Role)
		assert.Equal(t, memberstate.Observer, third.Status().Role)
		second.stop()
		<-second.ended
		first.stop()
		<-first.ended
		s.pass(time.Hour)
		assert.Empty(t, third.began)
		assert.Empty(t, third.Status().Leader)
	})
}

// A leader writes once in a renewal interval, and does not read.
func TestALeaderOnlyRenews(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		only.conn.count("read")
		s.pass(time.Minute)
		assert.InDelta(t, time.Minute/timing.Renew, only.conn.count("renew"), 5)
		assert.Zero(t, only.conn.count("read"))
	})
}

// When the lease of a crashed leader expires, hardly more than one of a hundred candidates
// writes.
func TestACrowdDoesNotStampede(t *testing.T) {
	for name, how := range map[string]struct {
		end   func(first *candidate)
		woken bool
	}{
		"crash":            {func(first *candidate) { first.crash() }, false},
		"release":          {func(first *candidate) { first.stop() }, false},
		"release, waiting": {func(first *candidate) { first.stop() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				change := func(c *settings) {
					if how.woken {
						c.Waker = s.store
					}
				}
				first := s.enter("first", change)
				s.lead(first)
				var crowd []*candidate
				for i := range 100 {
					c := s.enter(fmt.Sprint(i), change)
					c.conn.set(func(ctx context.Context, _ string, do func(context.Context) error) error {
						err := do(ctx)
						<-time.After(time.Millisecond) // a round trip
						return err
					})
					crowd = append(crowd, c)
				}
				s.pass(time.Minute)
				how.end(first)
				s.until("another leads", func() bool { return !first.leads() && s.serving() == 1 })
				claims := 0
				for _, c := range crowd {
					claims += c.conn.count("acquire")
				}
				assert.LessOrEqual(t, claims, 10)
			})
		})
	}
}

// keepMany runs a keeper with a number of leases, and returns a function that ends them.
func keepMany(t *testing.T, config lease.KeeperConfig, leases int) (end func(), all []*lease.Elector) {
	t.Helper()
	keeper, err := lease.NewKeeper(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, leases)
	for i := range leases {
		el, err := keeper.Join(lease.GroupConfig{Name: fmt.Sprint(i)})
		require.NoError(t, err)
		all = append(all, el)
		go func() { ended <- el.Run(ctx) }()
	}
	_, err = keeper.Join(lease.GroupConfig{Name: "0"})
	require.ErrorIs(t, err, elector.ErrGroupExists)
	require.ErrorContains(t, err, `group "0"`)
	end = sync.OnceFunc(func() {
		cancel()
		for range all {
			require.NoError(t, <-ended)
		}
	})
	t.Cleanup(end)
	return end, all
}

// All leases of a process are renewed by one statement and read by another.
func TestManyLeasesTakeOneStatement(t *testing.T) {
	const leases = 1000
	synctest.Test(t, func(t *testing.T) {
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		end, all := keepMany(t, lease.KeeperConfig{Self: "n", Store: c, Timing: timing}, leases)
		<-time.After(10 * time.Second)
		c.count("renew")
		c.count("read")
		<-time.After(time.Minute)
		synctest.Wait()
		assert.InDelta(t, time.Minute/timing.Renew, c.count("renew"), 5)
		assert.Zero(t, c.count("read"), "held leases are not read")
		for _, el := range all {
			require.Equal(t, memberstate.Leader, el.Status().Role)
			require.EqualValues(t, 1, el.Status().Term)
		}
		end()
		assert.Equal(t, leases, c.count("release"))
	})
}

// The size of a statement is bounded.
func TestAVeryLargeNumberOfLeasesIsLookedAtInParts(t *testing.T) {
	const leases, most = 10_001, 10_000
	synctest.Test(t, func(t *testing.T) {
		store := &widest{Store: new(mem.Store)}
		_, all := keepMany(t, lease.KeeperConfig{Self: "n", Store: store, Timing: timing}, leases)
		<-time.After(10 * time.Second)
		for _, el := range all {
			require.Equal(t, memberstate.Leader, el.Status().Role)
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		assert.Equal(t, most, store.read)
		assert.Equal(t, most, store.renewed)
	})
}

// widest remembers the largest number of leases in one call.
type widest struct {
	*mem.Store
	mu            sync.Mutex
	read, renewed int
}

func (s *widest) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	s.mu.Lock()
	s.read = max(s.read, len(names))
	s.mu.Unlock()
	return s.Store.Read(ctx, names)
}

func (s *widest) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	s.mu.Lock()
	s.renewed = max(s.renewed, len(held))
	s.mu.Unlock()
	return s.Store.Renew(ctx, holder, held)
}

// A keeper that releases very many leases at once releases all of them, a few at a time, and
// wakes others for each, because it may take as long as the leases last.
func TestManyLeasesAreAllReleased(t *testing.T) {
	const leases, took = 10_000, 2 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		c := &conn{Store: new(mem.Store), counts: map[string]int{}}
		end, all := keepMany(t, lease.KeeperConfig{Self: "n", Store: c, Waker: slow{c.Store.(*mem.Store)}, Timing: timing}, leases)
		<-time.After(10 * time.Second)
		c.set(func(ctx context.Context, op string, do func(context.Context) error) error {
			if op == "release" {
				<-time.After(took)
			}
			return do(ctx)
		})
		end()
		names := make([]string, len(all))
		for i := range all {
			names[i] = fmt.Sprint(i)
		}
		found, err := c.Store.Read(t.Context(), names)
		require.NoError(t, err)
		released := 0
		for _, r := range found {
			if r.Released {
				released++
			}
		}
		assert.Equal(t, leases, released)
	})
}

// slow is a waker that takes longer than a release.
type slow struct{ lease.Waker }

func (s slow) Wake(ctx context.Context, name string) error {
	select {
	case <-time.After(10 * time.Millisecond):
		return s.Waker.Wake(ctx, name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A release hands over at once if candidates can be woken.
func TestAReleaseHandsOverAtOnce(t *testing.T) {
	play(t, func(s *stage) {
		waker := func(c *settings) { c.Waker = s.store }
		first := s.enter("first", waker)
		s.lead(first)
		second := s.enter("second", waker)
		s.pass(time.Minute)
		require.NoError(t, first.Resign(context.Background()))
		assert.LessOrEqual(t, s.lead(second), 25*time.Millisecond)
	})
}

// Many releases in quick succession do not delay the look at the first lease.
func TestAStreamOfWakesPostponesNoLook(t *testing.T) {
	const every, releases = 5 * time.Millisecond, 100
	synctest.Test(t, func(t *testing.T) {
		store := new(mem.Store)
		for i := range releases {
			won, err := store.Acquire(t.Context(), lease.Claim{Name: fmt.Sprint(i), Holder: "other#1", TTL: time.Hour})
			require.NoError(t, err)
			require.True(t, won)
		}
		_, all := keepMany(t, lease.KeeperConfig{Self: "n", Store: store, Timing: timing}, releases)
		<-time.After(10 * time.Second)
		most := timing.Poll / 8
		for i := range releases {
			require.NoError(t, store.Release(t.Context(), "other#1", lease.Held{Name: fmt.Sprint(i), Term: 1}))
			require.NoError(t, store.Wake(t.Context(), fmt.Sprint(i)))
			<-time.After(every)
			if ripe := i - int(most/every); ripe >= 0 {
				require.Equal(t, memberstate.Leader, all[ripe].Status().Role, "lease %d of those that were released", ripe)
			}
		}
	})
}

// A storm of wake-ups, even false ones, causes no storm of reads. A candidate that is woken
// after it looks at once.
func TestAStormOfWakesIsNoStormOfReads(t *testing.T) {
	play(t, func(s *stage) {
		waker := func(c *settings) { c.Waker = s.store }
		first := s.enter("first", waker)
		s.lead(first)
		second := s.enter("second", waker)
		s.pass(time.Minute)
		second.conn.count("read")
		for range 60_000 {
			require.NoError(t, s.store.Wake(context.Background(), "g"))
			s.pass(time.Millisecond)
		}
		assert.LessOrEqual(t, second.conn.count("read"), 60*(8+2))
		s.pass(timing.Poll)
		require.NoError(t, first.Resign(context.Background()))
		assert.LessOrEqual(t, s.lead(second), 25*time.Millisecond)
	})
}

// If candidates cannot be woken, they notice a release at their next poll.
func TestAReleaseIsFoundAtTheNextPoll(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		second := s.enter("second", change)
		s.pass(time.Minute)
		require.NoError(s.t, first.Resign(context.Background()))
		assert.LessOrEqual(s.t, s.lead(second), timing.Poll+watched)
	})
}

// An operator names the next leader. The old one learns of it by its next renewal, and has left
// office before the heir takes it.
func TestALeaderIsForced(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		for i := range 10 {
			s.enter(fmt.Sprint(i), change)
		}
		heir := s.enter("heir", change)
		s.pass(time.Minute)
		require.NoError(s.t, s.store.Force(context.Background(), "g", "heir"))
		assert.LessOrEqual(s.t, s.lead(heir), timing.Renew+timing.Poll+watched)
		assert.Equal(s.t, []memberstate.Term{3}, heir.began)
		assert.Empty(s.t, s.record().Heir)
	})
}

// The heir is woken when the old leader has released the lease.
func TestAnHeirThatIsWokenLeadsAtOnce(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		waker := func(c *settings) {
			change(c)
			c.Waker = s.store
		}
		leader, heir := s.enter("a", waker), s.enter("b", waker)
		s.pass(time.Minute)
		if heir.leads() {
			leader, heir = heir, leader
		}
		for range 10 { // because a poll may come just then
			self, _, _ := strings.Cut(heir.Status().Self, "#")
			require.NoError(s.t, s.store.Force(context.Background(), "g", self))
			s.until("the office ends", func() bool { return !leader.leads() })
			assert.LessOrEqual(s.t, s.lead(heir), 25*time.Millisecond)
			s.pass(time.Minute)
			leader, heir = heir, leader
		}
	})
}

// Neither an heir that does not come nor an old leader that cannot be reached delays others for
// long.
func TestAnHeirThatDoesNotComeIsPassedOver(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		second := s.enter("second", change)
		s.pass(time.Minute)
		first.crash()
		require.NoError(s.t, s.store.Force(context.Background(), "g", "nobody"))
		assert.LessOrEqual(s.t, s.lead(second), 2*timing.TTL+2*timing.Poll)
	})
}
