package office_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/internal/office"
	"github.com/hustings/hustings/memberstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnOfficeThatWasClosedBeforeItIsServedEndsAtOnce(t *testing.T) {
	o := office.Open(3)
	o.Close()
	early, err := o.Serve(func(ctx context.Context, term memberstate.Term) error {
		assert.EqualValues(t, 3, term)
		return ctx.Err()
	})
	assert.False(t, early)
	assert.ErrorIs(t, err, context.Canceled)
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

func TestALeaseRunsOutWhenItsTimeIsUpAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		clock := func() time.Duration { return time.Since(begin) }
		l := office.NewLease(1, time.Second)
		time.AfterFunc(time.Second/2, func() { l.Extend(3*time.Second, clock()) })
		assert.True(t, l.RunsOut(clock))
		assert.Equal(t, 3*time.Second, clock())
		l = office.NewLease(2, time.Hour)
		time.AfterFunc(time.Second, l.End)
		assert.False(t, l.RunsOut(clock))
	})
}
