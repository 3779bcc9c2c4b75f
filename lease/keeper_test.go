package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

// A keeper stops working with its last lease, and begins again with the next one;
// a name that has ended can be joined anew.
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
