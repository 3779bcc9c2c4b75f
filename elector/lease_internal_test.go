// Lead and the lease that bounds it, when one ends as the other begins.

package elector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// leasing is an elector with leases that has not started, and its host.
func leasing(t *testing.T, lead func(context.Context, memberstate.Term) error) (*Host, *Elector) {
	t.Helper()
	h := IsolatedHost(t, new(memberstate.MemStore))
	config := GroupOf("g", "n0", "n1")
	config.Leases, config.Lead = true, lead
	return h, MustJoin(t, h, config)
}

// neverLeads is a leasing elector whose Lead must not be called.
func neverLeads(t *testing.T) (*Host, *Elector) {
	t.Helper()
	return leasing(t, func(context.Context, memberstate.Term) error {
		t.Error("Lead was called")
		return nil
	})
}

// isOpen says whether an office calls Lead.
func isOpen(o *office.Office) (called bool) {
	_, _ = o.Serve(func(context.Context, memberstate.Term) error { called = true; return nil })
	return called
}

// After a handover that failed, the leader leads on in the same term with a new lease. The lease
// that it gave back must not end the office when its time is up; one that it did not give back must.
func TestOnlyALeaseThatIsHeldEndsTheOffice(t *testing.T) {
	for _, givenBack := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			host, el := leasing(t, nil)
			e, o := (*engine)(el), office.Open(el.group.State().Term)
			el.ensureExtras().office.Store(o)
			defer o.Close()
			e.Hold(host.elapsed() + time.Second)
			if givenBack {
				e.Hold(0)
				e.Hold(host.elapsed() + time.Hour)
			}
			<-time.After(time.Minute)
			synctest.Wait()
			assert.Equal(t, givenBack, isOpen(o))
			e.Hold(0)
		})
	}
}

// A lease may run out after its term is over and the next one has begun.
func TestALeaseEndsTheOfficeOfItsTermAlone(t *testing.T) {
	_, el := leasing(t, nil)
	for _, of := range []memberstate.Term{1, 2} {
		o := office.Open(2)
		el.ensureExtras().office.Store(o)
		(*engine)(el).lapse(office.NewLease(of, time.Second))
		assert.Equal(t, of != 2, isOpen(o), "a lease of term %d", of)
	}
}

// So may one that groups share.
func TestASharedLeaseEndsTheOfficeOfItsTermAlone(t *testing.T) {
	for _, of := range []memberstate.Term{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			const until, number = time.Second, 7
			h, el := neverLeads(t)
			e, x, l := (*engine)(el), el.ensureExtras(), office.NewLease(of, until)
			l.Watch(h.elapsed, func() {})
			x.lease.Store(l)
			h.shared[number] = office.NewShared(until, h.elapsed, func() {})
			e.Share(number)
			o := office.Open(2)
			x.office.Store(o)
			<-time.After(until)
			synctest.Wait()
			assert.Equal(t, of != 2, isOpen(o), "a lease of term %d", of)
			l.End()
			h.shared[number].End()
		})
	}
}

// The timer of the lease found no office to close, because the office was not open yet.
func TestLeadIsNotCalledUnderALeaseThatRunsOutAsTheOfficeOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const until = time.Second
		h, e := neverLeads(t)
		e.extras.Load().lease.Store(office.NewLease(1, until))
		looked := false
		h.clock = func() time.Time { // the lease was held when the session looked, and is not now
			looked = true
			return h.epoch.Add(until)
		}
		(*engine)(e).Lead(1)
		require.True(t, looked, "the lease was not checked")
		synctest.Wait()
		require.Nil(t, e.extras.Load().office.Load(), "the office was not removed")
	})
}

// The office must be there before Lead checks the lease, so that a lease that runs out after the
// check finds it.
func TestALeaseThatRunsOutAfterTheCheckFindsTheOffice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, e := neverLeads(t)
		l := office.NewLease(1, time.Second)
		e.extras.Load().lease.Store(l)
		h.clock = func() time.Time { // the lease is held now, and runs out right after the check
			(*engine)(e).lapse(l)
			return h.epoch
		}
		(*engine)(e).Lead(1)
		synctest.Wait()
	})
}

// The timer that ends the lease may be late, as on an overloaded machine.
func TestALeaseIsNotReturnedAfterItsEndByALateTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, el := leasing(t, nil)
		e, late := (*engine)(el), time.Duration(0)
		h.clock = func() time.Time { return time.Now().Add(late) }
		e.Hold(h.elapsed() + time.Second)
		late = time.Second - 1
		_, until, held := el.Lease()
		assert.True(t, held)
		assert.Equal(t, time.Second, time.Until(until))
		late++
		_, _, held = el.Lease()
		assert.False(t, held)
		e.Hold(0)
	})
}

