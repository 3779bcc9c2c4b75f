// Input wakes the loop, and the loop then finds it; and what the host shares is used under its lock.

package elector

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The wake-up must come after the input is in the queue. A loop that wakes earlier finds nothing, and
// sleeps until its next alarm.
func TestInputWakesTheLoopOnceItIsQueued(t *testing.T) {
	for name, add := range map[string]func(el *Elector){
		"a message":   func(el *Elector) { el.Host().Receive(make([]rpc.Message, 1)) },
		"a lost peer": func(el *Elector) { el.Host().PeerLost("n1") },
		"a campaign":  (*Elector).Campaign,
		"a request":   func(el *Elector) { el.Host().request(el.newRequest(protocol.AskEnd)) },
		"a stop":      func(el *Elector) { el.beginStop() },
		"a start":     func(el *Elector) { _ = el.Host().enter(el, nil) }, // beside the group that runs
	} {
		t.Run(name, func(t *testing.T) {
			h, el := withoutLoop(t)
			whileLocked(h, func() { add(el) }, func(over bool) { // no input can be queued now
				assert.False(t, over, "it was queued without the lock")
				assert.Empty(t, h.wake, "it was woken too early")
			})
			assert.Len(t, h.wake, 1, "it was not woken")
		})
	}
}

// What the host's lock guards is used under it. The race detector would find few of these, because each
// lasts for a moment only.
func TestWhatIsSharedIsUsedUnderTheLock(t *testing.T) {
	for name, use := range map[string]func(h *Host, el *Elector){
		"the groups of the node": func(h *Host, _ *Elector) { (*edge)(h).Groups() },
		"the input of a turn":    func(h *Host, _ *Elector) { h.take() },
		"the end of a group":     func(_ *Host, el *Elector) { (*engine)(el).Ended(nil) },
		"Electors":               func(h *Host, _ *Elector) { h.Electors() },
		"Elector":                func(h *Host, _ *Elector) { h.Elector("g") },
		"Join":                   func(h *Host, _ *Elector) { _, _ = h.Join(GroupOf("another", "n0")) },
		"Start":                  func(_ *Host, el *Elector) { _ = el.Start() }, // it was started before
		"the loop's end":         func(h *Host, _ *Elector) { h.awaitLoop() },
		"Done":                   func(_ *Host, el *Elector) { el.Done() },
		"Err":                    func(_ *Host, el *Elector) { _ = el.Err() },
		"why it does not run":    func(_ *Host, el *Elector) { _ = el.whyNotRunning() },
	} {
		t.Run(name, func(t *testing.T) {
			h, el := withoutLoop(t)
			whileLocked(h, func() { use(h, el) }, func(over bool) { assert.False(t, over) })
		})
	}
}

// lockedLoad is a store whose Load locks its host, and fails.
type lockedLoad struct {
	memberstate.MemStore
	host   *Host
	loaded chan struct{}
}

func (s *lockedLoad) Load(string) (memberstate.Record, bool, error) {
	s.host.mu.Lock()
	close(s.loaded)
	return memberstate.Record{}, false, assert.AnError
}

func TestAGroupThatCannotStartEndsUnderTheLock(t *testing.T) {
	store := &lockedLoad{loaded: make(chan struct{})}
	store.host = IsolatedHost(t, store)
	el := MustJoin(t, store.host, GroupOf("g", "n0"))
	over := make(chan error, 1)
	go func() { over <- el.Start() }()
	<-store.loaded
	for range 1000 { // it has time to
		runtime.Gosched()
	}
	assert.Empty(t, over)
	store.host.mu.Unlock()
	require.ErrorIs(t, <-over, assert.AnError)
}

// whileLocked begins something while the host's lock is held, and says whether that is over all the same.
// It returns when it is over.
func whileLocked(h *Host, do func(), look func(over bool)) {
	over := make(chan struct{})
	h.mu.Lock()
	go func() {
		defer close(over)
		do()
	}()
	for range 1000 { // it has time to
		runtime.Gosched()
	}
	select {
	case <-over:
		look(true)
	default:
		look(false)
	}
	h.mu.Unlock()
	<-over
}

// withoutLoop is a host in the state of a running one, but without a loop, and a group that is
// about to enter.
func withoutLoop(t *testing.T) (*Host, *Elector) {
	t.Helper()
	h := IsolatedHost(t, new(memberstate.MemStore))
	start := func(group string) *Elector {
		el := MustJoin(t, h, GroupOf(group, "n0", "n1"))
		require.NoError(t, h.intake.Start(&el.group))
		return el
	}
	h.intake.Enter(&start("runs").group, 0, nil)
	return h, start("g")
}

// What is made when it is first needed is made once, whoever needs it first.
func TestExtrasAreMadeOnce(t *testing.T) {
	for range 500 {
		var el Elector
		var making sync.WaitGroup
		begin, made := make(chan struct{}), make([]*extras, 4)
		for i := range made {
			making.Go(func() {
				<-begin
				made[i] = el.ensureExtras()
			})
		}
		close(begin)
		making.Wait()
		for _, x := range made {
			require.Same(t, el.extras.Load(), x)
		}
	}
}
