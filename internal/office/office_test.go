package office_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnOfficeIsServedUntilItIsClosed(t *testing.T) {
	o := office.Open(3)
	early, err := o.Serve(func(ctx context.Context, term memberstate.Term) error {
		assert.EqualValues(t, 3, term)
		o.Close()
		return ctx.Err()
	})
	assert.False(t, early)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAnOfficeThatWasClosedBeforeIsNotServed(t *testing.T) {
	o := office.Open(3)
	o.Close()
	early, err := o.Serve(func(context.Context, memberstate.Term) error {
		t.Error("it is served")
		return nil
	})
	assert.False(t, early)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestALeadThatEndsItsGoroutineEndsTheOffice(*testing.T) {
	served := make(chan context.Context, 1)
	go func() {
		_, _ = office.Open(3).Serve(func(ctx context.Context, _ memberstate.Term) error {
			served <- ctx
			runtime.Goexit()
			return nil
		})
	}()
	<-(<-served).Done()
}

func TestALeadThatReturnsByItselfIsEarly(t *testing.T) {
	broken := errors.New("broken")
	early, err := office.Open(1).Serve(func(context.Context, memberstate.Term) error { return broken })
	assert.True(t, early)
	assert.Equal(t, broken, err)
}

func TestALeaseThatHasRunOutIsNotExtended(t *testing.T) {
	l := office.NewLease(1, 10)
	l.Extend(20, 9)
	assert.EqualValues(t, 20, l.Until())
	l.Extend(15, 9)
	assert.EqualValues(t, 20, l.Until(), "it never gets shorter")
	l.Extend(30, 20)
	assert.EqualValues(t, 20, l.Until())
}

func TestALeaseThatWasSeenToHaveRunOutIsNotExtended(t *testing.T) {
	l := office.NewLease(1, 10)
	until, held := l.Holds(9)
	assert.EqualValues(t, 10, until)
	assert.True(t, held)
	_, held = l.Holds(10)
	assert.False(t, held)
	l.Extend(20, 9) // decided before, and carried out now
	_, held = l.Holds(9)
	assert.False(t, held)
}

func TestALeaseRunsOutWhenItsTimeIsUpAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		clock := func() time.Duration { return time.Since(begin) }
		l := office.NewLease(1, time.Second)
		var lapsed []time.Duration
		l.Watch(clock, func() { lapsed = append(lapsed, clock()) })
		<-time.After(time.Second / 2)
		l.Extend(3*time.Second, clock())
		<-time.After(time.Hour)
		synctest.Wait()
		assert.Equal(t, []time.Duration{3 * time.Second}, lapsed)
		l = office.NewLease(2, clock()+time.Second)
		l.Watch(clock, func() { t.Error("it was ended before") })
		<-time.After(time.Second / 2)
		l.End()
		<-time.After(time.Hour)
	})
}

// A lease may be ended after its timer has fired, and before the timer looks at it.
func TestALeaseThatWasEndedDoesNotRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, l := time.Now(), office.NewLease(1, time.Second)
		l.Watch(func() time.Duration {
			now := time.Since(began)
			if now >= time.Second {
				l.End()
			}
			return now
		}, func() { assert.Fail(t, "it has run out") })
		<-time.After(time.Minute)
	})
}
