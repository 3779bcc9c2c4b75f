// What was worked out about nodes is remembered, by as little of what they may hear as
// matters: a message is left out if it is known to do nothing to any node that was looked
// at.

package explore

// memory has what was worked out about nodes that may hear this or that.
type memory[T any] struct {
	matters []relevant // by node, so far
	known   map[localKey]*remembered[T]
}

// relevant is what is known to do something to a node, or to others that were looked at on
// its account: messages, and the terms of those that come too late.
type relevant struct {
	heard said
	terms uint8
}

func (r *relevant) join(other *relevant) {
	r.heard.join(&other.heard)
	r.terms |= other.terms
}

// of is the part of a key that is relevant.
func (r *relevant) of(key *localKey) localKey {
	least := localKey{node: key.node, heard: key.heard.and(&r.heard)}
	for least.most = key.most; least.most > 0 && r.terms>>least.most&1 == 0; {
		least.most--
	}
	return least
}

type remembered[T any] struct {
	what *T
	idle said // what is known to make no difference, besides what matters
}

// mostRemembered bounds a memory. What is forgotten can be worked out again, and states
// must have room.
const mostRemembered = 1 << 18

func newMemory[T any]() memory[T] { return memory[T]{known: map[localKey]*remembered[T]{}} }

// mattersTo is what is known to matter to a node.
func (m *memory[T]) mattersTo(id nodeID) *relevant {
	for int(id) >= len(m.matters) {
		m.matters = append(m.matters, relevant{})
	}
	return &m.matters[id]
}

// find is what was worked out; nil: nothing was, or something is heard that might matter.
func (m *memory[T]) find(key *localKey) *T {
	matters := m.mattersTo(key.node)
	r := m.known[matters.of(key)]
	if rest := key.heard.without(&matters.heard); r == nil || !r.idle.covers(&rest) {
		return nil
	}
	return r.what
}

// keep remembers what was worked out, and what of all that is heard is known to matter.
func (m *memory[T]) keep(key *localKey, matters *relevant, what *T) *T {
	all := m.mattersTo(key.node)
	all.join(matters)
	least := all.of(key)
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
