// A node: what a member uses besides its library. Each part of it can hang.

package hangs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Node is the machine of one member.
type Node struct {
	Index int // among the members
	// Phase is when its clock begins to tick, for a library that has ticks; otherwise all nodes would
	// tick at the same moments, and stand at the same moment.
	Phase time.Duration

	disk      gate        // while it is shut, no save ends
	engine    gate        // while it is shut, no entry is applied
	callbacks gate        // while it is shut, nothing else in the engine returns, and no append either
	process   gate        // while it is shut, no message leaves or reaches the node
	gone      atomic.Bool // the process has ended
}

// Save makes something durable, if the disk does not hang.
func (n *Node) Save() {
	time.Sleep(saving)
	n.disk.pass()
}

// Apply applies one entry, if the engine does not hang.
func (n *Node) Apply() { n.engine.pass() }

// release opens everything, so that all that hangs can end.
func (n *Node) release() {
	for _, g := range []*gate{&n.disk, &n.engine, &n.callbacks, &n.process} {
		g.open()
	}
}

// gate lets everything pass unless it is shut. The zero gate is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil while it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// pass waits while the gate is shut.
func (g *gate) pass() {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
}

// attempt waits for what, which may hang, until the context ends. What goes on in any case.
func attempt(ctx context.Context, what func() error) error {
	done := make(chan error, 1)
	go func() { done <- what() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}
