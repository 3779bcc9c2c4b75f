package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Contests without a server are tested in virtual time.

func TestACrashedLeaderIsReplacedWithinATTLAndAPoll(t *testing.T) {
	for s, most := range map[*side]time.Duration{
		new(inMemory(false)): brief.ttl + brief.renew, new(inMemory(true)): brief.ttl + 2*brief.renew, new(clientGo()): brief.ttl + 5*brief.renew,
	} {
		t.Run(s.name, func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) {
					took, err := takeover(t.Context(), *s, brief, (*candidate).crashes)
					require.NoError(t, err)
					assert.LessOrEqual(t, took, most)
					assert.GreaterOrEqual(t, took, brief.ttl/4)
				})
			}
		})
	}
}

func TestALeaderThatLeavesIsReplacedAtTheNextPoll(t *testing.T) {
	for s, most := range map[*side]time.Duration{new(inMemory(false)): brief.renew, new(clientGo()): 3 * brief.renew} {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, err := takeover(t.Context(), *s, brief, (*candidate).leaves)
				require.NoError(t, err)
				assert.LessOrEqual(t, took, most)
			})
		})
	}
}

// The peer's overlaps show that the measurement works.
func TestFaultsMakeThePeerOverlapAndNotUs(t *testing.T) {
	for _, f := range []fault{lateAnswer, driverHangs} {
		t.Run(f.name, func(t *testing.T) {
			for range 10 {
				synctest.Test(t, func(t *testing.T) {
					ours, err := f.overlap(t.Context(), inMemory(false))
					require.NoError(t, err)
					assert.Zero(t, ours)
					peers, err := f.overlap(t.Context(), clientGo())
					require.NoError(t, err)
					assert.Greater(t, peers, brief.ttl/2)
				})
			}
		})
	}
}

func TestFollowersCauseNoWrites(t *testing.T) {
	for _, s := range []side{inMemory(false), clientGo()} {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, err := idle(t.Context(), s, time.Minute)
				require.NoError(t, err)
				assert.InDelta(t, 120, asked[first].writes, 10)
				assert.Zero(t, asked[first].reads)
				assert.Zero(t, asked[second].writes)
				assert.Positive(t, asked[second].reads)
			})
		})
	}
}

func TestAChangeOfLeadersFailsTheMeasurementOfIdleCandidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flawed := inMemory(false)
		found := flawed.found
		flawed.found = func() (enter, error) {
			in, err := found()
			return func(ctx context.Context, e entry) (*candidate, error) {
				c, err := in(ctx, e)
				if err == nil && e.number == first {
					time.AfterFunc(10*brief.ttl, c.stall)
				}
				return c, err
			}, err
		}
		_, err := idle(t.Context(), flawed, time.Minute)
		require.ErrorContains(t, err, "the leader has changed")
	})
}

func TestAllLeasesOfAHolderAreRenewed(t *testing.T) {
	for name, h := range map[string]hold{"ours": holdOurs, "peer": holdTheirs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := renewing(t.Context(), h, 50, crowd, time.Minute)
				require.NoError(t, err)
			})
		})
	}
}

func TestTheServerOfThePeerKeepsVersionsApart(t *testing.T) {
	k := new(kubernetes)
	one, other := k.lock("l", "one", newLink(false)), k.lock("l", "other", newLink(false))
	_, _, err := one.Get(t.Context())
	require.True(t, errors.IsNotFound(err), err)
	require.NoError(t, one.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one"}))
	require.True(t, errors.IsConflict(other.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "other"})))
	seen, _, err := other.Get(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "one", seen.HolderIdentity)
	require.NoError(t, one.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one", RenewTime: meta.Now()}))
	require.True(t, errors.IsConflict(other.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "other"})), "an update of an old version is refused")
	require.NoError(t, one.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one"}), "it knows its own version")
}

func TestSectionsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sections(new(server)) {
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		assert.NotEmpty(t, s.Title, s.Name)
		assert.NotEmpty(t, s.Configured, s.Name)
	}
}
