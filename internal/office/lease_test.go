// Leases that are shared: what a lease holds while it shares one, and after it has left.

package office_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/office"
)

// bubble plays a test in virtual time, with a clock that counts from its beginning.
func bubble(t *testing.T, play func(clock func() time.Duration)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		begin := time.Now()
		play(func() time.Duration { return time.Since(begin) })
	})
}

// shared is a lease that nobody is told of.
func shared(t *testing.T, until time.Duration) *office.Shared {
	t.Helper()
	s := office.NewShared(until, func() time.Duration { return 0 }, func() {})
	t.Cleanup(s.End)
	return s
}

func TestTheLaterEndCounts(t *testing.T) {
	l, s := office.NewLease(1, 20), shared(t, 10)
	l.Share(s, nil)
	until, held := l.Holds(9)
	assert.EqualValues(t, 20, until)
	assert.True(t, held)
	s.Extend(30, 9)
	until, held = l.Holds(9)
	assert.EqualValues(t, 30, until)
	assert.True(t, held)
	_, held = l.Holds(29)
	assert.True(t, held, "its own end is past, and the shared one is not")
	_, held = l.Holds(30)
	assert.False(t, held)
	assert.Zero(t, s.Until(), "nor does any other lease that shares it go on")
	s.Extend(40, 29) // decided before, and carried out now
	assert.Zero(t, s.Until())
	_, held = l.Holds(29)
	assert.False(t, held)
}

func TestALeaseThatHasRunOutIsNotHeldAgainByJoining(t *testing.T) {
	l, s := office.NewLease(1, 10), shared(t, 20)
	_, held := l.Holds(10)
	assert.False(t, held)
	l.Share(s, nil)
	_, held = l.Holds(9)
	assert.False(t, held)
	l.Leave()
	_, held = l.Holds(9)
	assert.False(t, held)
}

// A lease that has left keeps the end that it had, and gets no later one.
func TestALeaseTakesItsEndAlong(t *testing.T) {
	l, s := office.NewLease(1, 10), shared(t, 20)
	l.Share(s, nil)
	l.Leave()
	s.Extend(30, 9)
	until, held := l.Holds(19)
	assert.EqualValues(t, 20, until)
	assert.True(t, held)
	l.Leave()
	assert.EqualValues(t, 20, l.Until(), "it has left already")
	_, held = l.Holds(20)
	assert.False(t, held)
	assert.EqualValues(t, 30, s.Until())

	longer := office.NewLease(1, 40)
	longer.Share(s, nil)
	longer.Leave()
	assert.EqualValues(t, 40, longer.Until(), "its own end is not taken back")

	over := office.NewLease(1, 10)
	over.Share(s, nil)
	_, held = over.Holds(30)
	assert.False(t, held)
	over.Leave()
	_, held = over.Holds(9)
	assert.False(t, held)
}

// Each is told once, even if its own timer had stopped because the lease was shared.
func TestASharedLeaseClosesAllThatShareIt(t *testing.T) {
	bubble(t, func(clock func() time.Duration) {
		var closed, lapsed [5]time.Duration
		var leases [5]*office.Lease
		over := time.Duration(0)
		s := office.NewShared(2*time.Second, clock, func() { over = clock() })
		for i := range leases {
			l := office.NewLease(1, time.Second)
			l.Watch(clock, func() { lapsed[i] = clock() })
			l.Share(s, func() { closed[i] = clock() })
			leases[i] = l
		}
		leases[4].Extend(4*time.Second, clock())
		<-time.After(1500 * time.Millisecond)
		s.Extend(3*time.Second, clock())
		<-time.After(time.Second)
		leases[0].End()
		leases[1].Leave()
		leases[2].Leave()
		leases[2].Extend(5*time.Second, clock())
		<-time.After(time.Minute)
		synctest.Wait()
		const second = time.Second
		assert.Equal(t, 3*second, over)
		assert.Equal(t, [5]time.Duration{0, 0, 0, 3 * second, 0}, closed, "one has ended, two have left, and one has a longer lease of its own")
		assert.Equal(t, [5]time.Duration{0, 3 * second, 5 * second, 0, 4 * second}, lapsed)
		for _, l := range leases[1:] {
			l.End()
		}
		s.End()
	})
}

