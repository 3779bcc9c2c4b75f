// The result cache: what a node can do, looked up by the messages that matter to it.
//
// The intuition: a follower may hear ninety messages, of which eighty-nine do nothing to it or to anything that
// it can silently become. So what it can do depends on the ninetieth alone, and is found in the cache for every
// other choice of the eighty-nine.
//
// The cases:
//
//   - A message is known to do something to a node that was looked at: it is part of the key.
//   - It is known to do nothing: it is left out.
//   - It is not known. The closures that were looked at are asked. If it does nothing there, it is left out from
//     then on; if it does something, the result is worked out anew.
//
// The shortcut that looks right and is wrong is to leave out messages that do nothing to the node itself. They may do
// something to a node that this one silently becomes.
//
// All workers share the cache, in parts, so that they rarely wait for each other.

package explore

import (
	"sync"

	"github.com/hustings/hustings/memberstate"
)

// resultCache has the results about nodes, in parts by node.
type resultCache struct{ parts [cacheParts]cachePart }

const cacheParts = 64

// cachePart has the results about some nodes.
type cachePart struct {
	mu       sync.Mutex
	relevant []relevant // by node, of those in this part
	all      []cacheEntry
	places   []int32 // a hash table: the place in all, plus 1; 0: none
}

// relevant is what is known to do something to a node, or to others that were looked at because of it: messages,
// and the terms of stale messages.
type relevant struct {
	heard messageSet
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

// cacheEntry is the result for a node and the relevant messages that it may hear.
type cacheEntry struct {
	key        localKey
	irrelevant messageSet // messages that are known to make no difference
	sources    sourceNodes
	local      *local
	names      int // how many there were by then
}

// sourceNodes are the nodes whose closures were looked at, with the members renamed. Asking them about new
// messages saves up to 13 % of the CPU time in groups of five with pre-vote, and nothing elsewhere.
type sourceNodes struct {
	nodes []nodeID
	by    int
}

// mostCached bounds a part of the cache, because states need the memory more. A lost result can be worked out
// again.
const mostCached = 1 << 13

func (m *resultCache) part(id nodeID) *cachePart { return &m.parts[id%cacheParts] }

// relevantTo is what is known to matter to a node.
func (m *resultCache) relevantTo(id nodeID) relevant {
	p := m.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.relevantTo(id)
}

// find returns the result for a key; nil if there is none, or if other messages are heard that make a difference.
func (m *resultCache) find(by *model, key *localKey) *local {
	what, on, rest := m.recall(by, key)
	if what == nil || rest.words() == 0 {
		return what
	}
	if !by.harmless(&on, key.most, rest) {
		return nil
	}
	m.join(key, what, &rest)
	return what
}

// recall looks the result up without asking any node. It also returns the nodes that were looked at for it, and the
// messages of which it is not known whether they make a difference.
func (m *resultCache) recall(by *model, key *localKey) (what *local, on sourceNodes, rest messageSet) {
	p, names := m.part(key.node), 0
	p.mu.Lock()
	if r := p.recall(key); r != nil {
		what, on, names = r.local, r.sources, r.names
		matters := p.relevantTo(key.node)
		for i, word := range key.heard {
			rest[i] = word &^ matters.heard[i] &^ r.irrelevant[i]
		}
	}
	p.mu.Unlock()
	by.knows(names)
	return what, on, rest
}

// join notes messages that make no difference to a result, if it is still in the cache.
func (m *resultCache) join(key *localKey, what *local, idle *messageSet) {
	p := m.part(key.node)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.recall(key); r != nil && r.local == what {
		r.irrelevant.join(idle)
	}
}

// keep keeps a result, with everything that is known to matter to it. If another worker has kept one meanwhile, it
// returns that.
func (m *resultCache) keep(w *closureSearch, what *local) *local {
	return m.enter(w.model, w.key, &w.relevant, sourceNodes{nodes: w.sources()}, what)
}

func (m *resultCache) enter(by *model, key *localKey, matters *relevant, on sourceNodes, what *local) *local {
	p := m.part(key.node)
	p.mu.Lock()
	r := p.enter(key, matters, cacheEntry{sources: on, local: what, names: by.known()})
	what = r.local
	names := r.names
	p.mu.Unlock()
	by.knows(names)
	return what
}

// share keeps the result for another key of the same orbit for this one, unless that was dropped meanwhile:
// then the nodes that were looked at are not known any more.
func (m *resultCache) share(by *model, key, like *localKey, renamed int, what *local) *local {
	known, on, rest := m.recall(by, like)
	matters := m.relevantTo(like.node)
	by.learn() // others may know more messages that matter
	matters.heard = by.renameSaid(&matters.heard, by.inverse[renamed])
	matters.width = matters.heard.words()
	if known == nil || rest.words() > 0 {
		m.note(key.node, &matters)
		return what
	}
	on.by = by.both(on.by, renamed)
	return m.enter(by, key, &matters, on, what)
}

// note notes that more matters to a node.
func (m *resultCache) note(id nodeID, matters *relevant) {
	p := m.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relevantTo(id).join(matters)
}

func (p *cachePart) relevantTo(id nodeID) *relevant {
	at := int(id / cacheParts)
	for at >= len(p.relevant) {
		p.relevant = append(p.relevant, relevant{})
	}
	return &p.relevant[at]
}

func (p *cachePart) recall(key *localKey) *cacheEntry {
	if at := *p.place(key, p.relevantTo(key.node)); at > 0 {
		return &p.all[at-1]
	}
	return nil
}

func (p *cachePart) enter(key *localKey, matters *relevant, r cacheEntry) *cacheEntry {
	all := p.relevantTo(key.node)
	all.join(matters)
	place := p.place(key, all)
	if *place == 0 {
		if len(p.all) == cap(p.all) {
			p.makeRoom()
			place = p.place(key, all)
		}
		r.key = localKey{key.node, all.most(key), key.heard.and(&all.heard)}
		p.all = append(p.all, r)
		*place = int32(len(p.all))
	}
	known := &p.all[*place-1]
	known.irrelevant.join(&key.heard)
	return known
}

// place is the place of a key in the hash table, by what is relevant of it.
func (p *cachePart) place(key *localKey, matters *relevant) *int32 {
	if len(p.places) == 0 {
		p.places = make([]int32, 1<<8)
	}
	most, width := matters.most(key), matters.width
	sum := uint64(key.node)<<8 | uint64(most)
	for i, word := range key.heard[:width] {
		if word &= matters.heard[i]; word != 0 { // otherwise it would depend on the width
			sum = mixHash(sum, word) + uint64(i)
		}
	}
	for {
		place := &p.places[sum&uint64(len(p.places)-1)] // their number is a power of two
		if *place == 0 || p.all[*place-1].key.is(key.node, most, &key.heard, matters) {
			return place
		}
		sum++
	}
}

// is says whether a key has this node and term, and the same relevant messages.
func (k *localKey) is(node nodeID, most memberstate.Term, heard *messageSet, matters *relevant) bool {
	if k.node != node || k.most != most {
		return false
	}
	for i := range matters.width { // everything in the key is relevant
		if k.heard[i] != heard[i]&matters.heard[i] {
			return false
		}
	}
	return true
}

// makeRoom doubles the part, or empties it if it is as large as it may be.
func (p *cachePart) makeRoom() {
	size := min(max(1<<7, 2*len(p.all)), mostCached)
	if len(p.all) == mostCached {
		p.all = nil
	}
	p.all = append(make([]cacheEntry, 0, size), p.all...)
	p.places = make([]int32, 2*size)
	for i := range p.all {
		key := &p.all[i].key
		*p.place(key, &relevant{heard: key.heard, width: key.heard.words(), terms: 1 << key.most}) = int32(i + 1)
	}
}
