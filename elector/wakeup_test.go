// Input wakes the loop, and the loop then finds it; and what the host shares is used under its lock.

package elector

import (
	"runtime"
	"testing"
	"testing/synctest"

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
		"a beat":      func(el *Elector) { el.Host().ReceiveBeat(&rpc.Beat{From: "n1", To: "n0"}) },
		"a lost peer": func(el *Elector) { el.Host().PeerLost("n1") },
		"a campaign":  (*Elector).Campaign,
		"a request":   func(el *Elector) { el.Host().request(el.newRequest(protocol.AskEnd)) },
		"a stop":      func(el *Elector) { el.beginStop() },
		"a start":     func(el *Elector) { _ = el.Host().enter([]*Elector{el}, nil) }, // beside the group that runs
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
		"the group of a beat":    func(h *Host, _ *Elector) { beatEdge{host: h}.Group("g") },
		"the groups of a name":   func(h *Host, _ *Elector) { h.named([]string{"g"}) },
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

// locking is a store, a transport and a request that lock their host. The store then fails.
type locking struct {
	memberstate.MemStore
	rpc.Transport
	host   *Host
	locked chan struct{}
}

func (l *locking) lock() {
	l.host.mu.Lock()
	close(l.locked)
}

func (l *locking) Load(group string) (memberstate.Record, bool, error) {
	if group == "" {
		return l.MemStore.Load(group) // the node's own record, which is read before the loop begins
	}
	l.lock()
	return memberstate.Record{}, false, assert.AnError
}

func (l *locking) Serve(rpc.Handler) (func(), error) {
	l.lock()
	return func() {}, nil
}

// What uses the lock more than once is begun without it, and finds it held when it goes on.
func TestWhatIsSharedIsUsedUnderTheLockAgain(t *testing.T) {
	for name, use := range map[string]func(h *Host, el *Elector, l *locking){
		"a start that fails": func(_ *Host, el *Elector, _ *locking) { assert.ErrorIs(t, el.Start(), assert.AnError) },
		"the start of a loop": func(h *Host, el *Elector, _ *locking) {
			restoreEmpty(t, el)
			assert.NoError(t, h.enter([]*Elector{el}, nil))
		},
		"the end of a turn": func(h *Host, el *Elector, l *locking) {
			assert.NoError(t, h.intake.Start(&el.group))
			restoreEmpty(t, el)
			h.intake.Enter(&el.group, 0, l.lock)
			h.turn()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &locking{locked: make(chan struct{})}
			h := MustHost(t, HostConfig{Self: "n0", Store: l, Transport: l})
			l.host = h
			el := MustJoin(t, h, GroupOf("g", "n0", "n1"))
			over := make(chan struct{})
			go func() {
				defer close(over)
				use(h, el, l)
			}()
			<-l.locked
			for range 1000 { // it has time to
				runtime.Gosched()
			}
			select {
			case <-over:
				assert.Fail(t, "it did not wait")
			default:
			}
			h.mu.Unlock()
			<-over
			if el.beginStop(); h.stopped == nil { // there is no loop
				assert.False(t, h.turn())
			}
			assert.NoError(t, h.Close(t.Context()))
		})
	}
}

// restoreEmpty restores a group that the store does not know.
func restoreEmpty(t *testing.T, el *Elector) {
	t.Helper()
	require.NoError(t, el.group.Restore(memberstate.Record{}, false, memberstate.Position{}))
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

// A turn handles only so many requests. The others come next, and wait for nothing else.
func TestALoopGoesOnWithWhatATurnHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := IsolatedHost(t, new(memberstate.MemStore))
		el := MustJoin(t, h, GroupOf("g", "n0"))
		require.NoError(t, el.Start())
		var all []*question[protocol.Figures]
		h.mu.Lock()
		h.intake.LimitTurn(1)
		for range 3 {
			q := &question[protocol.Figures]{answered: make(chan struct{}), read: func(s protocol.Shown) protocol.Figures { return s.Figures }}
			r := el.newRequest(protocol.AskFigures)
			r.For = q
			h.intake.Add(r)
			all = append(all, q)
		}
		h.mu.Unlock()
		h.wakeLoop()
		synctest.Wait()
		for _, q := range all {
			select {
			case <-q.answered:
			default:
				assert.Fail(t, "a request waits")
			}
		}
		require.NoError(t, h.Close(t.Context()))
	})
}

// What is asked of a loop after its last turn is answered, however much it is: whoever asks waits for the answer, whatever his context says.
func TestALoopThatEndsAnswersMoreThanATurnTakes(t *testing.T) {
	h := IsolatedHost(t, new(memberstate.MemStore))
	el := MustJoin(t, h, GroupOf("g", "n0", "n1"))
	require.NoError(t, h.intake.Start(&el.group))
	restoreEmpty(t, el)
	h.intake.Enter(&el.group, 0, nil)
	require.True(t, h.turn())
	h.intake.LimitTurn(1)
	answered := 0
	for range 3 {
		assert.True(t, h.request(protocol.Request{Subject: protocol.Subject{Kind: protocol.AskServe}, Then: func() { answered++ }}))
	}
	h.finish()
	assert.Equal(t, 3, answered)
}
