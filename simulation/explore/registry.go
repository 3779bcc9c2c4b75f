// The names of nodes and of messages, which all who search together share.

package explore

import (
	"sync"
	"sync/atomic"
)

// registry gives every node and every message a number, once.
type registry struct {
	mu        sync.Mutex
	nodes     []node
	byNode    map[node]nodeID
	messages  []message
	byMessage map[message]messageID
	full      atomic.Bool // there are more messages than there is room for
}

func newRegistry() *registry {
	return &registry{nodes: make([]node, 1), byNode: map[node]nodeID{}, byMessage: map[message]messageID{}}
}

func (r *registry) node(n *node) nodeID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.byNode[*n]
	if !ok {
		id = nodeID(len(r.nodes))
		r.nodes = append(r.nodes, *n)
		r.byNode[*n] = id
	}
	return id
}

// message is the number of a message. If there is no room for it, it is another one's, and
// the search ends.
func (r *registry) message(msg message) messageID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.byMessage[msg]
	switch {
	case ok:
	case len(r.messages) == mostMessages:
		r.full.Store(true)
	default:
		id = messageID(len(r.messages))
		r.messages = append(r.messages, msg)
		r.byMessage[msg] = id
	}
	return id
}

// since are the nodes and messages that were named after the first so many.
func (r *registry) since(nodes, messages int) ([]node, []message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[nodes:], r.messages[messages:] // what is in them stays as it is
}

// size is how many there are.
func (r *registry) size() (nodes, messages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes) - 1, len(r.messages)
}