// A turn may come before the timer of a lease that has run out, and the others may have elected by then. The turn's time counts, whatever
// has been promised since.
func TestALeaseThatHasRunOutIsNotExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, el := leasing(t, nil)
		e, at := (*engine)(el), time.Duration(0)
		h.clock = func() time.Time { return h.epoch.Add(at) } // no timer fires
		e.Hold(time.Second)
		at, h.now = time.Second, time.Second
		e.Hold(2 * time.Second)
		_, _, held := el.Lease()
		assert.False(t, held)
		e.Hold(0)
	})
}

// Whoever finds that a lease is over wakes its timer, so the lease is shown once the timer is there.
func TestALeaseIsShownOnceItsTimerIsThere(t *testing.T) {
	h, el := leasing(t, nil)
	looked := false
	h.clock = func() time.Time { // the timer is being set
		looked = true
		assert.Nil(t, el.extras.Load().lease.Load())
		return h.epoch
	}
	e := (*engine)(el)
	e.Hold(time.Hour)
	assert.True(t, looked)
	assert.NotNil(t, el.extras.Load().lease.Load())
	e.Hold(0)
}

// The member may have moved on to a later term by the time at which Lease returns.
func TestALeaseIsReturnedWithItsOwnTerm(t *testing.T) {
	h, el := leasing(t, nil)
	h.clock = func() time.Time {
		el.view.Store(&numberedView{View: protocol.View{Term: 4}})
		return h.epoch
	}
	el.ensureExtras().lease.Store(office.NewLease(3, time.Second))
	term, _, held := el.Lease()
	assert.True(t, held)
	assert.EqualValues(t, 3, term)
}

// A Lead that returns after EndLead has not returned early. The loop receives its error in both
// cases.
func TestALeadReturnsEarlyOnlyBeforeEndLead(t *testing.T) {
	for _, ended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h, el := leasing(t, func(ctx context.Context, _ memberstate.Term) error {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				return assert.AnError
			})
			h.intake.Enter(&el.group, 0, nil) // no loop runs, so requests stay in the intake
			(*engine)(el).Lead(3)
			synctest.Wait()
			if ended {
				(*engine)(el).EndLead(3)
			}
			<-time.After(time.Hour)
			returned := 0
			h.take()
			h.batch.Drain(nil, func(*protocol.Group, *rpc.Message) {}, func(r *protocol.Request) {
				if r.Kind != protocol.TellLeadReturned {
					return
				}
				returned++
				assert.EqualValues(t, 3, r.Term)
				assert.Equal(t, !ended, r.Early)
				assert.Equal(t, assert.AnError, r.Err)
			})
			assert.Equal(t, 1, returned)
		})
	}
}

// Two appends may be heard concurrently, and rememberTerm be called for the smaller term last. The
// ledger may still end in the larger term.
func TestTheLargestHeardTermIsRemembered(t *testing.T) {
	_, el := leasing(t, nil)
	for _, term := range []memberstate.Term{1, 2, 1} {
		el.rememberTerm(term)
	}
	assert.EqualValues(t, 2, el.ensureExtras().heardTerm.Load())
}

// Cohorts of groups come and go for as long as the process runs.
func TestASharedLeaseThatHasEndedIsForgotten(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	e := beatEdge{host: h}
	e.HoldShared(7, time.Hour)
	assert.Len(t, h.shared, 1)
	e.HoldShared(7, 0)
	assert.Empty(t, h.shared)
}

// A lease that has ended has not run out. The next one may have its number, and would be taken for over.
func TestASharedLeaseThatHasEndedDoesNotRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ended := range []bool{false, true} {
			h, _ := withoutLoop(t)
			e := beatEdge{host: h}
			e.HoldShared(7, time.Second)
			e.HoldShared(8, time.Second)
			if ended {
				e.HoldShared(7, 0)
			}
			<-time.After(time.Minute)
			synctest.Wait()
			var over []uint32
			h.take()
			h.batch.Drain(nil, func(*protocol.Group, *rpc.Message) {}, func(r *protocol.Request) {
				if r.Kind == protocol.TellSharedLeaseOver {
					over = append(over, r.Number)
				}
			})
			if ended {
				assert.Equal(t, []uint32{8}, over)
			} else {
				assert.ElementsMatch(t, []uint32{7, 8}, over, "the leaders of each cohort are told")
			}
		}
	})
}
