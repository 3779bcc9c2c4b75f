// What all workers share besides states: the numbers of nodes, messages and inputs, and the results about nodes.

package explore

import (
	"sync"
	"sync/atomic"

	"github.com/hustings/hustings/elector/protocol"
)

// registry gives every node, every message and every input a number, once.
type registry struct {
	mu       sync.Mutex
	nodes    numbering[node]
	messages numbering[message]
	inputs   numbering[input]
	results  [][]stepResult // of steps; the first is none
	noEffect []uint32       // by node: the number of the result that nothing happens; 0: none yet
	full     atomic.Bool    // there are more messages than there is room for

	stale   []protocol.Message // all stale messages, if the search forgets messages
	staleAt map[protocol.Message]int

	knownResults  knownResults
	relevantStale memo[node, []int]       // the stale messages that its machine does not ignore
	staleInputs   memo[nodeID, []inputID] // the stale messages that change it
	unprompted    memo[nodeID, *unpromptedSteps]
	expansions    resultCache
}

// memo caches results of one kind, for all workers.
type memo[K comparable, T any] struct{ known sync.Map }

// of returns the result for a thing, and works it out if it is not known.
func (o *memo[K, T]) of(thing K, by *model, compute func(K) T) T {
	what, known := o.known.Load(thing)
	if !known {
		what, known = o.known.LoadOrStore(thing, compute(thing))
	}
	if known { // by another worker, which may have numbered more
		by.sync()
	}
	return what.(T) //nolint:forcetypeassert // nothing else is in it
}

// numbering numbers things of one kind by their places in a list.
type numbering[T comparable] struct {
	list []T
	by   map[T]int
}

func (n *numbering[T]) find(thing *T) (id int, ok bool) {
	id, ok = n.by[*thing]
	return id, ok
}

func (n *numbering[T]) add(thing *T) (id int) {
	if n.by == nil {
		n.by = map[T]int{}
	}
	id = len(n.list)
	n.list = append(n.list, *thing)
	n.by[*thing] = id
	return id
}

// number is the number of a thing, which may be new.
func (n *numbering[T]) number(thing *T) int {
	if id, ok := n.find(thing); ok {
		return id
	}
	return n.add(thing)
}

// newRegistry is a registry in which the node and the input numbered 0 are none.
func newRegistry() *registry {
	r := &registry{results: make([][]stepResult, 1)}
	r.nodes.list, r.inputs.list = make([]node, 1), make([]input, 1)
	return r
}

// listStale lists the stale messages within bounds, before anything is numbered.
func (r *registry) listStale(b *Bounds) {
	r.stale, r.staleAt = staleMessages(b), map[protocol.Message]int{}
	for i, msg := range r.stale {
		r.staleAt[msg] = i
	}
}

func (r *registry) isStale(msg *protocol.Message) bool {
	_, listed := r.staleAt[*msg]
	return listed
}

func (r *registry) node(n *node) nodeID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return nodeID(r.nodes.number(n))
}

func (r *registry) input(in input) inputID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return inputID(r.inputs.number(&in))
}

// message is the number of a message. If there is no room for it, the number is another message's, and the
// search ends.
func (r *registry) message(msg message) messageID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.messages.find(&msg); !known && len(r.messages.list) == mostMessages {
		r.full.Store(true)
		return 0
	}
	return messageID(r.messages.number(&msg))
}

// result numbers the results of a step.
func (r *registry) result(id nodeID, all []stepResult, nothing bool) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.nodes.list); len(r.noEffect) < n {
		r.noEffect = append(r.noEffect, make([]uint32, n-len(r.noEffect))...)
	}
	if nothing && r.noEffect[id] > 0 {
		return r.noEffect[id]
	}
	r.results = append(r.results, all)
	at := uint32(len(r.results) - 1)
	if nothing {
		r.noEffect[id] = at
	}
	return at
}

// since returns what was numbered after the first ones of each kind, and all results. None of them changes any
// more.
func (r *registry) since(nodes, messages, inputs int) ([]node, []message, []input, [][]stepResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes.list[nodes:], r.messages.list[messages:], r.inputs.list[inputs:], r.results
}

// size is the number of nodes and messages.
func (r *registry) size() (nodes, messages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes.list) - 1, len(r.messages.list)
}
