// Guarantees about offices for operators and engines.

package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// After the old leader's TTL an heir has a TTL for itself: it may come late, and no other
// candidate takes the lease before. A strict heir has to watch the lease for a TTL itself.
func TestAnHeirHasATTLForItself(t *testing.T) {
	playBoth(t, func(s *stage, change func(*settings)) {
		first := s.enter("first", change)
		s.lead(first)
		others := []*candidate{s.enter("second", change), s.enter("third", change)}
		s.pass(time.Minute)
		first.crash()
		require.NoError(s.t, s.store.Force(context.Background(), "g", "heir"))
		var as settings
		change(&as)
		if s.pass(timing.TTL / 2); !as.Strict {
			s.pass(timing.TTL)
		}
		heir := s.enter("heir", change)
		s.lead(heir)
		assert.Equal(s.t, []memberstate.Term{3}, heir.began)
		for _, other := range others {
			assert.Empty(s.t, other.began)
		}
	})
}

// Once the context of Lead has ended, Lease returns none, although the lease has not expired:
// whether its holder resigns or leaves. A holder that resigned stands back even if it is alone.
func TestALeaseThatIsGivenUpIsNotShown(t *testing.T) {
	for name, end := range map[string]func(*candidate) error{
		"resigns": func(c *candidate) error { return c.Resign(context.Background()) },
		"leaves": func(c *candidate) error {
			c.stop()
			<-c.ended
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *stage) {
				var shown atomic.Bool
				var c *candidate
				c = s.enter("c", func(config *settings) {
					config.Lead = func(ctx context.Context, _ memberstate.Term) error {
						for range 5000 { // the end of a context takes longer, the more there are that end with it
							context.AfterFunc(ctx, func() {})
						}
						<-ctx.Done()
						_, _, held := c.Lease()
						shown.Store(shown.Load() || held)
						return nil
					}
				})
				s.lead(c)
				_, _, held := c.Lease()
				require.True(s.t, held)
				began := time.Now()
				require.NoError(s.t, end(c))
				assert.Zero(s.t, time.Since(began))
				assert.False(s.t, shown.Load())
				_, _, held = c.Lease()
				assert.False(s.t, held)
				assert.NotEqual(s.t, memberstate.Leader, c.Status().Role)
				if name == "resigns" {
					assert.GreaterOrEqual(s.t, s.lead(c), 2*timing.Poll)
				}
			})
		})
	}
}
