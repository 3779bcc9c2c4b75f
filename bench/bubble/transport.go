// dragonboat's transport over lines.

package main

import (
	"context"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"

	"github.com/hustings/hustings/bench/hangs"
)

// Create makes the transport of the host, which is its own.
func (h *host) Create(_ config.NodeHostConfig, handle raftio.MessageHandler, _ raftio.ChunkHandler) raftio.ITransport {
	return &transport{host: h, handler: handle}
}

// Validate accepts every address.
func (h *host) Validate(string) bool { return true }

// deliver hands over what has arrived.
func (h *host) deliver(batch raftpb.MessageBatch) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.handle != nil {
		h.handle(batch)
	}
}

func (h *host) serve(handle raftio.MessageHandler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handle = handle
}

// transport is a host's.
type transport struct {
	host    *host
	handler raftio.MessageHandler
}

// Name names it.
func (t *transport) Name() string { return "lines" }

// Start lets messages in.
func (t *transport) Start() error {
	t.host.serve(t.handler)
	return nil
}

// Close lets no more messages in.
func (t *transport) Close() error {
	t.host.serve(nil)
	return nil
}

// GetConnection makes a line to another host.
func (t *transport) GetConnection(_ context.Context, target string) (raftio.IConnection, error) {
	i, err := nodeAt(target)
	if err != nil {
		return nil, err
	}
	to := t.host.all[i]
	return &connection{t.host.net.Line(t.host.node, to.node), to}, nil
}

// GetSnapshotConnection is never called, because the log stays short.
func (t *transport) GetSnapshotConnection(context.Context, string) (raftio.ISnapshotConnection, error) {
	return nil, errUnexpected
}

// connection is a line to another host.
type connection struct {
	line *hangs.Line
	to   *host
}

// Close does nothing: the network ends its lines.
func (c *connection) Close() {}

// SendMessageBatch sends a copy, because the batch is used again.
func (c *connection) SendMessageBatch(batch raftpb.MessageBatch) error {
	raw, err := batch.Marshal()
	if err != nil {
		return err
	}
	var arriving raftpb.MessageBatch
	if err := arriving.Unmarshal(raw); err != nil {
		return err
	}
	c.line.Send(func() { c.to.deliver(arriving) })
	return nil
}
