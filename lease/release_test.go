// Releases that fail.

package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/memberstate"
)

var errRefused = errors.New("the database is shutting down")

// refusing is a database that refuses a number of releases.
func refusing(releases int) fault {
	return func(ctx context.Context, op string, do func(context.Context) error) error {
		if op == "release" && releases > 0 {
			releases--
			return errRefused
		}
		return do(ctx)
	}
}

// A release that fails is repeated, so that others need not wait until the lease expires, whether
// its holder resigns or leaves.
func TestAReleaseThatFailsIsTriedAgain(t *testing.T) {
	for name, end := range map[string]func(first *candidate) error{
		"resigns": func(first *candidate) error { return first.Resign(context.Background()) },
		"leaves": func(first *candidate) error {
			first.stop()
			<-first.ended
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			playBoth(t, func(s *stage, change func(*settings)) {
				first := s.enter("first", change)
				s.lead(first)
				second := s.enter("second", change)
				s.pass(time.Minute)
				first.conn.set(refusing(3))
				require.NoError(s.t, end(first))
				assert.Equal(s.t, 4, first.conn.count("release"))
				assert.True(s.t, s.record().Released || second.leads())
				assert.LessOrEqual(s.t, s.lead(second), timing.Poll+watched)
			})
		})
	}
}

// Resign returns the error of a release that fails until the lease has expired. The holder still
// leaves the lease to others.
func TestAResignationThatReleasesNothingSaysSo(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		second := s.enter("second", change)
		s.pass(time.Minute)
		first.conn.set(refusing(1 << 30))
		began := time.Now()
		assert.ErrorIs(s.t, first.Resign(context.Background()), errRefused)
		assert.False(s.t, first.leads())
		assert.LessOrEqual(s.t, time.Since(began), timing.TTL)
		tries := first.conn.count("release")
		assert.Greater(s.t, tries, 5)
		assert.Less(s.t, tries, 30, "it does not back off")
		s.lead(second)
		assert.LessOrEqual(s.t, time.Since(began), timing.TTL+2*timing.Poll+watched)
		assert.Equal(s.t, []memberstate.Term{1}, first.began)
		assert.Equal(s.t, []memberstate.Term{2}, second.began)
	})
}

// leavesSlowly has Lead return a second after its context has ended.
func leavesSlowly(c *settings) {
	c.Lead = func(ctx context.Context, _ memberstate.Term) error {
		<-ctx.Done()
		<-time.After(time.Second)
		return nil
	}
}

// A resignation is answered when the lease is released, even if the candidate is leaving already: an operator waits for
// that, so that another one can lead.
func TestAResignationOfACandidateThatLeavesWaitsForTheRelease(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", leavesSlowly)
		s.lead(only)
		only.stop()
		s.pass(time.Second / 2)
		require.False(t, s.record().Released)
		require.NoError(t, only.Resign(context.Background()))
		assert.True(t, s.record().Released)
	})
}

// A lease that could not be released, and lasts longer because renewals arrive late, is taken by
// others when it expires.
func TestALeaseThatCouldNotBeReleasedIsLeftToOthers(t *testing.T) {
	play(t, func(s *stage) {
		first := s.enter("first", nil)
		s.lead(first)
		second := s.enter("second", nil)
		s.pass(time.Minute)
		held := lease.Held{Name: "g", Term: 1}
		first.conn.set(refusing(1 << 30))
		require.ErrorIs(t, first.Resign(context.Background()), errRefused)
		for range 20 { // renewals that were sent before
			_, err := s.store.Renew(context.Background(), first.Status().Self, []lease.Held{held})
			require.NoError(t, err)
			s.pass(time.Second)
		}
		s.lead(second)
		assert.Len(t, first.began, 1)
	})
}

// A lone holder leads again when the lease that it could not release has expired.
func TestALoneHolderLeadsAgain(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		only := s.enter("only", change)
		s.lead(only)
		only.conn.set(refusing(1 << 30))
		require.ErrorIs(s.t, only.Resign(context.Background()), errRefused)
		assert.LessOrEqual(s.t, s.lead(only), timing.TTL+4*timing.Poll)
		assert.Equal(s.t, []memberstate.Term{1, 2}, only.began)
	})
}

// The waits between attempts begin anew with every office, however often the last release failed.
func TestEveryReleaseBeginsAnew(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", nil)
		s.lead(only)
		only.conn.set(refusing(1 << 30))
		require.ErrorIs(t, only.Resign(context.Background()), errRefused)
		only.conn.set(nil)
		s.lead(only)
		only.conn.set(refusing(1))
		began := time.Now()
		require.NoError(t, only.Resign(context.Background()))
		assert.LessOrEqual(t, time.Since(began), timing.Renew/16) // virtual
	})
}

// A context says how long Resign waits, and not whether the lease is given up: also one that has ended before.
func TestAResignationForWhichNobodyWaitsGivesUpTheLease(t *testing.T) {
	play(t, func(s *stage) {
		only := s.enter("only", leavesSlowly)
		s.lead(only)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, only.Resign(ctx), context.Canceled)
		assert.False(t, only.leads())
		s.pass(time.Second + watched)
		assert.True(t, s.record().Released)
	})
}
