package elector

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Whatever waits for the loop wakes it, and only when it can be found. A loop that was woken
// before would find nothing, and sleep until its next alarm.
func TestTheLoopIsWokenWhenThereIsSomethingToFind(t *testing.T) {
	for name, come := range map[string]func(el *Elector){
		"a message":   func(el *Elector) { el.Host().Receive(make([]rpc.Message, 1)) },
		"a lost peer": func(el *Elector) { el.Host().PeerLost("n1") },
		"a campaign":  (*Elector).Campaign,
		"a request":   func(el *Elector) { el.Host().request(el.newRequest(protocol.AskEnd)) },
		"a stop":      func(el *Elector) { el.beginStop() },
		"a start":     func(el *Elector) { _ = el.Host().enter(el, nil) }, // beside the group that runs
	} {
		t.Run(name, func(t *testing.T) {
			h, el := withoutLoop(t)
			h.mu.Lock() // nothing can be put in now
			over := make(chan struct{})
			go func() {
				defer close(over)
				come(el)
			}()
			for range 1000 { // it has time to
				runtime.Gosched()
			}
			assert.Empty(t, h.wake, "it was woken too early")
			h.mu.Unlock()
			<-over
			assert.Len(t, h.wake, 1, "it was not woken")
		})
	}
}

// withoutLoop is a host that takes itself for running, and is not, with a group that has not
// entered yet.
func withoutLoop(t *testing.T) (*Host, *Elector) {
	t.Helper()
	h, err := NewHost(HostConfig{Self: "n0", Store: new(memberstate.MemStore), Transport: rpc.NewNetwork(1).Join("n0")})
	require.NoError(t, err)
	join := func(group string) *Elector {
		el, err := h.Join(GroupConfig{
			Group: group, Members: memberstate.Voters("n0", "n1"), Timing: DefaultTiming(),
			LedgerEnd: func(memberstate.Term) memberstate.Position { return memberstate.Position{} },
		})
		require.NoError(t, err)
		require.NoError(t, h.intake.Start(&el.group))
		return el
	}
	h.intake.Enter(&join("runs").group, 0, nil)
	return h, join("g")
}
