// What was worked out about nodes is remembered, by as little of what they may hear as
// matters: a message is left out if it is known to do nothing to any node that was looked
// at.

package explore

// memory has what was worked out about nodes that may hear this or that.
type memory[T any] struct {
	matters []said // by node: what mattered so far
	known   map[localKey]*remembered[T]
}

type remembered[T any] struct {
	what *T
	idle said // what is known to make no difference, besides what matters
}

// mostRemembered bounds a memory. What is forgotten can be worked out again, and states
// must have room.
const mostRemembered = 1 << 17

func newMemory[T any]() memory[T] { return memory[T]{known: map[localKey]*remembered[T]{}} }

// mattersTo is what is known to matter to a node.
func (m *memory[T]) mattersTo(id nodeID) *said {
	for int(id) >= len(m.matters) {
		m.matters = append(m.matters, said{})
	}
	return &m.matters[id]
}

// find is what was worked out; nil: nothing was, or something is heard that might matter.
func (m *memory[T]) find(key *localKey) *T {
	matters := m.mattersTo(key.node)
	r := m.known[localKey{key.node, key.most, key.heard.and(matters)}]
	if rest := key.heard.without(matters); r == nil || !r.idle.covers(&rest) {
		return nil
	}
	return r.what
}

// keep remembers what was worked out, and what of all that is heard is known to matter.
func (m *memory[T]) keep(key *localKey, matters *said, what *T) *T {
	all := m.mattersTo(key.node)
	all.join(matters)
	least := localKey{key.node, key.most, key.heard.and(all)}
	r := m.known[least]
	if r == nil {
		if len(m.known) == mostRemembered {
			clear(m.known)
		}
		r = &remembered[T]{what: what}
		m.known[least] = r
	}
	r.idle.join(&key.heard)
	return r.what
}
