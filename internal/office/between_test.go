// Leases, when others come between any two statements.

package office

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/internal/between"
)

// watched is a lease, alone or sharing one, with all that was seen of it.
type watched struct {
	t      *testing.T
	clock  func() time.Duration
	lease  *Lease
	shared *Shared

	mu      sync.Mutex
	due     time.Duration // it is held until then, if nobody has found it over
	shares  bool          // it has shared the other one since before that was over
	ended   bool          // nobody is to be told
	over    bool          // somebody has found it over
	latest  time.Duration // the latest time by which anybody looked
	told    int           // how often its owner was told
	closed  int           // how often it was closed with the shared one
	lapsed  int           // how often it was told that the shared one is over
	granted time.Duration // the latest end of all
}

const (
	own    = 10 * time.Second
	common = 20 * time.Second
)

// begin makes a lease that ends after ten seconds, and a shared one that ends after twenty.
func begin(t *testing.T, shares bool) *watched {
	t.Helper()
	epoch := time.Now()
	w := &watched{t: t, clock: func() time.Duration { return time.Since(epoch) }, due: own, granted: common}
	w.shared = NewShared(common, w.clock, w.lapse)
	w.lease = NewLease(1, own)
	w.lease.Watch(w.clock, func() { w.count(&w.told) })
	if shares {
		w.share()
	}
	return w
}

func (w *watched) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

func (w *watched) atLeast(d *time.Duration, least time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*d = max(*d, least)
}

// lapse is told that the shared lease is over: those that share it are closed by then.
func (w *watched) lapse() {
	until := w.lease.Until()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lapsed++
	assert.False(w.t, w.shares && !w.ended && 0 < until && until <= common, "it was told before a lease was closed")
}

// close is told that the lease is over with the shared one.
func (w *watched) close() {
	assert.LessOrEqual(w.t, w.lease.Until(), w.clock(), "it is closed, and has time of its own left")
	w.count(&w.closed)
}

// holds looks at the lease.
func (w *watched) holds() { w.holdsAt(w.clock()) }

func (w *watched) holdsAt(now time.Duration) {
	w.mu.Lock()
	w.latest = max(w.latest, now)
	over := w.over
	w.mu.Unlock()
	until, held := w.lease.Holds(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := max(w.latest, w.clock())
	assert.False(w.t, held && over, "it was over, and is held again")
	assert.False(w.t, !held && !w.over && !w.ended && latest < w.due, "it is over, and was to be held until %v", w.due)
	assert.LessOrEqual(w.t, until, w.granted, "nobody has granted that")
	w.over = w.over || !held
}

func (w *watched) share() {
	w.lease.Share(w.shared, w.close)
	shared := w.shared.Until()
	w.mu.Lock()
	w.shares = shared > 0
	latest := max(w.latest, w.clock())
	w.mu.Unlock()
	if latest < w.lease.Until() { // or it was over before, and only nobody has found that yet
		w.atLeast(&w.due, shared)
	}
}

func (w *watched) leave() {
	w.mu.Lock()
	w.shares = false
	w.mu.Unlock()
	w.lease.Leave()
}

// extend extends a lease by itself, as a leader does whom his node's beats do not serve any more.
func (w *watched) extend() {
	w.leave()
	w.atLeast(&w.granted, w.clock()+15*time.Second)
	w.lease.Extend(w.clock()+15*time.Second, w.clock())
	w.atLeast(&w.due, w.lease.Until())
}

// extendShared extends the shared lease.
func (w *watched) extendShared() {
	w.atLeast(&w.granted, w.clock()+25*time.Second)
	w.shared.Extend(w.clock()+25*time.Second, w.clock())
	if shared := w.shared.Until(); w.shares && w.lease.Until() > 0 {
		w.atLeast(&w.due, shared)
	}
}

// giveAway has the lease leave, and then grants those who stay more.
func (w *watched) giveAway() {
	w.leave()
	w.shared.Extend(w.clock()+time.Hour, w.clock())
}

func (w *watched) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.lease.End()
}

// judge lets time pass. The owner of a lease that somebody has found over is told at once; otherwise when it is over,
// though nobody looks.
func (w *watched) judge(t *testing.T) {
	t.Helper()
	<-time.After(1)
	synctest.Wait()
	past := max(w.lease.Until(), w.shared.Until()) < w.clock()
	w.mu.Lock()
	assert.False(t, past && !w.ended && w.told+w.closed == 0, "nobody was told in time that the lease is over")
	assert.False(t, w.over && !w.ended && w.told+w.closed == 0, "nobody was told at once that the lease was found over")
	w.mu.Unlock()
	<-time.After(24 * time.Hour)
	synctest.Wait()
	w.mu.Lock()
	assert.LessOrEqual(t, w.told, 1)
	assert.LessOrEqual(t, w.closed, 1)
	assert.Equal(t, 1, w.lapsed, "the shared lease is over")
	assert.False(t, !w.ended && w.told+w.closed == 0, "nobody was told that the lease is over")
	w.mu.Unlock()
	w.holds()
	w.lease.End()
	w.shared.End()
}

// The loop extends a lease, shares it, leaves, and ends it; anybody looks at it; and timers ring. Whoever comes
// between, a lease that was over is not held again, one that is granted is held, and its owner is told of its end.
func TestOthersMayComeBetweenTheStatementsOfALease(t *testing.T) {
	if !between.Rebuild(t) {
		return
	}
	for name, passed := range map[string]time.Duration{
		"alone": own - time.Second, "extended": own - time.Second, "shared": 0, "shared, near its end": common - time.Second,
	} {
		shares := passed == 0 || passed > own
		t.Run(name, func(t *testing.T) {
			between.All(t, true, func(t *testing.T) between.World {
				t.Helper()
				w := begin(t, shares)
				if name == "extended" {
					w.extend() // its timer rings before it is over
				}
				<-time.After(passed)
				const loop = "the loop"
				share := between.Operation{Name: "Share", Do: w.share, Of: loop}
				if shares {
					share = between.Operation{Name: "leave, and Share again", Do: func() { w.leave(); w.share() }, Of: loop}
				}
				return between.World{Judge: w.judge, Operations: []between.Operation{
					share,
					{Name: "Holds", Do: w.holds},
					{Name: "Holds, late", Do: func() { w.holdsAt(w.clock() + time.Minute) }},
					{Name: "Holds, a little late", Do: func() { w.holdsAt(w.clock() + 2*time.Second) }},
					{Name: "two seconds", Do: func() {}, Takes: 2 * time.Second},
					{Name: "a minute", Do: func() {}, Takes: time.Minute},
					{Name: "Leave", Do: w.leave, Of: loop},
					{Name: "Extend", Do: w.extend, Of: loop},
					{Name: "extend the shared one", Do: w.extendShared, Of: loop},
					{Name: "leave, and extend the shared one", Do: w.giveAway, Of: loop},
					{Name: "extend, and Share", Do: func() { w.extend(); w.share() }, Of: loop},
					{Name: "End", Do: w.end, Of: loop},
				}}
			})
		})
	}
}
