// The connection between a candidate and its database. It counts statements, and can fail. A
// link is a connection to a database in this process.

package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// connection connects a candidate with its database.
type connection interface {
	// crash ends all connections, as when the process dies.
	crash()
	// stall stops all traffic in both directions.
	stall()
	// late delays the answer to the next renewal, although the renewal is executed at
	// once; then the connection stalls.
	late(by time.Duration)
	// asked returns the statements so far.
	asked() load
	// close ends all calls that still wait for an answer.
	close() error
}

// load counts statements, and the leases that they renewed.
type load struct{ reads, writes, renewed int64 }

func (l load) since(then load) load {
	return load{l.reads - then.reads, l.writes - then.writes, l.renewed - then.renewed}
}

// counter counts statements.
type counter struct{ reads, writes, renewed atomic.Int64 }

func (c *counter) asked() load { return load{c.reads.Load(), c.writes.Load(), c.renewed.Load()} }

// link is a connection by function calls.
type link struct {
	counter
	deaf bool // a call that hangs ignores its context

	mu     sync.Mutex
	delay  time.Duration
	silent bool
	ended  chan struct{}
}

func newLink(deaf bool) *link { return &link{deaf: deaf, ended: make(chan struct{})} }

func (l *link) crash() { l.stall() } // the database sees no difference

func (l *link) stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

func (l *link) late(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

func (l *link) close() error {
	l.stall()
	close(l.ended)
	return nil
}

var errCut = errors.New("the connection is cut")

// hang handles a call that is not answered.
func (l *link) hang(ctx context.Context) error {
	heeded := ctx.Done()
	if l.deaf {
		heeded = nil
	}
	select {
	case <-heeded:
		return ctx.Err()
	case <-l.ended:
		return errCut
	}
}

// read passes a call through the link that changes nothing.
func read[T any](ctx context.Context, l *link, do func() (T, error)) (T, error) {
	l.reads.Add(1)
	return pass(ctx, l, do)
}

// write passes a call that may change something.
func write[T any](ctx context.Context, l *link, do func() (T, error)) (T, error) {
	l.writes.Add(1)
	return pass(ctx, l, do)
}

func pass[T any](ctx context.Context, l *link, do func() (T, error)) (T, error) {
	l.mu.Lock()
	silent := l.silent
	l.mu.Unlock()
	if silent {
		var none T
		return none, l.hang(ctx)
	}
	return do()
}

// renew passes a renewal of several leases, whose answer may be late.
func renew[T any](ctx context.Context, l *link, leases int, do func() (T, error)) (T, error) {
	l.renewed.Add(int64(leases))
	answer, err := write(ctx, l, do)
	l.mu.Lock()
	delay := l.delay
	l.delay = 0
	l.mu.Unlock()
	if delay == 0 {
		return answer, err
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.stall()
	return answer, err
}
