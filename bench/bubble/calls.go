// dragonboat's transport as a call, which counts messages.

package main

import (
	"context"
	"slices"
	"sync"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
)

// exchange is where a host receives.
type exchange struct {
	mu     sync.RWMutex
	handle raftio.MessageHandler // nil: messages are lost, because the host does not run
}

func (e *exchange) serve(handle raftio.MessageHandler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handle = handle
}

func (e *exchange) deliver(batch raftpb.MessageBatch) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.handle != nil {
		e.handle(batch)
	}
}

// calls is the transport of a host.
type calls struct {
	host    *resident
	handler raftio.MessageHandler
}

// Name names it.
func (c *calls) Name() string { return "calls" }

// Start lets messages in.
func (c *calls) Start() error {
	c.host.serve(c.handler)
	return nil
}

// Close lets no more messages in.
func (c *calls) Close() error {
	c.host.serve(nil)
	return nil
}

// GetConnection connects to another host.
func (c *calls) GetConnection(_ context.Context, target string) (raftio.IConnection, error) {
	i, err := nodeAt(target)
	return &way{c.host, i}, err
}

// GetSnapshotConnection is never called, because the logs stay short.
func (c *calls) GetSnapshotConnection(context.Context, string) (raftio.ISnapshotConnection, error) {
	return nil, errUnexpected
}

// way leads to another host.
type way struct {
	from *resident
	to   int
}

// Close does nothing.
func (w *way) Close() {}

// SendMessageBatch delivers a copy, because the batch is used again.
func (w *way) SendMessageBatch(batch raftpb.MessageBatch) error {
	w.from.town.seen.Messages.Add(uint64(len(batch.Requests)))
	batch.Requests = slices.Clone(batch.Requests)
	w.from.town.hosts[w.to].deliver(batch)
	return nil
}
