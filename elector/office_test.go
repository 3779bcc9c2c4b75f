// The office and the lease that bounds it, where one ends as the other begins.

package elector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The one who watches the lease has found no office to close, for it was not open yet.
func TestNobodyIsCalledToLeadUnderALeaseThatRunsOutAsTheOfficeOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const until = time.Second
		h, e := neverLeads(t)
		e.extras.Load().lease.Store(office.NewLease(1, until))
		looked := false
		h.clock = func() time.Time { // it was held when the session looked, and is not now
			looked = true
			return h.epoch.Add(until)
		}
		(*engine)(e).Lead(1)
		require.True(t, looked, "its turn was there")
		synctest.Wait()
		require.Nil(t, e.extras.Load().office.Load(), "it has come back")
	})
}

// Whoever watches the lease finds the office as soon as anybody has looked at the lease for it.
func TestALeaseThatRunsOutAfterItWasLookedAtFindsTheOffice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, e := neverLeads(t)
		l := office.NewLease(1, time.Second)
		e.extras.Load().lease.Store(l)
		h.clock = func() time.Time { // it is held now, and runs out before anything else is done
			(*engine)(e).lapse(l)
			return h.epoch
		}
		(*engine)(e).Lead(1)
		synctest.Wait()
	})
}

// neverLeads is an elector with leases that has not started, and must not be called to lead.
func neverLeads(t *testing.T) (*Host, *Elector) {
	t.Helper()
	h, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	e, err := h.Join(GroupConfig{
		Group: "g", Members: memberstate.Voters("n0"), Timing: DefaultTiming(), Leases: true,
		LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		Lead: func(context.Context, memberstate.Term) error {
			t.Error("it is called to lead")
			return nil
		},
	})
	require.NoError(t, err)
	return h, e
}
