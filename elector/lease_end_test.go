package elector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A lease that was given back, for a handover that failed, ends no office when its time is up: the
// leader leads on in the same term, under another lease. One that was not given back does.
func TestOnlyALeaseThatIsHeldEndsTheOffice(t *testing.T) {
	for _, givenBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			host, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
			require.NoError(t, err)
			el, err := host.Join(GroupConfig{
				Group: "g", Members: memberstate.Voters("n0", "n1"), Timing: DefaultTiming(), Leases: true,
				LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
			})
			require.NoError(t, err)
			e, o := (*engine)(el), office.Open(el.group.Term)
			el.ensureExtras().office.Store(o)
			defer o.Close()
			e.Hold(host.elapsed() + time.Second)
			if givenBack {
				e.Hold(0)
				e.Hold(host.elapsed() + time.Hour)
			}
			<-time.After(time.Minute)
			synctest.Wait()
			serves := false
			_, _ = o.Serve(func(context.Context, memberstate.Term) error { serves = true; return nil })
			assert.Equal(t, givenBack, serves)
			e.Hold(0)
		})
	}
}

// A lease may run out when its term is over already, and the next one has begun.
func TestALeaseEndsTheOfficeOfItsTermAlone(t *testing.T) {
	host, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	el, err := host.Join(GroupConfig{
		Group: "g", Members: memberstate.Voters("n0", "n1"), Timing: DefaultTiming(), Leases: true,
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
	})
	require.NoError(t, err)
	for _, of := range []memberstate.Term{1, 2} {
		o := office.Open(2)
		el.ensureExtras().office.Store(o)
		(*engine)(el).lapse(office.NewLease(of, time.Second))
		serves := false
		_, _ = o.Serve(func(context.Context, memberstate.Term) error { serves = true; return nil })
		assert.Equal(t, of != 2, serves, "a lease of term %d", of)
	}
}
