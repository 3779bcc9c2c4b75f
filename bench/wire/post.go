// Our transport over a bench's own lines.

package wire

import (
	"slices"
	"sync"

	"github.com/hustings/hustings/rpc"
)

// Line carries messages from one node to another.
type Line interface {
	// Send has a message delivered when it arrives.
	Send(deliver func())
}

// Post is the transport of one node. Its exported fields are set before it is used.
type Post struct {
	Lines map[string]Line // by the other node
	Peers map[string]*Post

	mu      sync.RWMutex
	handler rpc.BeatHandler // nil: nobody is served
}

// Serve delivers to a handler until stop is called.
func (p *Post) Serve(h rpc.Handler) (stop func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler, _ = h.(rpc.BeatHandler) // a Host is one
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.handler = nil
	}, nil
}

// Send sends a batch.
func (p *Post) Send(to string, batch []rpc.Message) {
	kept := slices.Clone(batch)
	p.pass(to, func(h rpc.BeatHandler) { h.Receive(kept) })
}

// SendBeat sends a beat.
func (p *Post) SendBeat(to string, b *rpc.Beat) {
	kept := b.Clone()
	p.pass(to, func(h rpc.BeatHandler) { h.ReceiveBeat(kept) })
}

func (p *Post) pass(to string, deliver func(rpc.BeatHandler)) {
	other := p.Peers[to]
	p.Lines[to].Send(func() {
		other.mu.RLock()
		defer other.mu.RUnlock()
		if other.handler != nil {
			deliver(other.handler)
		}
	})
}
