// What all who search together share besides states: the names of nodes, messages and
// inputs, and what was worked out about nodes.

package explore

import (
	"sync"
	"sync/atomic"

	"github.com/hustings/hustings/elector"
)

// registry gives every node, every message and every input a number, once.
type registry struct {
	mu       sync.Mutex
	nodes    names[node]
	messages names[message]
	inputs   names[input]
	full     atomic.Bool // there are more messages than there is room for

	stale   []elector.Message // all that may come too late, of a search that forgets such
	staleAt map[elector.Message]int

	locals  memory[local]
	reached memory[reach]
}

// names are those of things of one kind: their places in a list.
type names[T comparable] struct {
	list []T
	by   map[T]int
}

func (n *names[T]) find(thing *T) (id int, ok bool) {
	id, ok = n.by[*thing]
	return id, ok
}

func (n *names[T]) add(thing *T) (id int) {
	if n.by == nil {
		n.by = map[T]int{}
	}
	id = len(n.list)
	n.list = append(n.list, *thing)
	n.by[*thing] = id
	return id
}

// name is the number of a thing, which may be new.
func (n *names[T]) name(thing *T) int {
	if id, ok := n.find(thing); ok {
		return id
	}
	return n.add(thing)
}

// newRegistry has a node that is none, and an input that is none.
func newRegistry() *registry {
	r := &registry{}
	r.nodes.list, r.inputs.list = make([]node, 1), make([]input, 1)
	return r
}

// listStale lists what may come too late within bounds, before anything is named.
func (r *registry) listStale(b *Bounds) {
	r.stale, r.staleAt = staleMessages(b), map[elector.Message]int{}
	for i, msg := range r.stale {
		r.staleAt[msg] = i
	}
}

func (r *registry) isStale(msg *elector.Message) bool {
	_, listed := r.staleAt[*msg]
	return listed
}

func (r *registry) node(n *node) nodeID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return nodeID(r.nodes.name(n))
}

func (r *registry) input(in input) inputID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return inputID(r.inputs.name(&in))
}

// message is the number of a message. If there is no room for it, it is another one's, and
// the search ends.
func (r *registry) message(msg message) messageID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.messages.find(&msg); !known && len(r.messages.list) == mostMessages {
		r.full.Store(true)
		return 0
	}
	return messageID(r.messages.name(&msg))
}

// since is what was named after the first so many.
func (r *registry) since(nodes, messages, inputs int) ([]node, []message, []input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes.list[nodes:], r.messages.list[messages:], r.inputs.list[inputs:] // what is in them stays as it is
}

// size is how many nodes and messages there are.
func (r *registry) size() (nodes, messages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes.list) - 1, len(r.messages.list)
}
