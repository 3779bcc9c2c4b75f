// Connections that have been greeted, and are strangers until their Confirm.

package grpcrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/proto/electorpb"
)

// unconfirmed is a stream without a Confirm until its context ends.
type unconfirmed struct {
	packets
	ctx      context.Context
	answered chan struct{} // closed when the Hello is answered; nil: nobody waits for that
}

func (u unconfirmed) Send(*electorpb.Packet) error {
	if u.answered != nil {
		close(u.answered)
	}
	return nil
}

func (u unconfirmed) RecvMsg(any) error {
	<-u.ctx.Done()
	return u.ctx.Err()
}

// A greeted connection has a peer's allowance, so each peer may have only one: the next one closes
// the previous one, and no other.
func TestAPeerHasOneGreetedConnection(t *testing.T) {
	l, _ := linkTo(t)
	came := new(pipes)
	g := newGuard(came, time.Hour, func(Refusal, ...any) {})
	ended := func(i int) bool {
		_, err := came.theirs[i].Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	greets := func() (greeted *inbound, end func()) {
		c, err := g.Accept()
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		answered, over := make(chan struct{}), make(chan struct{})
		greeted = c.(*inbound)
		go func() {
			defer close(over)
			assert.Error(t, l.greet(unconfirmed{ctx: ctx, answered: answered}, &connection{confirmed: true}, greeted))
		}()
		<-answered
		assert.Same(t, greeted, l.greets())
		return greeted, func() { cancel(); <-over }
	}
	_, endFirst := greets()
	second, endSecond := greets()
	assert.True(t, ended(0))
	assert.False(t, ended(1))
	endFirst()
	assert.Same(t, second, l.greets(), "the end of the first changes nothing")
	endSecond()
	assert.Nil(t, l.greets())
	_, endThird := greets()
	assert.False(t, ended(1), "a connection that was greeted before is not closed")
	endThird()
	g.closeAll()
}

// greets returns the connection that a link greets.
func (l *link) greets() *inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.greeted
}

// stranger is a connection that the guard of a link's node has accepted.
func stranger(t *testing.T, l *link) *inbound {
	t.Helper()
	g := l.transport.guard
	ours, _ := net.Pipe()
	came := &inbound{guard: g, meter: newMeter(ours, func() {})}
	g.mu.Lock()
	g.conns[came] = true
	g.mu.Unlock()
	g.move(came, &g.strangers)
	return came
}

// isStranger says whether the guard counts a connection among the strangers.
func (c *inbound) isStranger() bool {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	return c.among == &c.guard.strangers
}

// A Hello without a Confirm may come from a process that has died. So until the Confirm the bounds
// of strangers apply.
func TestAConnectionIsAStrangerUntilTheConfirm(t *testing.T) {
	l, _ := linkTo(t)
	came := stranger(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- l.accept(unconfirmed{ctx: ctx}, &electorpb.Hello{From: "a", To: "b", Confirms: true}, came)
	}()
	for l.greets() != came {
		runtime.Gosched()
	}
	assert.True(t, came.isStranger())
	cancel()
	require.Error(t, <-over)
	require.NoError(t, came.Close())
}

// confirmed is a stream with a Confirm, and nothing more until its context ends.
type confirmed struct {
	unconfirmed
	sent *atomic.Bool
}

func (c confirmed) Context() context.Context { return c.ctx }

func (c confirmed) RecvMsg(into any) error {
	if c.sent.Swap(true) {
		return c.unconfirmed.RecvMsg(into)
	}
	into.(*incoming).packet.Content = confirm().Content
	return nil
}

// accepts lets the peer connect, until breaks is called.
func accepts(t *testing.T, l *link) (came *inbound, breaks func()) {
	t.Helper()
	came = stranger(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		s := confirmed{unconfirmed{ctx: ctx}, new(atomic.Bool)}
		over <- l.accept(s, &electorpb.Hello{From: "a", To: "b", Confirms: true}, came)
	}()
	for !l.connected() {
		runtime.Gosched()
	}
	return came, func() {
		cancel()
		require.Error(t, <-over)
		require.NoError(t, came.Close())
	}
}

// A stranger is closed after a while, and a peer is not.
func TestAConnectionIsNoStrangerAfterTheConfirm(t *testing.T) {
	l, _ := linkTo(t)
	came, breaks := accepts(t, l)
	assert.False(t, came.isStranger())
	breaks()
}
