// What was worked out about nodes is remembered, by as little of what they may hear as
// matters: a message is left out if it is known to do nothing to any node that was looked
// at.

package explore

import "github.com/hustings/hustings/memberstate"

// memory has what was worked out about nodes that may hear this or that.
type memory[T any] struct {
	matters []relevant // by node, so far
	model   *model
	all     []remembered[T]
	places  []int32 // a hash table: where it is, plus 1; 0: nothing is
}

// relevant is what is known to do something to a node, or to others that were looked at on
// its account: messages, and the terms of those that come too late.
type relevant struct {
	heard said
	width int // words of heard
	terms uint8
}

func (r *relevant) join(other *relevant) {
	r.heard.join(&other.heard)
	r.width = max(r.width, r.heard.words())
	r.terms |= other.terms
}

// most is the largest term that makes a difference.
func (r *relevant) most(key *localKey) (most memberstate.Term) {
	for most = key.most; most > 0 && r.terms>>most&1 == 0; {
		most--
	}
	return most
}

// remembered is what was worked out for a node and what is relevant of what it may hear.
type remembered[T any] struct {
	key  localKey
	idle said // what is known to make no difference
	on   []asked
	what *T
}

// asked are nodes that were looked at. Those that had ended their round could not hear what
// belongs to it.
type asked struct {
	nodes []nodeID
	ended bool
}

// mostRemembered bounds a memory. What is forgotten can be worked out again, and states
// must have room.
const mostRemembered = 1 << 18

func newMemory[T any](m *model) memory[T] { return memory[T]{model: m, places: make([]int32, 1<<10)} }

// mattersTo is what is known to matter to a node.
func (m *memory[T]) mattersTo(id nodeID) *relevant {
	for int(id) >= len(m.matters) {
		m.matters = append(m.matters, relevant{})
	}
	return &m.matters[id]
}

// find is what was worked out; nil: nothing was, or something else is heard that makes a
// difference.
func (m *memory[T]) find(key *localKey) *T {
	r, rest := m.recall(key)
	if r == nil {
		return nil
	}
	if rest.words() > 0 {
		for i := range r.on {
			if !m.model.harmless(&r.on[i], rest) {
				return nil
			}
		}
		r.idle.join(&rest)
	}
	return r.what
}

// recall finds what was worked out without asking any node anything, and what else is heard
// of which it is not known whether it makes a difference.
func (m *memory[T]) recall(key *localKey) (r *remembered[T], rest said) {
	matters := m.mattersTo(key.node)
	at := *m.place(key, matters)
	if at == 0 {
		return nil, rest
	}
	r = &m.all[at-1]
	for i, word := range key.heard {
		rest[i] = word &^ matters.heard[i] &^ r.idle[i]
	}
	return r, rest
}

// keep remembers what was worked out, and what of all that is heard is known to matter.
func (m *memory[T]) keep(w *wandering, what *T) *T {
	key := w.key
	all := m.mattersTo(key.node)
	all.join(&w.matters)
	place := m.place(key, all)
	if *place == 0 {
		if len(m.all) == cap(m.all) {
			m.makeRoom()
			place = m.place(key, all)
		}
		m.all = append(m.all, remembered[T]{localKey{key.node, all.most(key), key.heard.and(&all.heard)}, said{}, w.on, what})
		*place = int32(len(m.all))
	}
	r := &m.all[*place-1]
	r.idle.join(&key.heard)
	return r.what
}

// place is where to look for what is relevant of a key.
func (m *memory[T]) place(key *localKey, matters *relevant) *int32 {
	most, width := matters.most(key), matters.width
	sum := uint64(key.node)<<8 | uint64(most)
	for i, word := range key.heard[:width] {
		if word &= matters.heard[i]; word != 0 { // or it would depend on the width
			sum = (sum^word)*0x9e3779b97f4a7c15 + uint64(i)
			sum ^= sum >> 32
		}
	}
	for {
		place := &m.places[sum&uint64(len(m.places)-1)] // their number is a power of two
		if *place == 0 || m.all[*place-1].key.is(key.node, most, &key.heard, matters) {
			return place
		}
		sum++
	}
}

// is says whether a key has this node and term, and what is relevant of what is heard.
func (k *localKey) is(node nodeID, most memberstate.Term, heard *said, matters *relevant) bool {
	if k.node != node || k.most != most {
		return false
	}
	for i := range matters.width { // what is in the key is relevant
		if k.heard[i] != heard[i]&matters.heard[i] {
			return false
		}
	}
	return true
}

// makeRoom doubles the memory, or empties it if it is as large as it may be.
func (m *memory[T]) makeRoom() {
	size := min(max(1<<9, 2*len(m.all)), mostRemembered)
	if len(m.all) == mostRemembered {
		m.all = nil
	}
	m.all = append(make([]remembered[T], 0, size), m.all...)
	m.places = make([]int32, 2*size)
	for i := range m.all {
		key := &m.all[i].key
		*m.place(key, &relevant{heard: key.heard, width: key.heard.words(), terms: 1 << key.most}) = int32(i + 1)
	}
}