func TestASharedLeaseThatWasEndedDoesNotRunOut(t *testing.T) {
	bubble(t, func(clock func() time.Duration) {
		s := office.NewShared(time.Second, clock, func() { t.Error("it was ended before") })
		s.End()
		<-time.After(time.Minute)
	})
}

// The timer fires just before the lease is ended, and looks at the clock just after that.
func TestASharedLeaseThatIsEndedWhileItsTimerFiresDoesNotRunOut(t *testing.T) {
	bubble(t, func(clock func() time.Duration) {
		var ended atomic.Pointer[office.Shared]
		ended.Store(office.NewShared(time.Second, func() time.Duration {
			if s := ended.Load(); s != nil {
				s.End()
			}
			return clock()
		}, func() { t.Error("it was ended before") }))
		<-time.After(time.Minute)
	})
}

// Whoever is told that the shared lease is over may call other Leads, so those of its leases have been closed by then: also
// that of a lease which somebody has looked at in between, by a clock that is ahead.
func TestASharedLeaseClosesBeforeItTells(t *testing.T) {
	bubble(t, func(clock func() time.Duration) {
		var done []string
		s := office.NewShared(2*time.Second, clock, func() { done = append(done, "told") })
		l, seen := office.NewLease(1, time.Second), office.NewLease(1, time.Second)
		l.Share(s, func() { done = append(done, "closed") })
		seen.Share(s, func() { done = append(done, "closed one that was seen to be over") })
		<-time.After(time.Second)
		_, held := seen.Holds(2 * time.Second)
		assert.False(t, held)
		<-time.After(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"closed", "closed one that was seen to be over", "told"}, done)
		s.End()
	})
}

// Whoever sees first that a lease is over has its owner told: it may see that although the timer has looked before, and
// found the lease shared.
func TestTheOwnerIsToldOfALeaseThatOthersSawRunOut(t *testing.T) {
	bubble(t, func(clock func() time.Duration) {
		told := 0
		s := office.NewShared(time.Hour, clock, func() {})
		l := office.NewLease(1, time.Second)
		l.Watch(clock, func() { told++ })
		l.Share(s, nil)
		<-time.After(time.Minute)
		_, held := l.Holds(time.Hour) // by a clock that is ahead
		assert.False(t, held)
		<-time.After(1)
		synctest.Wait()
		assert.Equal(t, 1, told)
		l.End()
		s.End()
	})
}

// Readers race with a lease that joins and leaves. Once one of them was told that the lease is over, nobody is told that
// it is held; and nobody is told of an end that was given to others.
func TestReadersOfASharedLease(t *testing.T) {
	for range 200 {
		var now atomic.Int64
		clock := func() time.Duration { return time.Duration(now.Load()) }
		l, s := office.NewLease(1, 1000), office.NewShared(1000, clock, func() {})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				over := false
				for at := clock(); at < 3000; at = clock() {
					until, held := l.Holds(at)
					assert.False(t, held && over, "it was over")
					assert.LessOrEqual(t, until, 2000*time.Nanosecond, "that was given to others")
					over = over || !held
				}
			})
		}
		l.Share(s, func() {})
		for now.Load() < 900 {
			now.Add(100)
		}
		s.Extend(2000, clock())
		for now.Load() < 1500 {
			now.Add(100)
		}
		l.Leave()
		s.Extend(5000, clock())
		for now.Load() < 3000 {
			now.Add(100)
		}
		readers.Wait()
		s.End()
	}
}

// BenchmarkHolds looks at a lease, apart from the clock.
func BenchmarkHolds(b *testing.B) {
	for name, shares := range map[string]bool{"own": false, "shared": true} {
		b.Run(name, func(b *testing.B) {
			l, s := office.NewLease(1, 10), office.NewShared(time.Hour, func() time.Duration { return 0 }, func() {})
			if shares {
				l.Share(s, nil)
			}
			for b.Loop() {
				if _, held := l.Holds(5); !held {
					b.Fatal("it is over")
				}
			}
			s.End()
		})
	}
}
