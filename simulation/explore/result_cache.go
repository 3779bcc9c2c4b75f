// The result cache: what a node can do, looked up by the messages that matter to it.
//
// The intuition: a follower may receive ninety messages, of which eighty-nine do nothing to it or to anything that
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
	messages messageSet
	width    int // words of received
	terms    uint8
}

func (r *relevant) join(other *relevant) {
	r.messages.join(&other.messages)
	r.width = max(r.width, r.messages.words())
	r.terms |= other.terms
}

// othersTerm is the largest term that makes a difference.
func (r *relevant) othersTerm(key *expansionKey) (most memberstate.Term) {
	for most = key.othersTerm; most > 0 && r.terms>>most&1 == 0; {
		most--
	}
	return most
}

// cacheEntry is the result for a node and the relevant messages that it may receive.
type cacheEntry struct {
	key        expansionKey
	irrelevant messageSet // messages that are known to make no difference
	sources    sourceNodes
	expansion  *expansion
	synced     int // how many numbered things there were by then
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

// find returns the result for a key; nil if there is none, or if other messages may arrive that make a difference.
func (m *resultCache) find(by *model, key *expansionKey) *expansion {
	what, on, rest := m.lookup(by, key)
	if what == nil || rest.words() == 0 {
		return what
	}
	if !by.noneHasEffect(&on, key.othersTerm, rest) {
		return nil
	}
	m.addIrrelevant(key, what, &rest)
	return what
}

// lookup finds the result without asking any node. It also returns the nodes that were expanded for it, and the
// messages of which it is not known whether they make a difference.
func (m *resultCache) lookup(by *model, key *expansionKey) (what *expansion, on sourceNodes, rest messageSet) {
	p, count := m.part(key.node), 0
	p.mu.Lock()
	if r := p.lookup(key); r != nil {
		what, on, count = r.expansion, r.sources, r.synced
		matters := p.relevantTo(key.node)
		for i, word := range key.mayReceive {
			rest[i] = word &^ matters.messages[i] &^ r.irrelevant[i]
		}
	}
	p.mu.Unlock()
	by.syncTo(count)
	return what, on, rest
}

// addIrrelevant notes messages that make no difference to a result, if it is still in the cache.
func (m *resultCache) addIrrelevant(key *expansionKey, what *expansion, idle *messageSet) {
	p := m.part(key.node)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.lookup(key); r != nil && r.expansion == what {
		r.irrelevant.join(idle)
	}
}

// put keeps a result, with everything that is known to matter to it. If another worker has kept one meanwhile, it
// returns that.
func (m *resultCache) put(w *closureSearch, what *expansion) *expansion {
	return m.insert(w.model, w.key, &w.relevant, sourceNodes{nodes: w.sources()}, what)
}

func (m *resultCache) insert(by *model, key *expansionKey, matters *relevant, on sourceNodes, what *expansion) *expansion {
	p := m.part(key.node)
	p.mu.Lock()
	r := p.insert(key, matters, cacheEntry{sources: on, expansion: what, synced: by.known()})
	what = r.expansion
	count := r.synced
	p.mu.Unlock()
	by.syncTo(count)
	return what
}

// putRenamed keeps the result for another key of the same orbit for this one, unless that was dropped meanwhile:
// then the nodes that were looked at are not known any more.
func (m *resultCache) putRenamed(by *model, key, like *expansionKey, renamed int, what *expansion) *expansion {
	known, on, rest := m.lookup(by, like)
	matters := m.relevantTo(like.node)
	by.sync() // others may know more messages that matter
	matters.messages = by.renameMessages(&matters.messages, by.inverse[renamed])
	matters.width = matters.messages.words()
	if known == nil || rest.words() > 0 {
		m.addRelevant(key.node, &matters)
		return what
	}
	on.by = by.compose(on.by, renamed)
	return m.insert(by, key, &matters, on, what)
}

// addRelevant notes that more matters to a node.
func (m *resultCache) addRelevant(id nodeID, matters *relevant) {
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

func (p *cachePart) lookup(key *expansionKey) *cacheEntry {
	if at := *p.place(key, p.relevantTo(key.node)); at > 0 {
		return &p.all[at-1]
	}
	return nil
}

func (p *cachePart) insert(key *expansionKey, matters *relevant, r cacheEntry) *cacheEntry {
	all := p.relevantTo(key.node)
	all.join(matters)
	place := p.place(key, all)
	if *place == 0 {
		if len(p.all) == cap(p.all) {
			p.makeRoom()
			place = p.place(key, all)
		}
		r.key = expansionKey{key.node, all.othersTerm(key), key.mayReceive.and(&all.messages)}
		p.all = append(p.all, r)
		*place = int32(len(p.all))
	}
	known := &p.all[*place-1]
	known.irrelevant.join(&key.mayReceive)
	return known
}

// place is the place of a key in the hash table, by what is relevant of it.
func (p *cachePart) place(key *expansionKey, matters *relevant) *int32 {
	if len(p.places) == 0 {
		p.places = make([]int32, 1<<8)
	}
	most, width := matters.othersTerm(key), matters.width
	sum := uint64(key.node)<<8 | uint64(most)
	for i, word := range key.mayReceive[:width] {
		if word &= matters.messages[i]; word != 0 { // otherwise it would depend on the width
			sum = mixHash(sum, word) + uint64(i)
		}
	}
	for {
		place := &p.places[sum&uint64(len(p.places)-1)] // their number is a power of two
		if *place == 0 || p.all[*place-1].key.matches(key.node, most, &key.mayReceive, matters) {
			return place
		}
		sum++
	}
}

// matches says whether a key has this node and term, and the same relevant messages.
func (k *expansionKey) matches(node nodeID, most memberstate.Term, received *messageSet, matters *relevant) bool {
	if k.node != node || k.othersTerm != most {
		return false
	}
	for i := range matters.width { // everything in the key is relevant
		if k.mayReceive[i] != received[i]&matters.messages[i] {
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
		*p.place(key, &relevant{messages: key.mayReceive, width: key.mayReceive.words(), terms: 1 << key.othersTerm}) = int32(i + 1)
	}
}
